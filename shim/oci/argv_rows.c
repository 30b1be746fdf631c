/*
 * The tables of verbs and flags: those of runc 1.0 to 1.5, and what crun and
 * runsc have beside them. A flag that takes a value must be here, or the word
 * behind it would pass for an operand; a switch may be missing.
 */
#include <stdint.h>
#include <string.h>

#include "shim/base/attr.h"
#include "shim/oci/argv.h"

static const struct cs_oci_verb_row verbs[] = {
	[CS_OCI_CREATE] = { "create", .has_id = true, .operands_max = 1, .fail_code = 1 },
	[CS_OCI_RUN] = { "run", .has_id = true, .operands_max = 1, .fail_code = 1 },
	[CS_OCI_RESTORE] = { "restore", .has_id = true, .operands_max = 1, .fail_code = 1 },
	[CS_OCI_START] = { "start", .has_id = true, .operands_max = 1, .fail_code = 1 },
	[CS_OCI_STATE] = { "state", .has_id = true, .operands_max = 1, .fail_code = 1 },
	[CS_OCI_KILL] = { "kill", .has_id = true, .operands_max = 2, .fail_code = 1 },
	[CS_OCI_DELETE] = { "delete", .has_id = true, .operands_max = 1, .fail_code = 1 },
	[CS_OCI_EXEC] = { "exec", .has_id = true, .in_order = true, .operands_max = SIZE_MAX, .fail_code = 255 },
	[CS_OCI_PAUSE] = { "pause", .has_id = true, .operands_max = 1, .fail_code = 1 },
	[CS_OCI_RESUME] = { "resume", .has_id = true, .operands_max = 1, .fail_code = 1 },
	[CS_OCI_PS] = { "ps", .has_id = true, .in_order = true, .operands_max = SIZE_MAX, .fail_code = 1 },
	[CS_OCI_UPDATE] = { "update", .has_id = true, .operands_max = 1, .fail_code = 1 },
	[CS_OCI_EVENTS] = { "events", .has_id = true, .operands_max = 1, .fail_code = 1 },
	[CS_OCI_LIST] = { "list", .fail_code = 1 },
	[CS_OCI_CHECKPOINT] = { "checkpoint", .has_id = true, .operands_max = 1, .fail_code = 1 },
	[CS_OCI_SPEC] = { "spec", .operands_max = SIZE_MAX, .fail_code = 1 },
	[CS_OCI_FEATURES] = { "features", .fail_code = 1 },
	[CS_OCI_OTHER] = { "", .in_order = true, .operands_max = SIZE_MAX, .fail_code = 1 },
};
_Static_assert(CS_ARRAY_LEN(verbs) == CS_OCI_VERBS, "a row for every verb");

const struct cs_oci_verb_row *cs_oci_verb_row(enum cs_oci_verb verb)
{
	return &verbs[verb];
}

enum cs_oci_verb cs_oci_verb_of(const char *word)
{
	for (size_t i = 0; i < CS_OCI_OTHER; i++)
		if (strcmp(verbs[i].word, word) == 0)
			return (enum cs_oci_verb)i;
	return CS_OCI_OTHER;
}

#define V(verb) (1U << CS_OCI_##verb)
#define MAKERS (V(CREATE) | V(RUN) | V(RESTORE))
#define CRIU (V(CHECKPOINT) | V(RESTORE))

static const struct cs_oci_flag flags[] = {
	/* global, ours */
	{ "policy", 0, CS_OCI_VALUE, CS_OCI_OURS, 0 },
	{ "runtime", 0, CS_OCI_VALUE, CS_OCI_OURS, 0 },
	{ "config", 0, CS_OCI_VALUE, CS_OCI_OURS, 0 },
	{ "state-dir", 0, CS_OCI_VALUE, CS_OCI_OURS, 0 },
	/* global, the engine's */
	{ "root", 0, CS_OCI_VALUE, CS_OCI_PATH | CS_OCI_PER_CALL, 0 },
	{ "log", 0, CS_OCI_VALUE, CS_OCI_PATH | CS_OCI_PER_CALL, 0 },
	{ "log-format", 0, CS_OCI_VALUE, CS_OCI_PER_CALL, 0 },
	{ "log-level", 0, CS_OCI_VALUE, CS_OCI_PER_CALL, 0 },
	{ "debug", 0, CS_OCI_SWITCH, CS_OCI_PER_CALL, 0 },
	{ "criu", 0, CS_OCI_VALUE, CS_OCI_PER_CALL, 0 },
	{ "systemd-cgroup", 0, CS_OCI_SWITCH, 0, 0 },
	{ "cgroup-manager", 0, CS_OCI_VALUE, 0, 0 },
	{ "rootless", 0, CS_OCI_LOOSE, 0, 0 }, /* a value in runc and crun, a switch in runsc */
	{ "help", 'h', CS_OCI_SWITCH, CS_OCI_PER_CALL, 0 },
	{ "version", 'v', CS_OCI_SWITCH, CS_OCI_PER_CALL, 0 },
	/* create, run, restore */
	{ "bundle", 'b', CS_OCI_VALUE, CS_OCI_PATH, MAKERS | V(SPEC) },
	{ "console-socket", 0, CS_OCI_VALUE, CS_OCI_PATH, MAKERS | V(EXEC) },
	{ "pid-file", 0, CS_OCI_VALUE, CS_OCI_PATH, MAKERS | V(EXEC) },
	{ "no-pivot", 0, CS_OCI_SWITCH, 0, MAKERS },
	{ "no-new-keyring", 0, CS_OCI_SWITCH, 0, V(CREATE) | V(RUN) },
	{ "no-subreaper", 0, CS_OCI_SWITCH, 0, MAKERS },
	{ "preserve-fds", 0, CS_OCI_VALUE, 0, V(CREATE) | V(RUN) | V(EXEC) },
	{ "keep", 0, CS_OCI_SWITCH, 0, V(RUN) },
	{ "config", 'f', CS_OCI_VALUE, 0, V(CREATE) | V(RUN) }, /* crun: name of the file, counted from the bundle */
	{ "user-log", 0, CS_OCI_VALUE, CS_OCI_PATH, MAKERS },   /* runsc */
	{ "detach", 'd', CS_OCI_SWITCH, 0, V(RUN) | V(RESTORE) | V(EXEC) },
	/* exec */
	{ "process", 'p', CS_OCI_VALUE, CS_OCI_PATH, V(EXEC) },
	{ "internal-pid-file", 0, CS_OCI_VALUE, CS_OCI_PATH, V(EXEC) }, /* runsc */
	{ "cwd", 0, CS_OCI_VALUE, 0, V(EXEC) | V(SPEC) },
	{ "env", 'e', CS_OCI_VALUE, 0, V(EXEC) },
	{ "tty", 't', CS_OCI_SWITCH, 0, V(EXEC) },
	{ "user", 'u', CS_OCI_VALUE, 0, V(EXEC) },
	{ "additional-gids", 'g', CS_OCI_VALUE, 0, V(EXEC) },
	{ "process-label", 0, CS_OCI_VALUE, 0, V(EXEC) },
	{ "apparmor", 0, CS_OCI_VALUE, 0, V(EXEC) },
	{ "no-new-privs", 0, CS_OCI_SWITCH, 0, V(EXEC) },
	{ "cap", 'c', CS_OCI_VALUE, 0, V(EXEC) },
	{ "cgroup", 0, CS_OCI_VALUE, 0, V(EXEC) },
	{ "ignore-paused", 0, CS_OCI_SWITCH, 0, V(EXEC) },
	/* kill, delete */
	{ "all", 'a', CS_OCI_SWITCH, 0, V(KILL) },
	{ "pid", 0, CS_OCI_VALUE, 0, V(KILL) },
	{ "pgid", 0, CS_OCI_VALUE, 0, V(KILL) },
	{ "force", 'f', CS_OCI_SWITCH, 0, V(DELETE) },
	{ "regex", 'r', CS_OCI_SWITCH, 0, V(KILL) | V(DELETE) },
	/* list, ps, events, spec */
	{ "format", 'f', CS_OCI_VALUE, 0, V(LIST) | V(PS) },
	{ "quiet", 'q', CS_OCI_SWITCH, 0, V(LIST) },
	{ "interval", 0, CS_OCI_VALUE, 0, V(EVENTS) },
	{ "stats", 0, CS_OCI_SWITCH, 0, V(EVENTS) },
	{ "rootless", 0, CS_OCI_SWITCH, 0, V(SPEC) },
	{ "file", 'f', CS_OCI_VALUE, 0, V(SPEC) },
	{ "netns", 0, CS_OCI_VALUE, 0, V(SPEC) },
	/* update */
	{ "resources", 'r', CS_OCI_VALUE, CS_OCI_PATH, V(UPDATE) },
	{ "blkio-weight", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "cpu-period", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "cpu-quota", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "cpu-burst", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "cpu-share", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "cpu-rt-period", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "cpu-rt-runtime", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "cpu-idle", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "cpuset-cpus", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "cpuset-mems", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "kernel-memory", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "kernel-memory-tcp", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "memory", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "memory-reservation", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "memory-swap", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "pids-limit", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "l3-cache-schema", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	{ "mem-bw-schema", 0, CS_OCI_VALUE, 0, V(UPDATE) },
	/* checkpoint, restore */
	{ "image-path", 0, CS_OCI_VALUE, CS_OCI_PATH, CRIU },
	{ "work-path", 0, CS_OCI_VALUE, CS_OCI_PATH, CRIU },
	{ "parent-path", 0, CS_OCI_VALUE, 0, CRIU }, /* counts from the image path (criu(8), --prev-images-dir) */
	{ "status-fd", 0, CS_OCI_VALUE, 0, CRIU },
	{ "page-server", 0, CS_OCI_VALUE, 0, CRIU },
	{ "manage-cgroups-mode", 0, CS_OCI_VALUE, 0, CRIU },
	{ "empty-ns", 0, CS_OCI_VALUE, 0, CRIU },
	{ "lsm-profile", 0, CS_OCI_VALUE, 0, CRIU },
	{ "lsm-mount-context", 0, CS_OCI_VALUE, 0, CRIU },
	{ "leave-running", 0, CS_OCI_SWITCH, 0, CRIU },
	{ "tcp-established", 0, CS_OCI_SWITCH, 0, CRIU },
	{ "ext-unix-sk", 0, CS_OCI_SWITCH, 0, CRIU },
	{ "shell-job", 0, CS_OCI_SWITCH, 0, CRIU },
	{ "lazy-pages", 0, CS_OCI_SWITCH, 0, CRIU },
	{ "file-locks", 0, CS_OCI_SWITCH, 0, CRIU },
	{ "pre-dump", 0, CS_OCI_SWITCH, 0, CRIU },
	{ "auto-dedup", 0, CS_OCI_SWITCH, 0, CRIU },
};

const struct cs_oci_flag *cs_oci_flag_at(size_t i)
{
	return i < CS_ARRAY_LEN(flags) ? &flags[i] : NULL;
}
