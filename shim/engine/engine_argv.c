#include "shim/engine/engine_argv.h"

#include <errno.h>
#include <string.h>

#include "shim/base/parse.h"

/* What a verb takes, as bits: one row a verb instead of one function a verb. */
enum {
	USE_BUNDLE = 1 << 0,
	USE_PID_FILE = 1 << 1,
	USE_CONSOLE = 1 << 2,
	USE_PROCESS = 1 << 3,
	USE_DETACH = 1 << 4,
	USE_INTERNAL_PID = 1 << 5,
	USE_FORCE = 1 << 6,
	USE_SIGNAL = 1 << 7, /* with --all and --pid */
	USE_RESOURCES = 1 << 8,
	USE_PS_FORMAT = 1 << 9,
	USE_TRACE = 1 << 10,
	NO_CONTAINER = 1 << 11, /* asks the binary, not a container */
};

static const struct verb_row {
	const char *word;
	unsigned uses;
} verbs[] = {
	[CS_VERB_CREATE] = { "create", USE_BUNDLE | USE_PID_FILE | USE_CONSOLE | USE_TRACE },
	[CS_VERB_START] = { "start", 0 },
	[CS_VERB_STATE] = { "state", 0 },
	[CS_VERB_KILL] = { "kill", USE_SIGNAL },
	[CS_VERB_DELETE] = { "delete", USE_FORCE },
	[CS_VERB_EXEC] = { "exec",
			   USE_PROCESS | USE_PID_FILE | USE_INTERNAL_PID | USE_CONSOLE | USE_DETACH },
	[CS_VERB_PAUSE] = { "pause", 0 },
	[CS_VERB_RESUME] = { "resume", 0 },
	[CS_VERB_PS] = { "ps", USE_PS_FORMAT },
	[CS_VERB_UPDATE] = { "update", USE_RESOURCES },
	[CS_VERB_FEATURES] = { "features", NO_CONTAINER },
	[CS_VERB_VERSION] = { "--version", NO_CONTAINER },
};
_Static_assert(CS_ARRAY_LEN(verbs) == CS_VERBS, "a row for every verb");

const char *cs_verb_word(enum cs_verb verb)
{
	return (unsigned)verb < CS_VERBS ? verbs[verb].word : "?";
}

/* Flags with a path behind them: which field, for which verbs, where they stand, and whether they are a must. */
#define FIELD(name) offsetof(struct cs_engine_args, name)
static const struct path_row {
	const char *flag;
	size_t offset;
	unsigned use; /* any of these bits; 0: every verb on a container */
	bool global;  /* before the verb */
	bool needed;
} paths[] = {
	{ "--root", FIELD(root), .global = true },
	{ "--log", FIELD(log), .global = true },
	{ "--pod-init-config", FIELD(trace_config), USE_TRACE, .global = true },
	{ "--bundle", FIELD(bundle), USE_BUNDLE, .needed = true },
	{ "--pid-file", FIELD(pid_file), USE_PID_FILE, .needed = false },
	{ "--internal-pid-file", FIELD(internal_pid_file), USE_INTERNAL_PID, .needed = false },
	{ "--console-socket", FIELD(console_socket), USE_CONSOLE, .needed = false },
	{ "--process", FIELD(process), USE_PROCESS, .needed = true },
	{ "--cgroup", FIELD(cgroup), USE_PROCESS, .needed = false },
	{ "--resources", FIELD(resources), USE_RESOURCES, .needed = true },
};
#undef FIELD

static const char *path_of(const struct path_row *row, const struct cs_engine_args *args)
{
	const char *path;

	memcpy(&path, (const char *)args + row->offset, sizeof(path));
	return path;
}

static bool row_applies(const struct path_row *row, unsigned uses)
{
	return row->use == 0 ? !(uses & NO_CONTAINER) : (uses & row->use) != 0;
}

static int check_paths(const char *word, unsigned uses, const struct cs_engine_args *args,
		       struct cs_err *err)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(paths); i++) {
		const char *path = path_of(&paths[i], args);

		if (!row_applies(&paths[i], uses))
			continue;
		if (!path && paths[i].needed)
			return cs_fail(err, CS_INVALID, 0, "%s needs %s", word, paths[i].flag);
		/* relative ones count from the bundle in crun, from the working directory in runc */
		if (path && path[0] != '/')
			return cs_fail(err, CS_INVALID, 0, "%s %s '%s' is not absolute", word,
				       paths[i].flag, path);
	}
	return 0;
}

static int check(const struct cs_engine *engine, enum cs_verb verb, const struct cs_engine_args *args,
		 struct cs_err *err)
{
	const struct cs_engine_kind *kind = engine->kind;
	const char *word = cs_verb_word(verb);
	unsigned uses = verbs[verb].uses;

	if (uses & NO_CONTAINER)
		return 0;
	if (!args->id || !cs_id_valid(args->id))
		return cs_fail(err, CS_INVALID, 0, "%s: '%s' is no container id", word,
			       args->id ? args->id : "");
	if (check_paths(word, uses, args, err) < 0)
		return -1;
	if ((uses & USE_SIGNAL) && !args->signal)
		return cs_fail(err, CS_INVALID, 0, "%s needs a signal", word);
	if ((uses & USE_SIGNAL) && args->all && args->pid)
		return cs_fail(err, CS_INVALID, 0, "%s: all and one process exclude each other", word);
	if ((uses & USE_SIGNAL) && args->all && !kind->kill_all)
		return cs_fail(err, CS_UNSUPPORTED, 0, "%s cannot signal all processes", kind->name);
	if ((((uses & USE_SIGNAL) && args->pid) || ((uses & USE_INTERNAL_PID) && args->internal_pid_file)) &&
	    !kind->inside_pids)
		return cs_fail(err, CS_UNSUPPORTED, 0, "%s does not tell the pids inside", kind->name);
	if ((uses & USE_PROCESS) && args->cgroup && !kind->exec_cgroup)
		return cs_fail(err, CS_UNSUPPORTED, 0, "%s cannot start a process in a cgroup of its own", kind->name);
	if ((uses & USE_TRACE) && args->trace_config && !kind->trace_session)
		return cs_fail(err, CS_UNSUPPORTED, 0, "%s has no trace sessions", kind->name);
	return 0;
}

static int add_paths(struct cs_strv *ret, unsigned uses, bool global, const struct cs_engine_args *args)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < CS_ARRAY_LEN(paths); i++) {
		const char *path = path_of(&paths[i], args);

		if (!path || paths[i].global != global || !row_applies(&paths[i], uses))
			continue;
		r = cs_strv_add(ret, paths[i].flag);
		if (r == 0)
			r = cs_strv_add(ret, path);
	}
	return r;
}

static int add_globals(struct cs_strv *ret, const struct cs_engine *engine, unsigned uses,
		       const struct cs_engine_args *args)
{
	int r = cs_strv_add_all(ret, (const char *const *)engine->global_args.v);

	if (r == 0 && args->network_none)
		r = cs_strv_add_all(ret, engine->kind->network_none_args);
	if (r == 0 && args->network_host)
		r = cs_strv_add_all(ret, engine->kind->network_host_args);
	if (r == 0 && args->systemd_cgroup)
		r = cs_strv_add(ret, "--systemd-cgroup");
	if (r == 0 && args->log)
		r = cs_strv_add_all(ret, (const char *const[]){ "--log-format", "json", NULL });
	if (r == 0)
		r = add_paths(ret, uses, true, args);
	return r;
}

static int add_verb(struct cs_strv *ret, enum cs_verb verb, const struct cs_engine_args *args)
{
	unsigned uses = verbs[verb].uses;
	int r = cs_strv_add(ret, verbs[verb].word);

	if (r == 0)
		r = add_paths(ret, uses, false, args);
	if (r == 0 && (uses & USE_DETACH) && args->detach)
		r = cs_strv_add(ret, "--detach");
	if (r == 0 && (uses & USE_FORCE) && args->force)
		r = cs_strv_add(ret, "--force");
	if (r == 0 && (uses & USE_SIGNAL) && args->all)
		r = cs_strv_add(ret, "--all");
	if (r == 0 && (uses & USE_SIGNAL) && args->pid)
		r = cs_strv_add_all(ret, (const char *const[]){ "--pid", args->pid, NULL });
	if (r == 0 && (uses & USE_PS_FORMAT))
		r = cs_strv_add_all(ret, (const char *const[]){ "--format", "json", NULL });
	if (r == 0 && !(uses & NO_CONTAINER))
		r = cs_strv_add(ret, args->id);
	if (r == 0 && (uses & USE_SIGNAL))
		r = cs_strv_add(ret, args->signal);
	return r;
}

int cs_engine_argv(const struct cs_engine *engine, enum cs_verb verb,
		   const struct cs_engine_args *args, struct cs_strv *ret, struct cs_err *err)
{
	static const struct cs_engine_args none = { 0 };
	unsigned uses;
	int r;

	if ((unsigned)verb >= CS_VERBS)
		return cs_fail(err, CS_BUG, 0, "verb %d", (int)verb);
	if (!args)
		args = &none;
	if (check(engine, verb, args, err) < 0)
		return -1;

	uses = verbs[verb].uses;
	r = cs_strv_add(ret, engine->path);
	if (r == 0 && !(uses & NO_CONTAINER))
		r = add_globals(ret, engine, uses, args);
	if (r == 0)
		r = add_verb(ret, verb, args);
	return r < 0 ? cs_fail(err, CS_LIMIT, -r, "arguments of %s %s", engine->kind->name,
			       cs_verb_word(verb)) : 0;
}
