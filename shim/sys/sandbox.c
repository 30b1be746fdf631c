#include "shim/sys/sandbox.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

int cs_sandbox_harden_self(struct cs_err *err)
{
	const struct rlimit no_core = { 0, 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return cs_fail(err, CS_IO, errno, "set no_new_privs");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return cs_fail(err, CS_IO, errno, "turn core dumps off");
	if (setrlimit(RLIMIT_CORE, &no_core) < 0)
		return cs_fail(err, CS_IO, errno, "limit core dumps to nothing");
	return 0;
}
