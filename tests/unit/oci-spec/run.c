#include "tests/unit/unit.h"

cs_unit_suite suite_bundle;
cs_unit_suite suite_features;
cs_unit_suite suite_json;
cs_unit_suite suite_json_edit;
cs_unit_suite suite_json_read;
cs_unit_suite suite_json_text;
cs_unit_suite suite_json_write;
cs_unit_suite suite_profile;
cs_unit_suite suite_profile_both;
cs_unit_suite suite_resources;
cs_unit_suite suite_spec_check;
cs_unit_suite suite_spec_new;
cs_unit_suite suite_spec_tables;
cs_unit_suite suite_state;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_bundle,
		suite_features,
		suite_json,
		suite_json_edit,
		suite_json_read,
		suite_json_text,
		suite_json_write,
		suite_profile,
		suite_profile_both,
		suite_resources,
		suite_spec_check,
		suite_spec_new,
		suite_spec_tables,
		suite_state,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
