#include "tests/unit/unit.h"

cs_unit_suite suite_loop, suite_pidref, suite_reaper, suite_sandbox, suite_signals, suite_spawn;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_loop, suite_pidref, suite_reaper, suite_sandbox, suite_signals, suite_spawn,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
