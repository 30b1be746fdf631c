#include "shim/sys/sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* The kernel's own interface: libcap would bring its names and its heap along. */
static int set_capabilities(const struct __user_cap_data_struct data[static 2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return (int)syscall(SYS_capset, &header, data);
}

static int get_capabilities(struct __user_cap_data_struct data[static 2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return (int)syscall(SYS_capget, &header, data);
}

int cs_sandbox_keep_capabilities(const int *keep, size_t n, struct cs_err *err)
{
	struct __user_cap_data_struct data[2] = { 0 };
	uint32_t wanted[2] = { 0, 0 };

	for (size_t i = 0; i < n; i++)
		wanted[CAP_TO_INDEX(keep[i])] |= CAP_TO_MASK(keep[i]);
	if (get_capabilities(data) < 0)
		return cs_fail(err, CS_IO, errno, "read own capabilities");
	/* the bounding set first, while we may; without CAP_SETPCAP it stays, and bounds nothing of ours: no_new_privs */
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* Linux 4.3; capset takes them away as well */
	for (size_t i = 0; i < 2; i++) {
		data[i].permitted &= wanted[i];
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return set_capabilities(data) < 0 ? cs_fail(err, CS_IO, errno, "give up capabilities") : 0;
}

static int add_rule(scmp_filter_ctx filter, const struct cs_sandbox_call *call)
{
	int number = seccomp_syscall_resolve_name(call->name), r;

	if (number < 0) /* not of this architecture: nothing to allow */
		return 0;
	if (call->has_arg0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1, SCMP_A0(SCMP_CMP_EQ, call->arg0, 0));
	else
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	return r;
}

int cs_sandbox_filter(const struct cs_sandbox_call *calls, size_t n, struct cs_err *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = filter ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++) {
		r = add_rule(filter, &calls[i]);
		if (r < 0)
			cs_fail(err, CS_IO, -r, "system call filter: '%s'", calls[i].name);
	}
	if (r == 0) {
		r = seccomp_load(filter);
		if (r < 0)
			cs_fail(err, r == -EINVAL ? CS_UNSUPPORTED : CS_IO, -r, "load the system call filter");
	} else if (!filter) {
		cs_fail(err, CS_LIMIT, ENOMEM, "system call filter");
	}
	seccomp_release(filter);
	return r < 0 ? -1 : 0;
}
