/*
 * Verb and options → argv of an engine: pure, golden-tested (tests/golden/argv.txt).
 *
 *     struct cs_engine_args args = { .root = root, .log = log, .id = "web1" };
 *     cs_auto(strv) argv = CS_STRV_INIT;
 *     if (cs_engine_argv(&engine, CS_VERB_START, &args, &argv, err) < 0) …
 *
 * The order is the same for all: path, the engine's own global arguments, ours
 * (--root, --log, …), verb, its flags, id, operands. Options before the id,
 * since some engines stop parsing there.
 */
#ifndef CS_ENGINE_ENGINE_ARGV_H
#define CS_ENGINE_ENGINE_ARGV_H

#include "shim/engine/engine.h"

enum cs_verb {
	CS_VERB_CREATE,
	CS_VERB_START,
	CS_VERB_STATE,
	CS_VERB_KILL,
	CS_VERB_DELETE,
	CS_VERB_EXEC,
	CS_VERB_PAUSE,
	CS_VERB_RESUME,
	CS_VERB_PS,
	CS_VERB_UPDATE,
	CS_VERB_FEATURES,
	CS_VERB_VERSION,
	CS_VERBS
};

/* NULL and false: not given. All paths absolute (a relative --pid-file means different things to different engines). */
struct cs_engine_args {
	const char *root;          /* --root */
	const char *log;           /* --log, with --log-format json */
	bool systemd_cgroup;
	bool network_none, network_host; /* what the container's network is, for rows with flags for it */
	const char *trace_config;  /* --pod-init-config, rows with trace_session */
	const char *id;
	const char *bundle;        /* create */
	const char *pid_file;      /* create, exec */
	const char *internal_pid_file; /* exec, rows with inside_pids */
	const char *console_socket;
	const char *process;       /* exec */
	const char *cgroup;        /* exec, rows with exec_cgroup: below the container's, "/x1" */
	bool detach;               /* exec */
	bool force;                /* delete */
	bool all;                  /* kill, rows that have it */
	const char *signal;        /* kill: a number as text */
	const char *pid;           /* kill --pid, rows with inside_pids; not with `all` */
	const char *resources;     /* update */
};

/* "create", …; never NULL. Static. CS_VERB_VERSION is the flag "--version". */
const char *cs_verb_word(enum cs_verb verb);

/*
 * Appends the whole argv to ret; argv[0] is the engine's path. Fields that the
 * verb has no use for are ignored, so one set of arguments serves all verbs
 * of a container.
 *
 * CS_INVALID: a field that the verb needs is missing, a path is not absolute, an
 * id that engines refuse. CS_UNSUPPORTED: a field that this engine's row cannot
 * express. CS_LIMIT: no memory; ret may then hold a part.
 */
int cs_engine_argv(const struct cs_engine *engine, enum cs_verb verb,
		   const struct cs_engine_args *args, struct cs_strv *ret, struct cs_err *err);

#endif
