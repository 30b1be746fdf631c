/*
 * The table of engines. A new engine is a row here; a new difference is a
 * column in engine.h. Numbers were measured where a comment says so.
 */
#include <string.h>

#include "oci-spec/profile.h"
#include "oci-spec/spec_new.h"
#include "shim/base/attr.h"
#include "shim/base/parse.h"
#include "shim/engine/engine.h"

#define MIB (UINT64_C(1) << 20)

/* Limits that are files of a cgroup on the host. */
#define CGROUP_LIMITS \
	[CS_RES_MEMORY] = CS_ENFORCE_KERNEL, \
	[CS_RES_MEMORY_SWAP] = CS_ENFORCE_KERNEL, \
	[CS_RES_PIDS] = CS_ENFORCE_KERNEL, \
	[CS_RES_CPU] = CS_ENFORCE_KERNEL, \
	[CS_RES_CPUSET_CPUS] = CS_ENFORCE_KERNEL

/* Engines whose containers are processes of the host's kernel: all can be read back. */
#define HOST_KERNEL_FEATURES \
	[CS_FL_SECCOMP] = CS_ENFORCE_KERNEL, \
	[CS_FL_TMPFS_SIZE] = CS_ENFORCE_KERNEL, \
	[CS_FL_TMPFS_INODES] = CS_ENFORCE_KERNEL, \
	[CS_FL_RLIMITS] = CS_ENFORCE_KERNEL, \
	[CS_FL_NO_NEW_PRIVS] = CS_ENFORCE_KERNEL, \
	[CS_FL_MASKED_PATHS] = CS_ENFORCE_KERNEL

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct cs_engine_kind kinds[] = {
	{
		.name = "crun",
		.enforce = { CGROUP_LIMITS },
		.enforce_feature = { HOST_KERNEL_FEATURES },
		.pids_factor = 1,
		/* 1.8.1: create + start of a static busybox with a full seccomp profile: 512 KiB 50 of 50, 256 KiB 46 of 50 */
		.memory_min_bytes = 1 * MIB,
		.pids_min = 1, /* one thread: 1 works, 50 of 50 */
		.hide_unified = true,
		/*
		 * cloned_binary.c of crun: against CVE-2019-5736 it makes a read-only mount of
		 * its binary below /tmp and executes that, at every verb. Without it, a verb
		 * of 1.8.1 takes 1.4 ms in place of 2.8.
		 */
		.cloned_env = "_LIBCONTAINER_CLONED_BINARY=1",
		/* seen with 1.8.1; without it crun compiles linux.seccomp at every create, for 3 to 20 ms */
		.seccomp_annotation = CS_PROFILE_BPF_ANNOTATION,
		.has_features_verb = true, /* from 1.9 on */
		.kill_all = true,
		.exec_cgroup = true,
		.refused_args = ARGS("cgroup-manager", "rootless", "root", "log", "log-format"),
		.lacks_events = true,
		.state_file = "status", /* up to 1.8 it says "error opening file `…/status`" */
		.default_root = "/run/crun",
		.help_arg = "--help",
		.version_prefix = "crun version",
		.install = "apt-get install crun",
	},
	{
		.name = "runc",
		.enforce = { CGROUP_LIMITS },
		.enforce_feature = { HOST_KERNEL_FEATURES },
		.pids_factor = 1,
		/*
		 * `runc init` counts, and is a Go program: 1.1.5 peaks at 1.9-2.6 MB (3 MiB 50 of
		 * 50, 2 MiB 20 of 50), 1.5.3 at 2.2-3.0 (5 MiB 150 of 150, 4 MiB 28 of 30), on two
		 * cores; each further core takes some 10 KB. Where it cannot show the container
		 * a read-only mount of its own binary it copies that into memory, which counts
		 * too: 13.8 MB in the machine of tests/vm, where 12 MiB fails each time.
		 */
		.memory_min_bytes = 16 * MIB,
		/*
		 * `runc init` has 5 or 6 threads when the limit is set (GOMAXPROCS is 1 in
		 * it, so more cores do not add to them). A smaller limit works as long as
		 * the Go runtime starts no other thread: 1.1.5 with 1 did 100 of 100 times,
		 * 1.5.3 with 4 crashed in 1 of 60; 5 to 8 worked 150 of 150.
		 */
		.pids_min = 8,
		.has_features_verb = true,
		.kill_all = true,
		.exec_cgroup = true,
		.refused_args = ARGS("rootless", "root", "log", "log-format"),
		.default_root = "/run/runc",
		.help_arg = "--help",
		.version_prefix = "runc version",
		.install = "apt-get install runc",
	},
	{
		.name = "runsc",
		/*
		 * The cgroup holds the sandbox: its own threads and memory count. 20221219 on
		 * ptrace, its default: 48 threads idle, about 10 a guest process. Its other
		 * flags were measured one by one (file access, lisafs, buffers, watchdog, CPU
		 * count): none makes create or start quicker, so none is given.
		 */
		.enforce = { CGROUP_LIMITS },
		.enforce_feature = {
			[CS_FL_SECCOMP] = CS_ENFORCE_NONE, /* the sandbox's own kernel stands in */
			[CS_FL_TMPFS_SIZE] = CS_ENFORCE_ENGINE,
			[CS_FL_TMPFS_INODES] = CS_ENFORCE_NONE, /* memory bounds it */
			[CS_FL_RLIMITS] = CS_ENFORCE_ENGINE,
			[CS_FL_NO_NEW_PRIVS] = CS_ENFORCE_ENGINE,
			/* 20221219 ignores them; /proc and /sys are the sandbox's own and tell nothing of the host */
			[CS_FL_MASKED_PATHS] = CS_ENFORCE_NONE,
		},
		.pids_base = 64,
		.pids_factor = 16,
		.memory_min_bytes = 64 * MIB,
		.memory_idle_bytes = 16 * MIB,
		/*
		 * While it boots it has 83 or 84 threads here (two cores, 20221219), more
		 * than the 80 of one process: with those it fails each time.
		 */
		.pids_min = 4,
		.trace_session = true,
		.status_is_shell_code = true,
		.own_kernel = true,
		.needs_delete = true, /* a mount under --root; gofer and sandbox state */
		.has_features_verb = true, /* not in 2022's */
		.inside_pids = true,
		.kill_all = true,
		.optional_args = ARGS("--overlay2=none"),
		.network_none_args = ARGS("--network=none"),
		.network_host_args = ARGS("--network=host"),
		.refused_args = ARGS("ignore-cgroups", "rootless", "allow-flag-override", "TESTONLY-unsafe-nonroot",
				     "root", "log", "log-fd", "log-format", "pod-init-config"),
		/* the first is about the root of a process that has none of the host's, the second about a keyring that only the sandbox sees */
		.lacks_args = ARGS("no-pivot", "no-new-keyring"),
		.state_mark = "_sandbox:",
		.default_root = "/var/run/runsc",
		.xdg_root = "runsc",
		.help_arg = "flags",
		.version_prefix = "runsc version",
		.install = "apt-get install runsc",
	},
	{
		.name = "youki",
		.enforce = { CGROUP_LIMITS },
		.enforce_feature = { HOST_KERNEL_FEATURES },
		.pids_factor = 1,
		.memory_min_bytes = 16 * MIB, /* not measured: runc's */
		.pids_min = 8,
		.has_features_verb = true,
		.kill_all = true,
		.refused_args = ARGS("root", "log", "log-format"),
		.default_root = "/run/youki",
		.help_arg = "--help",
		.version_prefix = "youki version",
		.install = "see its releases; youki is in few distributions",
	},
	{
		/* 1.x: later ones have no OCI command line. Limits are the guest kernel's, where nobody here can look. */
		.name = "kata-runtime",
		.enforce = {
			[CS_RES_MEMORY] = CS_ENFORCE_ENGINE,
			[CS_RES_MEMORY_SWAP] = CS_ENFORCE_NONE,
			[CS_RES_PIDS] = CS_ENFORCE_ENGINE,
			[CS_RES_CPU] = CS_ENFORCE_ENGINE,
			[CS_RES_CPUSET_CPUS] = CS_ENFORCE_ENGINE,
		},
		.enforce_feature = {
			[CS_FL_SECCOMP] = CS_ENFORCE_NONE, /* off by default in the guest */
			[CS_FL_TMPFS_SIZE] = CS_ENFORCE_ENGINE,
			[CS_FL_TMPFS_INODES] = CS_ENFORCE_ENGINE,
			[CS_FL_RLIMITS] = CS_ENFORCE_ENGINE,
			[CS_FL_NO_NEW_PRIVS] = CS_ENFORCE_ENGINE,
			[CS_FL_MASKED_PATHS] = CS_ENFORCE_ENGINE,
		},
		.pids_factor = 1,
		.memory_min_bytes = 256 * MIB, /* the guest's smallest memory */
		.memory_idle_bytes = 128 * MIB,
		.pids_min = 1,
		.own_kernel = true,
		.needs_delete = true,
		.kill_all = true,
		.refused_args = ARGS("root", "log", "log-format", "rootless"),
		.default_root = "/run/kata-containers",
		.help_arg = "--help",
		.version_prefix = "kata-runtime",
		.install = "install Kata Containers 1.x",
	},
};

const struct cs_engine_kind *cs_engine_kind_at(size_t i)
{
	return i < CS_ARRAY_LEN(kinds) ? &kinds[i] : NULL;
}

const struct cs_engine_kind *cs_engine_kind_by_name(const char *name)
{
	const struct cs_engine_kind *kind;

	for (size_t i = 0; (kind = cs_engine_kind_at(i)); i++)
		if (strcmp(kind->name, name) == 0)
			return kind;
	return NULL;
}

/* --- what follows from a row ------------------------------------------------------ */

uint64_t cs_engine_pids_limit(const struct cs_engine_kind *kind, uint64_t asked)
{
	uint64_t limit;

	if (asked == CS_UNLIMITED)
		return asked;
	if (__builtin_mul_overflow(asked, kind->pids_factor, &limit) ||
	    __builtin_add_overflow(limit, kind->pids_base, &limit) || limit > INT64_MAX)
		return INT64_MAX; /* still a limit, not the absence of one */
	return limit;
}

int cs_engine_check_limits(const struct cs_engine *engine, uint64_t memory_bytes, uint64_t pids,
			   struct cs_err *err)
{
	const struct cs_engine_kind *kind = engine->kind;
	char asked[CS_SIZE_TEXT], least[CS_SIZE_TEXT], idle[CS_SIZE_TEXT];

	if (memory_bytes < kind->memory_min_bytes && kind->memory_idle_bytes > 0)
		return cs_fail(err, CS_LIMIT, 0,
			       "memory limit %s is below the minimum for %s: %s, of which its own part takes %s when idle",
			       cs_size_text(memory_bytes, asked), kind->name,
			       cs_size_text(kind->memory_min_bytes, least),
			       cs_size_text(kind->memory_idle_bytes, idle));
	if (memory_bytes < kind->memory_min_bytes)
		return cs_fail(err, CS_LIMIT, 0, "memory limit %s is below the minimum for %s: %s",
			       cs_size_text(memory_bytes, asked), kind->name,
			       cs_size_text(kind->memory_min_bytes, least));
	if (pids < kind->pids_min)
		return cs_fail(err, CS_LIMIT, 0, "pids limit %llu is below the minimum for %s: %llu",
			       (unsigned long long)pids, kind->name, (unsigned long long)kind->pids_min);
	return 0;
}
