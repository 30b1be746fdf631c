/*
 * The configuration file, policies and flags → one settings tree.
 *
 * Order, later wins: built-in values, policy, file, flags. Lists append; "="
 * in front empties first. The file is /etc/caisson/config.json, or what
 * CAISSON_CONFIG or --config names; the default one may be missing. Its keys are those of settings_rows.c, with
 * "runtimes" and "policies" beside them:
 *
 *     { "memory": "128m", "volumes": ["/opt/data:/data"],
 *       "runtimes": { "strict-gvisor": { "path": "/usr/bin/runsc", "engine": "runsc", "args": [] } },
 *       "policies": { "judge": { "base": "strict", "timeout": "5s" } } }
 */
#ifndef CS_TASK_CONFIG_H
#define CS_TASK_CONFIG_H

#include "oci-spec/json.h"
#include "shim/base/err.h"
#include "shim/task/settings.h"

struct cs_config {
	char *path;           /* owned; NULL when no file was read */
	struct cs_json *file; /* owned; NULL when no file was read */
};

void cs_config_release(struct cs_config *config);

/* Reads and checks a file: what is wrong is told with line and column of its key, an unknown one with the nearest known. */
int cs_config_parse(const char *text, size_t len, const char *name, struct cs_config *ret,
		    struct cs_err *err);

/*
 * The whole way: flags of argv[1…] are read once to find --config and
 * --policy, then all sources are laid over each other. *ret_operand is the position of
 * the first operand in argv. scope is the command's (enum cs_settings_scope).
 * `more` (may be NULL) are further flags, which are not settings. Release config and tree in every case of success.
 */
int cs_config_load(int argc, char *const argv[], unsigned scope, const struct cs_opt_set *more,
		   struct cs_config *ret_config, struct cs_settings_tree *ret_tree, int *ret_operand,
		   struct cs_err *err);

/* The same for a face whose policy, when neither flag nor file names one, is not "strict" but `policy`. */
int cs_config_load_for(const char *policy, int argc, char *const argv[], unsigned scope,
		       const struct cs_opt_set *more, struct cs_config *ret_config,
		       struct cs_settings_tree *ret_tree, int *ret_operand, struct cs_err *err);

/*
 * For a command line that cs_config_load refused: what its flags say all the
 * same (cs_opt_salvage) over the built-in values, so that whoever asked for a record can be
 * given one. Neither file nor policy is read. Release it in case of success.
 */
int cs_config_salvage(int argc, char *const argv[], unsigned scope, const struct cs_opt_set *more,
		      struct cs_settings_tree *ret_tree, struct cs_err *err);

/* An engine that the file defines under "runtimes"; all borrowed from config, NULL where absent. */
struct cs_runtime_def {
	const char *path;
	const char *engine;
	const struct cs_json *args;
};
bool cs_config_runtime(const struct cs_config *config, const char *name, struct cs_runtime_def *ret);

#endif
