#include "tests/unit/unit.h"

cs_unit_suite suite_loop;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_loop,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
