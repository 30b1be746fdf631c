/*
 * The rows. A new setting is a field in settings.h and a row here; help, the
 * manual, configuration files, policies and --print-effective follow.
 */
#include <stddef.h>
#include <string.h>

#include "shim/base/clock.h"
#include "shim/base/parse.h"
#include "shim/task/confine.h"
#include "shim/task/settings.h"

#define AT(field) offsetof(struct cs_settings, field)

/* A row that exec takes like run; one that exec takes as a flag only, since what files and policies say of it made the session. */
#define EXEC_TOO .scope = CS_FOR_RUN | CS_FOR_EXEC
#define CHECK_TOO .scope = CS_FOR_RUN | CS_FOR_CHECK | CS_FOR_DAEMON
#define EXEC_CHECK_TOO EXEC_TOO | CS_FOR_CHECK | CS_FOR_DAEMON
#define ALL EXEC_CHECK_TOO | CS_FOR_RECORDS
#define EXEC_FLAG EXEC_TOO, .flag_only = CS_FOR_EXEC
/* What holds for a daemon's container as well. LESS: its annotations may make it less. */
#define DAEMON_TOO .scope = CS_FOR_RUN | CS_FOR_DAEMON
#define EXEC_DAEMON_TOO EXEC_TOO | CS_FOR_DAEMON
#define EXEC_FLAG_DAEMON_TOO EXEC_DAEMON_TOO, .flag_only = CS_FOR_EXEC
#define DAEMON_ONLY .scope = CS_FOR_DAEMON
#define LESS .tighter = CS_TIGHTER_LESS

/* So that a few of them and a moment of today can be added without a look: half of what 64 bits hold, less some. */
#define TIME_MAX_NS (INT64_C(36500) * 86400 * CS_NSEC_PER_SEC)

static int check_id(const char *value, struct cs_err *err)
{
	if (!cs_id_valid(value))
		return cs_fail(err, CS_INVALID, 0,
			       "'%.64s' is no container id: give letters, digits, '_', '.' or '-', a "
			       "letter or digit first, at most %d",
			       value, CS_ID_MAX);
	return 0;
}

static int check_hostname(const char *value, struct cs_err *err)
{
	size_t len = strlen(value);

	if (len == 0 || len > 64 || strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
						  "0123456789.-_") != len)
		return cs_fail(err, CS_INVALID, 0, "'%.64s' is no host name (at most 64 of a-z 0-9 . - _)",
			       value);
	return 0;
}

static int check_absolute(const char *value, struct cs_err *err)
{
	if (value[0] != '/')
		return cs_fail(err, CS_INVALID, 0, "'%.64s' must be an absolute path", value);
	return 0;
}

/* A run's own paths begin with it; PATH_MAX is far, but an address of a socket is not (unix(7)). */
static int check_state_dir(const char *value, struct cs_err *err)
{
	if (strlen(value) > CS_STATE_DIR_MAX)
		return cs_fail(err, CS_INVALID, 0, "a path of at most %d bytes is wanted", CS_STATE_DIR_MAX);
	return check_absolute(value, err);
}

static int check_env(const char *value, struct cs_err *err)
{
	if (value[0] == '\0' || value[0] == '=')
		return cs_fail(err, CS_INVALID, 0, "'%.64s': give NAME=VALUE, or NAME to pass yours on", value);
	return 0;
}

/* "0-2,4": numbers and ranges; the kernel knows which exist. */
static int check_cpuset(const char *value, struct cs_err *err)
{
	if (!cs_cpulist_within(value, value))
		return cs_fail(err, CS_INVALID, 0, "'%.64s' is no list of CPUs such as 0-2,4", value);
	return 0;
}

static int check_network(const char *value, struct cs_err *err)
{
	if (strcmp(value, "none") != 0 && strcmp(value, "host") != 0 && value[0] != '/')
		return cs_fail(err, CS_INVALID, 0,
			       "'%.64s': give none, host, or the path of a network namespace", value);
	return 0;
}

static int check_confine(const char *value, struct cs_err *err)
{
	return cs_confine_parse(value, NULL, err);
}

const struct cs_opt cs_settings_rows[] = {
	{ "runtime", 0, CS_OPT_TEXT, AT(runtime), CHECK_TOO, .key = "runtime", .arg = "NAME|PATH",
	  .group = "Engine", .help = "OCI engine: runc, crun, runsc, youki, kata-runtime, one from the configuration, or a path",
	  .man = "Without it the first of crun and runc in PATH." },
	{ "runtime-arg", 0, CS_OPT_LIST, AT(runtime_args), CHECK_TOO, .key = "runtimeArgs", .arg = "ARG",
	  .help = "argument for the engine, before its verb" },
	{ "engine-timeout", 0, CS_OPT_DURATION, AT(engine_timeout_ns), EXEC_CHECK_TOO, .key = "engineTimeout", .arg = "TIME",
	  .min = CS_NSEC_PER_MSEC, .help = "time that the engine may take for one call; three times that for its create" },
	{ "systemd-cgroup", 0, CS_OPT_SWITCH, AT(systemd_cgroup), .key = "systemdCgroup",
	  .help = "let systemd make the cgroup" },

	{ "rootfs", 0, CS_OPT_TEXT, AT(rootfs), .key = "rootfs", .arg = "host|DIR",
	  .group = "Files", .help = "root file system, read-only: this host's /usr, or a directory",
	  .man = "Refused as a directory is what is refused as a volume, and lifted alike." },
	{ "writable-root", 0, CS_OPT_SIZE, AT(writable_root_bytes), .key = "writableRoot", .arg = "SIZE",
	  .min = 65536,
	  .help = "let the root be written, in an overlay of that size that is thrown away" },
	{ "volume", 'v', CS_OPT_LIST, AT(volumes), .key = "volumes", .arg = "SRC:DST[:ro]",
	  .help = "show a host directory or file inside, read-only" },
	{ "unbounded-volume", 0, CS_OPT_SWITCH, AT(unbounded_volume), .key = "unboundedVolume",
	  .help = "allow volumes and a root that nothing bounds: writable ones, sockets, /run and the like" },
	{ "tmpfs", 0, CS_OPT_LIST, AT(tmpfs), .key = "tmpfs", .arg = "DST[:size=SIZE,…]",
	  .help = "an empty file system in memory" },
	{ "tmp-size", 0, CS_OPT_SIZE, AT(tmp_bytes), .key = "tmpSize", .arg = "SIZE",
	  .help = "size of /tmp" },
	{ "tmp-inodes", 0, CS_OPT_U64, AT(tmp_inodes), .key = "tmpInodes", .arg = "N", .min = 16,
	  .help = "files that /tmp can hold" },
	{ "shm-size", 0, CS_OPT_SIZE, AT(shm_bytes), .key = "shmSize", .arg = "SIZE", .min = 4096,
	  .help = "size of /dev/shm" },

	{ "env", 'e', CS_OPT_LIST, AT(env), EXEC_FLAG, .key = "env", .arg = "NAME[=VALUE]", .check = check_env,
	  .group = "Process", .help = "environment variable; NAME alone passes the caller's on" },
	{ "env-file", 0, CS_OPT_LIST, AT(env_files), EXEC_FLAG, .key = "envFiles", .arg = "FILE",
	  .help = "file of NAME=VALUE lines" },
	{ "workdir", 'w', CS_OPT_TEXT, AT(workdir), EXEC_FLAG, .key = "workdir", .arg = "DIR",
	  .check = check_absolute, .help = "working directory inside" },
	{ "user", 'u', CS_OPT_TEXT, AT(user), EXEC_FLAG, .key = "user", .arg = "UID[:GID]|NAME",
	  .help = "user inside; without GID the group that the root's /etc/passwd gives, else the same number" },
	{ "hostname", 0, CS_OPT_TEXT, AT(hostname), .key = "hostname", .arg = "NAME",
	  .check = check_hostname, .help = "host name inside; else the first 12 characters of the id" },
	{ "interactive", 'i', CS_OPT_SWITCH, AT(interactive), EXEC_TOO, .key = "interactive",
	  .help = "pass stdin on; without it stdin is /dev/null" },
	{ "tty", 't', CS_OPT_SWITCH, AT(tty), EXEC_TOO, .key = "tty",
	  .help = "give the program a terminal: all that it prints is stdout",
	  .man = "With -i your terminal is in raw mode while it runs, and all that you type, Ctrl-C as well, goes to the "
		 "program; the end of a stdin that is no terminal is typed as Ctrl-D. Without -i nothing is typed." },
	{ "init", 0, CS_OPT_SWITCH, AT(init), .key = "init",
	  .help = "run a small init as process 1: catatonit, tini or docker-init, whichever is installed",
	  .man = "It reaps orphans and passes signals on to the program, for which a process 1 without a handler is deaf. "
		 "A program that dies of a signal is seen as one that exits with 128 and the signal's number." },

	{ "memory", 'm', CS_OPT_SIZE, AT(memory_bytes), EXEC_FLAG_DAEMON_TOO, .key = "memory", .arg = "SIZE",
	  .lift = CS_LIFT_ZERO, .min = 4096, LESS, .group = "Limits", .help = "memory of the whole run" },
	{ "memory-swap", 0, CS_OPT_SIZE, AT(memory_swap_bytes), EXEC_FLAG_DAEMON_TOO, .key = "memorySwap", .arg = "SIZE",
	  .lift = CS_LIFT_WORD, LESS, .help = "memory and swap together; by default the same as --memory: no swap" },
	{ "oom-group", 0, CS_OPT_SWITCH, AT(oom_group), DAEMON_TOO, .key = "oomGroup",
	  .tighter = CS_TIGHTER_TRUE, .help = "out of memory ends the whole run, not one process" },
	{ "cpus", 0, CS_OPT_CPUS, AT(millicpus), EXEC_FLAG_DAEMON_TOO, .key = "cpus", .arg = "N", .lift = CS_LIFT_ZERO, .min = 10,
	  LESS, .help = "CPUs that the run may keep busy" },
	{ "cpuset-cpus", 0, CS_OPT_TEXT, AT(cpuset_cpus), DAEMON_TOO, .key = "cpusetCpus", .arg = "LIST",
	  .check = check_cpuset, .help = "CPUs that the run may use, such as 0-2,4" },
	{ "pids-limit", 0, CS_OPT_U64, AT(pids), EXEC_FLAG_DAEMON_TOO, .key = "pidsLimit", .arg = "N", .lift = CS_LIFT_ZERO,
	  LESS, .help = "processes and threads at one time" },
	{ "ulimit", 0, CS_OPT_LIST, AT(ulimits), EXEC_FLAG_DAEMON_TOO, .key = "ulimits", .arg = "NAME=SOFT[:HARD]",
	  .help = "resource limit of each process, such as nofile=1024" },
	{ "timeout", 0, CS_OPT_DURATION, AT(timeout_ns), EXEC_DAEMON_TOO, .key = "timeout", .arg = "TIME",
	  .lift = CS_LIFT_ZERO, .max = TIME_MAX_NS, LESS, .help = "wall time, from the start of the program; 0 lifts it" },
	{ "cpu-time", 0, CS_OPT_DURATION, AT(cpu_time_ns), EXEC_DAEMON_TOO, .key = "cpuTime", .arg = "TIME",
	  .lift = CS_LIFT_ZERO, .max = TIME_MAX_NS, LESS, .help = "CPU time of all processes together; by default wall time × CPUs" },
	{ "idle-timeout", 0, CS_OPT_DURATION, AT(idle_timeout_ns), EXEC_DAEMON_TOO, .key = "idleTimeout", .arg = "TIME",
	  .lift = CS_LIFT_ZERO, .max = TIME_MAX_NS, LESS, .help = "time without a byte of output" },
	{ "best-effort", 0, CS_OPT_LIST, AT(best_effort), EXEC_TOO, .key = "bestEffort", .arg = "LIST",
	  .absent = "all", .choices = "all|memory|swap|pids|cpu|cpuset|rlimits|seccomp",
	  .help = "go on when these limits cannot be had: all, memory, swap, pids, cpu, cpuset, rlimits, seccomp",
	  .man = "An engine that cannot go on without one of them refuses all the same." },

	{ "cap-add", 0, CS_OPT_LIST, AT(cap_add), DAEMON_TOO, .key = "capAdd", .arg = "NAME",
	  .group = "Rights", .help = "capability for the program" },
	{ "seccomp", 0, CS_OPT_TEXT, AT(seccomp), DAEMON_TOO, .key = "seccomp", .arg = "default|none|FILE",
	  .help = "system call filter" },
	{ "seccomp-allow", 0, CS_OPT_LIST, AT(seccomp_allow), DAEMON_TOO, .key = "seccompAllow", .arg = "NAME",
	  .help = "system call to allow besides" },
	{ "network", 0, CS_OPT_TEXT, AT(network), .key = "network", .arg = "none|host|PATH",
	  .check = check_network, .help = "no network, the host's, or a network namespace" },
	{ "userns", 0, CS_OPT_SWITCH, AT(userns), .key = "userns",
	  .help = "a user namespace: root inside is nobody outside" },

	{ "stop-signal", 0, CS_OPT_SIGNAL, AT(stop_signal), EXEC_DAEMON_TOO, .key = "stopSignal", .arg = "SIGNAL",
	  .group = "End", .help = "what a run gets first when --stop-timeout gives it a chance" },
	{ "stop-timeout", 0, CS_OPT_DURATION, AT(stop_timeout_ns), EXEC_DAEMON_TOO, .key = "stopTimeout", .arg = "TIME", .max = TIME_MAX_NS,
	  LESS, .help = "time between the stop signal and SIGKILL when a limit ends the run" },
	{ "die-with-parent", 0, CS_OPT_SWITCH, AT(die_with_parent), EXEC_TOO, .key = "dieWithParent",
	  .help = "cancel the run when the parent of caisson ends" },
	{ "detach", 'd', CS_OPT_SWITCH, AT(detach), .key = "detach",
	  .help = "print the id and return once the program runs; it is a session then, see caisson exec, logs, wait, stop, rm",
	  .man = "Its output is kept in files, which the output limits bound, and stays with the result record until "
		 "caisson rm or --expire removes it." },
	{ "expire", 0, CS_OPT_DURATION, AT(expire_ns), .key = "expire", .arg = "TIME",
	  .lift = CS_LIFT_ZERO, .max = TIME_MAX_NS,
	  .help = "of a detached run: ends it when nobody has used it for so long, and removes what is kept of it so long after its end; 0: never" },
	{ "on-sink-gone", 0, CS_OPT_CHOICE, AT(on_sink_gone), EXEC_TOO, .key = "onSinkGone", .arg = "cancel|drop",
	  .choices = "cancel|drop", .help = "when nobody reads stdout and stderr any more" },

	{ "exec-escape", 0, CS_OPT_CHOICE, AT(exec_escape), .scope = CS_FOR_EXEC, .key = "execEscape", .arg = "report|kill-container",
	  .choices = "report|kill-container",
	  .help = "when a process of an exec may have escaped its end",
	  .man = "It can where the engine has a kernel of its own (runsc) and the kernel's reports were lost." },
	{ "on-attendant-death", 0, CS_OPT_CHOICE, AT(on_attendant_death), DAEMON_ONLY,
	  .key = "onAttendantDeath", .arg = "end|keep", .choices = "end|keep",
	  .help = "when the process that bounds a container of a daemon is killed",
	  .man = "keep: it goes on under its time limits, and its output is lost." },

	{ "output-limit", 0, CS_OPT_SIZE, AT(output_limit_bytes), EXEC_DAEMON_TOO, .key = "outputLimit", .arg = "SIZE",
	  .lift = CS_LIFT_WORD, LESS, .group = "Output", .help = "bytes delivered of stdout and of stderr, each" },
	{ "stdout-limit", 0, CS_OPT_SIZE, AT(stdout_limit_bytes), EXEC_DAEMON_TOO, .key = "stdoutLimit", .arg = "SIZE",
	  .lift = CS_LIFT_WORD, LESS, .help = "the same for stdout alone" },
	{ "stderr-limit", 0, CS_OPT_SIZE, AT(stderr_limit_bytes), EXEC_DAEMON_TOO, .key = "stderrLimit", .arg = "SIZE",
	  .lift = CS_LIFT_WORD, LESS, .help = "the same for stderr alone" },
	{ "on-output-limit", 0, CS_OPT_CHOICE, AT(on_output_limit), EXEC_DAEMON_TOO, .key = "onOutputLimit",
	  .arg = "kill|discard", .choices = "kill|discard", LESS, .help = "what the limit does" },
	{ "output-rate", 0, CS_OPT_SIZE, AT(output_rate_bytes), EXEC_DAEMON_TOO, .key = "outputRate", .arg = "SIZE",
	  .lift = CS_LIFT_WORD, .min = 1, LESS, .help = "bytes a second of each stream; more is dropped" },
	{ "output-burst", 0, CS_OPT_SIZE, AT(output_burst_bytes), EXEC_DAEMON_TOO, .key = "outputBurst", .arg = "SIZE",
	  .min = 1, LESS, .help = "bytes that may pass at once under --output-rate" },
	{ "drain-timeout", 0, CS_OPT_DURATION, AT(drain_timeout_ns), EXEC_DAEMON_TOO, .key = "drainTimeout", .arg = "TIME", .max = TIME_MAX_NS,
	  LESS, .help = "wait for more output after the end while something holds the stream" },
	{ "flush-timeout", 0, CS_OPT_DURATION, AT(flush_timeout_ns), EXEC_DAEMON_TOO, .key = "flushTimeout", .arg = "TIME", .max = TIME_MAX_NS,
	  LESS, .help = "wait for a reader that takes nothing" },
	{ "stdout", 0, CS_OPT_TEXT, AT(stdout_file), EXEC_FLAG, .key = "stdout", .arg = "FILE",
	  .help = "write stdout to a file" },
	{ "stderr", 0, CS_OPT_TEXT, AT(stderr_file), EXEC_FLAG, .key = "stderr", .arg = "FILE",
	  .help = "write stderr to a file" },
	{ "format", 0, CS_OPT_CHOICE, AT(format), EXEC_TOO, .key = "format", .arg = "text|json",
	  .choices = "text|json", .help = "json: print the result record instead of the output" },
	{ "capture", 0, CS_OPT_CHOICE, AT(capture), EXEC_TOO, .key = "capture", .arg = "none|head|tail|both",
	  .choices = "none|head|tail|both", .help = "put output into the record of --format json" },
	{ "capture-limit", 0, CS_OPT_SIZE, AT(capture_limit_bytes), EXEC_TOO, .key = "captureLimit", .arg = "SIZE",
	  .max = 16 << 20, .help = "bytes of each stream that --capture keeps" },
	{ "result", 0, CS_OPT_TEXT, AT(result), EXEC_FLAG, .key = "result", .arg = "FILE|fd:N",
	  .help = "write the result record there" },

	{ "bound", 0, CS_OPT_CHOICE, AT(bound), DAEMON_ONLY, .key = "bound", .arg = "always|unbounded",
	  .choices = "always|unbounded", LESS,
	  .group = "Containers of a daemon", .help = "what a limit does to a container's own: the smaller counts, or only a missing one is filled in" },
	{ "confine", 0, CS_OPT_LIST, AT(confine), DAEMON_ONLY, .key = "confine", .arg = "LIST",
	  .check = check_confine, .tighter = CS_TIGHTER_MORE,
	  .help = "rights that a daemon's container loses where the policy does not give them: capabilities, privileges, "
		  "root, namespaces, devices, seccomp, masked, readonly, rlimits, core" },
	{ "exec-timeout", 0, CS_OPT_DURATION, AT(exec_timeout_ns), DAEMON_ONLY, .key = "execTimeout", .arg = "TIME",
	  .lift = CS_LIFT_ZERO, .max = TIME_MAX_NS, LESS,
	  .help = "wall time of an exec; by default that of the container" },
	{ "exec-output-limit", 0, CS_OPT_SIZE, AT(exec_output_limit_bytes), DAEMON_ONLY, .key = "execOutputLimit",
	  .arg = "SIZE", .lift = CS_LIFT_WORD, LESS,
	  .help = "output of an exec, each stream; by default that of the container" },
	{ "output-cost", 0, CS_OPT_CHOICE, AT(output_cost), DAEMON_ONLY, .key = "outputCost", .arg = "json-file|bytes",
	  .choices = "json-file|bytes", LESS,
	  .help = "what output is counted as: what it takes in a log of JSON lines, or its bytes" },

	{ "id", 0, CS_OPT_TEXT, AT(id), .arg = "ID", .check = check_id,
	  .group = "General", .no_key = "it names one run",
	  .help = "name of the run; else a random one" },
	{ "policy", 0, CS_OPT_TEXT, AT(policy), EXEC_CHECK_TOO, .key = "policy", .arg = "NAME",
	  .help = "set of values to begin with: strict, default, none, or one from the configuration" },
	{ "config", 0, CS_OPT_TEXT, AT(config), ALL, .arg = "FILE",
	  .no_key = "it says which file is read",
	  .help = "configuration file" },
	{ "state-dir", 0, CS_OPT_TEXT, AT(state_dir), ALL, .key = "stateDir", .arg = "DIR",
	  .check = check_state_dir, .help = "where live runs are on record" },
	{ "cache-dir", 0, CS_OPT_TEXT, AT(cache_dir), EXEC_CHECK_TOO, .key = "cacheDir", .arg = "DIR",
	  .check = check_absolute, .help = "where what engines say of themselves is kept" },
	{ "print-effective", 0, CS_OPT_SWITCH, AT(print_effective), EXEC_TOO,
	  .no_key = "it is a question, not a value",
	  .help = "print every setting and where it comes from, and do nothing" },
	{ "quiet", 'q', CS_OPT_SWITCH, AT(quiet), EXEC_DAEMON_TOO, .key = "quiet",
	  .help = "say nothing but errors" },
	{ "verbose", 0, CS_OPT_SWITCH, AT(verbose), EXEC_DAEMON_TOO, .key = "verbose",
	  .help = "say what is done" },
};

const size_t cs_settings_n_rows = CS_ARRAY_LEN(cs_settings_rows);
_Static_assert(CS_ARRAY_LEN(cs_settings_rows) <= CS_SETTINGS_ROWS_MAX, "room for every origin");
