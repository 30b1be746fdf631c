#include "tests/unit/unit.h"

cs_unit_suite suite_hostroot, suite_hostroot_point, suite_init, suite_resolve, suite_resolve_format, suite_volume;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_hostroot,
		suite_hostroot_point,
		suite_init,
		suite_resolve,
		suite_resolve_format,
		suite_volume,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
