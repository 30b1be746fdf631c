#include "tests/unit/unit.h"

cs_unit_suite suite_attendant, suite_attendant_terminal, suite_cache, suite_config, suite_ctl, suite_exec_look, suite_exec_process, suite_exit, suite_level, suite_record,
	suite_result, suite_results, suite_rlimits, suite_session, suite_settings, suite_terminal, suite_tighten, suite_tighten_random;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_attendant, suite_attendant_terminal, suite_cache, suite_config, suite_ctl, suite_exec_look, suite_exec_process, suite_exit, suite_level,
		suite_record, suite_result, suite_results, suite_rlimits, suite_session, suite_settings, suite_terminal, suite_tighten, suite_tighten_random,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
