/*
 * Reading back, between create and start, that every limit asked for is in
 * force: the enforcement table of the engine says which ones the kernel must
 * show.
 */
#ifndef CS_TASK_VERIFY_H
#define CS_TASK_VERIFY_H

#include "oci-spec/json.h"
#include "shim/base/err.h"
#include "shim/engine/engine.h"
#include "shim/sys/cgroup.h"
#include "shim/sys/pidref.h"
#include "shim/task/jobspec.h"
#include "shim/task/result.h"

struct cs_verify_plan {
	const struct cs_engine *engine;
	const struct cs_settings *settings; /* --best-effort */
	const struct cs_jobspec *spec;
	const struct cs_cgroup *cgroup;
	pid_t init;
};

/*
 * Fills in_force and by of the result's limits. CS_LIMIT names the first limit
 * that is not in force and is not lifted by --best-effort; the lifted ones become warnings.
 */
int cs_verify(const struct cs_verify_plan *plan, struct cs_result *result, struct cs_err *err);

/* The same for the cgroup's limits alone, before any process is in it; init is not looked at. */
int cs_verify_limits(const struct cs_verify_plan *plan, struct cs_result *result, struct cs_err *err);

/*
 * The same for somebody else's config.json: what it asks for is what must be in force, in the cgroup that it names or,
 * where that is not known, in the one that init is in. What --best-effort of the settings lifts goes to the log.
 */
struct cs_verify_config_plan {
	const struct cs_engine *engine;
	const struct cs_settings *settings;
	const struct cs_json *config;
	const char *cgroup; /* NULL: not known */
	bool below;         /* init may be further below it, as engines do it in systemd's groups */
	pid_t init;
};

int cs_verify_config(const struct cs_verify_config_plan *plan, struct cs_err *err);

#endif
