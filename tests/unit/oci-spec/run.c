#include "tests/unit/unit.h"

cs_unit_suite suite_json;
cs_unit_suite suite_json_edit;
cs_unit_suite suite_json_read;
cs_unit_suite suite_json_write;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_json,
		suite_json_edit,
		suite_json_read,
		suite_json_write,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
