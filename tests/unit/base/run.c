#include "tests/unit/unit.h"

cs_unit_suite suite_buf, suite_clock, suite_err, suite_fd, suite_file, suite_hash, suite_log, suite_opt,
	suite_parse, suite_strv;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_buf,
		suite_clock,
		suite_err,
		suite_fd,
		suite_file,
		suite_hash,
		suite_log,
		suite_opt,
		suite_parse,
		suite_strv,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
