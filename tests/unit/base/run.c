#include "tests/unit/unit.h"

cs_unit_suite suite_err, suite_fd, suite_file, suite_opt, suite_parse;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_err,
		suite_fd,
		suite_file,
		suite_opt,
		suite_parse,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
