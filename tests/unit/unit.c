#include "tests/unit/unit.h"

#include <stdlib.h>

int cs_unit_main(cs_unit_suite *const suites[], size_t n)
{
	SRunner *runner = srunner_create(NULL);
	int failed;

	for (size_t i = 0; i < n; i++)
		srunner_add_suite(runner, suites[i]());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
