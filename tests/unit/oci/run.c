#include "tests/unit/unit.h"

cs_unit_suite suite_argv, suite_say;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_argv,
		suite_say,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
