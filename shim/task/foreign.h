/*
 * A container of somebody else's (dockerd's, podman's, …) that was made under a
 * policy: what has to be known of it between the calls of caisson-runtime,
 * each a process of its own.
 *
 *     <state>/containers/KEY/           KEY: 16 hexadecimal digits, of the engine's root and the id
 *         facts.json                    engine, its arguments, the caller's bundle, the policy
 *         bundle/config.json            what runs: the caller's with the policy laid over it
 *         bundle/rootfs                 a link to the caller's, for hooks that look there
 *
 * It lives until the container's delete. While create is on its way a record
 * (record.h) stands for it, with the id "oci-KEY": who dies in between leaves
 * steps to play back, and delete or `caisson gc` does that.
 *
 *     cs_foreign_begin → … the engine's create … → cs_foreign_commit   or   cs_foreign_abort
 *     cs_foreign_find  → … any other verb …      → cs_foreign_release
 *     cs_foreign_find  → … the engine's delete … → cs_foreign_remove
 */
#ifndef CS_TASK_FOREIGN_H
#define CS_TASK_FOREIGN_H

#include "oci-spec/json.h"
#include "shim/engine/engine.h"
#include "shim/task/record.h"
#include "shim/task/settings.h"

#define CS_FOREIGN_PATH_MAX (CS_STATE_DIR_MAX + 64)

/* Owned; release with cs_foreign_facts_release. */
struct cs_foreign_facts {
	char *root, *id;      /* of the engine, as it is told them */
	char *engine, *kind;  /* path; name of the engine's row */
	struct cs_strv args;  /* global ones that every later call of it gets too */
	char *bundle;         /* the caller's, absolute */
	char *policy, *config; /* names: what execs and updates are weighed by; NULL: the default ones */
	char *cgroup;         /* where the container is; NULL: the engine chooses, and has not yet, or it has none to itself */
};

struct cs_foreign {
	struct cs_foreign_facts facts;
	char path[CS_FOREIGN_PATH_MAX];   /* the directory, absolute */
	char bundle[CS_FOREIGN_PATH_MAX]; /* and the bundle in it */
	int dir_fd;

	/* while it is being made */
	bool cgroup_was_there; /* empty: the container has it to itself once it is in it, not before */
	struct cs_record record;
	size_t steps[2], n_steps;
};

#define CS_FOREIGN_INIT ((struct cs_foreign){ .dir_fd = -1, .record = CS_RECORD_INIT })

void cs_foreign_facts_release(struct cs_foreign_facts *facts);

/* Closes and frees; removes nothing. */
void cs_foreign_release(struct cs_foreign *foreign);

/* 1 with ret filled, 0 when no such container is kept, -1. */
int cs_foreign_find(const char *state_dir, const char *root, const char *id, struct cs_foreign *ret,
		    struct cs_err *err);

/*
 * Before the engine's create: record, steps, directory, facts. *facts is taken
 * over in any case. One that is there already and of which the engine knows
 * nothing any more is cleared away; one that it knows is CS_EXISTS, in runc's words,
 * also when it was made without us: that one is never touched. The cgroup
 * is a step only if there is none of that name yet; one that somebody is in is CS_EXISTS.
 */
int cs_foreign_begin(const char *state_dir, struct cs_foreign_facts *facts_consume, struct cs_foreign *ret,
		     struct cs_err *err);

/* Once it is known where the engine has put it, where config.json did not say. */
int cs_foreign_set_cgroup(struct cs_foreign *foreign, const char *path, struct cs_err *err);

/* Writes the bundle. The link is there if the caller's bundle has a rootfs. */
int cs_foreign_write_bundle(struct cs_foreign *foreign, const struct cs_json *config, struct cs_err *err);

/* Length of KEY. */
#define CS_FOREIGN_KEY_LEN 16
/* The caller's bundle of the container whose key `key` begins with; to be freed. NULL when there is none. */
char *cs_foreign_bundle_of(const char *state_dir, const char *key);
/* Is any container kept at all? */
bool cs_foreign_any(const char *state_dir);

/* config.json as it runs; the caller's. */
int cs_foreign_read_config(const struct cs_foreign *foreign, struct cs_json **ret, struct cs_err *err);

/* The engine has made it: from now on only its delete ends it. */
void cs_foreign_commit(struct cs_foreign *foreign);
/* It has not: removes all that is there, half made or whole. Number of leftovers. */
int cs_foreign_abort(struct cs_foreign *foreign, int64_t deadline_ns, struct cs_strv *leftovers);

/* What a create that died left under that root and id. Number of leftovers; 0 also when there is nothing. */
int cs_foreign_clean_up(const char *state_dir, const char *root, const char *id, int64_t deadline_ns,
			struct cs_strv *leftovers);

/* The directory, after the engine's delete. 0 or -errno. */
int cs_foreign_remove(const struct cs_foreign *foreign);

/* The engine with its arguments; to be released. CS_INVALID for a kind that this version does not have. */
int cs_foreign_engine(const struct cs_foreign *foreign, struct cs_engine *ret, struct cs_err *err);

/*
 * Removes those that nobody makes and their engine does not know, and
 * those whose caller has removed its bundle. Number removed.
 */
unsigned cs_foreign_gc(const char *state_dir, int64_t deadline_ns, struct cs_strv *leftovers);

/* The step CS_UNDO_CONTAINER: `path` is a container's directory. 0, else why. */
int cs__foreign_undo(const char *path, int64_t deadline_ns, char *why, size_t why_size);

/*
 * Where a config.json puts its container (runtime-spec config-linux.md,
 * "Cgroups Path"): an absolute path as it is; with systemd "slice:prefix:name".
 * NULL when the engine chooses, or for want of memory. The caller's.
 */
char *cs_foreign_cgroup_of(const struct cs_json *config, bool systemd);

#endif
