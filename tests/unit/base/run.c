#include "tests/unit/unit.h"

cs_unit_suite suite_err;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_err,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
