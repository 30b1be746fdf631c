/* Inside of tighten*.c: what an edit works on, and the helpers that all rules share. */
#ifndef CS_TASK_TIGHTEN_INT_H
#define CS_TASK_TIGHTEN_INT_H

#include "shim/task/confine.h"
#include "shim/task/tighten.h"

enum cs__tighten_what { CS__TIGHTEN_CONFIG, CS__TIGHTEN_PROCESS, CS__TIGHTEN_RESOURCES };

/*
 * Paths are those of config.json throughout, "linux.resources.pids.limit":
 * where a process.json or LinuxResources is edited, `strip` bytes of them lie
 * above its root.
 */
struct cs__tighten {
	enum cs__tighten_what what;
	struct cs_opt_set set;              /* over the plan's tree */
	const struct cs_settings *settings;
	const struct cs_engine_kind *engine; /* may be NULL */
	unsigned confine;                   /* bits of enum cs_confine */
	struct cs_json *root;
	size_t strip;
	const struct cs_json *config;       /* of the container, as it runs; NULL: not known, or it is the root itself */
	struct cs_strv *changes;            /* may be NULL */
	struct cs_err *err;
};

/* What stands at the path; NULL when it is absent or null. */
struct cs_json *cs__tighten_get(const struct cs__tighten *t, const char *path);

/* Member of linux.resources.unified, whose keys hold dots; as above. */
struct cs_json *cs__tighten_unified(const struct cs__tighten *t, const char *key);

/* Puts a value and notes the change. Consumes the value. 0 or -1. */
int cs__tighten_put(const struct cs__tighten *t, const char *path, struct cs_json *value_consume);
int cs__tighten_put_unified(const struct cs__tighten *t, const char *key, const char *text);

/* Notes a change that has no single value. */
void cs__tighten_note(const struct cs__tighten *t, const char *fmt, ...) CS_PRINTF(2, 3);

/* Fails for a value of another kind; NULL passes. */
int cs__tighten_want(const struct cs__tighten *t, const struct cs_json *json, const char *path,
		     enum cs_json_kind kind);

/* Does the setting bound every value, or only those without a limit? */
bool cs__tighten_always(const struct cs__tighten *t, const char *name);

/*
 * What is left of a number under a bound; CS_UNLIMITED on either side is none,
 * and so is a value from `boundless` on (0: no such).
 */
uint64_t cs__tighten_clamp(uint64_t value, uint64_t bound, uint64_t boundless, bool always);

/*
 * Fails with CS_INVALID when a key on one of our paths is spelt as Go's reader
 * would still take it.
 */
int cs__tighten_check_keys(const struct cs__tighten *t);

/* The rules. Each looks at t->what for itself. */
int cs__tighten_limits(const struct cs__tighten *t);     /* memory, swap, pids, CPU, cpuset, devices */
int cs__tighten_rights(const struct cs__tighten *t);     /* all words of confine but the next two */
int cs__tighten_mounts(const struct cs__tighten *t);     /* of the word readonly: what shows cgroups cannot be written */
int cs__tighten_realtime(const struct cs__tighten *t);   /* where CPUs are bounded */
int cs__tighten_rlimits(const struct cs__tighten *t);
int cs__tighten_seccomp(const struct cs__tighten *t);
int cs__tighten_notes_of_others(const struct cs__tighten *t); /* annotations that engines obey past the policy */

#endif
