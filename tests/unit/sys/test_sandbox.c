#include "shim/sys/sandbox.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

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

/* A filter that answers what a child needs to end, and one call with one first argument. */
static int filtered(void)
{
	static const struct cs_sandbox_call calls[] = {
		{ .name = "exit_group" },
		/* of sanitizers, whose free() needs memory, and whose end a look at the signal stack */
		{ .name = "mmap" }, { .name = "munmap" }, { .name = "madvise" }, { .name = "futex" },
		{ .name = "sigaltstack" }, { .name = "gettid" },
		{ .name = "no_such_call" },
		{ .name = "getpid" },
		{ .name = "dup", .has_arg0 = true, .arg0 = 1 },
	};
	struct cs_err err = CS_ERR_INIT;

	if (cs_sandbox_harden_self(&err) < 0)
		return 1;
	if (cs_sandbox_filter(calls, CS_ARRAY_LEN(calls), &err) < 0)
		return 2;
	if (getpid() <= 0)
		return 3;
	if (dup(1) < 0)
		return 4;
	if (dup(2) >= 0 || errno != EPERM)
		return 5;
	return getppid() != -1 || errno != EPERM ? 6 : 0;
}

static int capable_of_nothing_but(int cap)
{
	struct cs_err err = CS_ERR_INIT;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2], before[2];

	if (syscall(SYS_capget, &header, before) < 0)
		return 1;
	if (cs_sandbox_keep_capabilities(&cap, 1, &err) < 0)
		return 2;
	if (syscall(SYS_capget, &header, data) < 0)
		return 3;
	if (data[0].effective != (before[0].permitted & CAP_TO_MASK(cap)) || data[1].effective != 0)
		return 4;
	if (data[0].permitted != data[0].effective || data[1].permitted != 0)
		return 5;
	if (data[0].inheritable != 0 || data[1].inheritable != 0)
		return 6;
	/* twice does no harm */
	return cs_sandbox_keep_capabilities(&cap, 1, &err) < 0 ? 7 : 0;
}

START_TEST(filter_holds)
{
	struct cs_pidref child = CS_PIDREF_INIT;
	int r = cs_spawn_fork(&child);

	if (r == 0)
		_exit(filtered());
	ck_assert_int_eq(r, 1);
	ck_assert_int_eq(finish(&child), 0);
}
END_TEST

START_TEST(capabilities_are_gone)
{
	struct cs_pidref child = CS_PIDREF_INIT;
	int r = cs_spawn_fork(&child);

	if (r == 0)
		_exit(capable_of_nothing_but(CAP_KILL));
	ck_assert_int_eq(r, 1);
	ck_assert_int_eq(finish(&child), 0);
}
END_TEST

CS_UNIT_SUITE(sandbox, harden_self_holds, filter_holds, capabilities_are_gone)
