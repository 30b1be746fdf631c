/*
 * The container of a fake engine: a process in a session of its own that waits
 * for start and then executes process.args on the host. No isolation at all;
 * its cgroup with the limits there, its rlimits and no_new_privs are as
 * config.json says, where we may; a seccomp filter that allows all stands for
 * the profile. So what is read back before start is in order.
 */
#ifndef CS_TESTS_FAKE_BOX_H
#define CS_TESTS_FAKE_BOX_H

#include <sys/types.h>

#include "oci-spec/json.h"

enum box_limits { BOX_LIMITS_APPLY, BOX_LIMITS_SKIP, BOX_LIMITS_HALF };

/*
 * What an engine does at create, as far as a probe can see it: a mount
 * namespace, root, masked paths, working directory; and the same as engines
 * did it that had holes (CVE-2024-21626, CVE-2025-31133).
 */
enum box_walls { BOX_WALLS_NONE, BOX_WALLS_WHOLE, BOX_WALLS_HOLES };

struct box_plan {
	const char *bundle;
	enum box_limits limits;
	enum box_walls walls;
	int start_fd;
};

/* Forks the process; it waits on `start_fd` for one byte. Its pid, -1; -1 also when it could not set its walls up. */
pid_t box_create(const struct cs_json *config, const struct box_plan *plan);

/* Forks a further process into the same cgroup; it does not wait. `process` as in process.json. */
pid_t box_exec(const struct cs_json *config, const struct cs_json *process);

/* Removes the cgroup. */
void box_remove(const struct cs_json *config);

#endif
