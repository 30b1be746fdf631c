/*
 * caisson check as tables: one row a check, with its name, how it is looked at
 * and what to do when it is not good (check_host.c, check_engine.c). What
 * needs a process of its own, since it changes namespaces or creates
 * containers, is tried by a copy of ourselves (check_self.c).
 */
#ifndef CS_CLI_CHECK_H
#define CS_CLI_CHECK_H

#include "shim/engine/engine.h"
#include "shim/sys/cgroup.h"
#include "shim/task/config.h"

enum cs_verdict { CS_GOOD, CS_WEAK, CS_BAD };

/* What one check found. */
struct cs_finding {
	enum cs_verdict verdict; /* good unless a check says otherwise */
	bool skip;               /* does not apply here: no line */
	char seen[512];
	char remedy[512];        /* in place of the row's; "": that one */
};

void cs_find(struct cs_finding *ret, enum cs_verdict verdict, const char *fmt, ...) CS_PRINTF(3, 4);

struct cs_check {
	const struct cs_settings *s;
	const struct cs_config *config;
	struct cs_cgroup_host host;
	struct cs_err host_err; /* when it could not be read */
};

struct cs_check_host_row {
	const char *name;
	void (*look)(const struct cs_check *check, struct cs_finding *ret);
	const char *remedy;
};
extern const struct cs_check_host_row cs_check_host_rows[];
extern const size_t cs_check_host_n;

/* An engine under the name that --runtime takes. */
struct cs_check_engine {
	const char *name;
	struct cs_engine engine;
	bool in_use; /* what runs take unless they say otherwise: its faults are the host's */
};

struct cs_check_engine_row {
	const char *name;
	void (*look)(const struct cs_check *check, const struct cs_check_engine *engine, struct cs_finding *ret);
	const char *remedy;
};
extern const struct cs_check_engine_row cs_check_engine_rows[];
extern const size_t cs_check_engine_n;

/* --- what is tried in a process of its own --------------------------------- */

/* Words of `caisson check --try`, hidden. */
#define CS_TRY_CHOICES "no|cwd|masking|overlay|userns|hybrid"
enum cs_try { CS_TRY_NO, CS_TRY_CWD, CS_TRY_MASKING, CS_TRY_OVERLAY, CS_TRY_USERNS, CS_TRY_HYBRID, CS_TRIES };

/* Here and now, in this process. */
void cs_try_here(const struct cs_check *check, enum cs_try what, struct cs_finding *ret);

/* By a copy of ourselves, with that engine (NULL: none). Blocks until it has answered or its time is up. */
void cs_try_apart(const struct cs_check *check, enum cs_try what, const char *engine, struct cs_finding *ret);

/* One run of `true` under the configured policy. */
void cs_try_run(const struct cs_check *check, const char *engine, struct cs_finding *ret);

/* One finding as JSON, in both directions between us and our copy. */
struct cs_json *cs_finding_json(const struct cs_finding *finding);

#endif
