#include "shim/sys/sandbox.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/unit/sys/children.h"

/* In a process of its own: it is for good. 0 or the number of what does not hold. */
static int hardened(void)
{
	struct cs_err err = CS_ERR_INIT;
	struct rlimit core;

	if (cs_sandbox_harden_self(&err) < 0)
		return 1;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 2;
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return 3;
	if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_cur != 0 || core.rlim_max != 0)
		return 4;
	/* twice does no harm */
	return cs_sandbox_harden_self(&err) < 0 ? 5 : 0;
}

START_TEST(harden_self_holds)
{
	struct cs_pidref child = CS_PIDREF_INIT;
	int r = cs_spawn_fork(&child);

	if (r == 0)
		_exit(hardened());
	ck_assert_int_eq(r, 1);
	ck_assert_int_eq(finish(&child), 0);
}
END_TEST

CS_UNIT_SUITE(sandbox, harden_self_holds)
