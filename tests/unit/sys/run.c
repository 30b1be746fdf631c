#include "tests/unit/unit.h"

cs_unit_suite suite_cgroup_counters, suite_cgroup_host, suite_hold, suite_kin, suite_loop, suite_mountinfo, suite_path, suite_pidref,
	suite_pty, suite_ptykeep, suite_ptysock, suite_reaper, suite_sandbox, suite_signals, suite_spawn;

int main(void)
{
	static cs_unit_suite *const suites[] = {
		suite_cgroup_counters, suite_cgroup_host, suite_hold, suite_kin, suite_loop, suite_mountinfo, suite_path,
		suite_pidref, suite_pty, suite_ptykeep, suite_ptysock, suite_reaper, suite_sandbox,
		suite_signals, suite_spawn,
	};

	return cs_unit_main(suites, CS_ARRAY_LEN(suites));
}
