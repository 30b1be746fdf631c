#include <signal.h>

#include "tests/unit/unit.h"

cs_unit_suite suite_bucket;
cs_unit_suite suite_console;
cs_unit_suite suite_drain;
cs_unit_suite suite_drain_end;
cs_unit_suite suite_drain_random;
cs_unit_suite suite_feed;
cs_unit_suite suite_sink;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_bucket,       suite_console, suite_drain, suite_drain_end,
		suite_drain_random, suite_feed,  suite_sink,
	};

	/* as all our programs do */
	signal(SIGPIPE, SIG_IGN);
	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
