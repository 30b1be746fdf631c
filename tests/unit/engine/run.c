#include "tests/unit/unit.h"

cs_unit_suite suite_engine, suite_engine_argv, suite_engine_call, suite_engine_log, suite_engine_table, suite_trace, suite_trace_parse, suite_trace_tree;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_engine, suite_engine_argv, suite_engine_call, suite_engine_log, suite_engine_table, suite_trace, suite_trace_parse, suite_trace_tree,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
