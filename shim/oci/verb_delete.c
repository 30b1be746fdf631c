/* delete: the engine's, then what is kept here. Idempotent, and also for what a create that died has left. */
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/oci/say.h"
#include "shim/oci/verbs.h"
#include "shim/task/attendant.h"
#include "shim/task/results.h"

#define CLEAN_UP_NS (10 * CS_NSEC_PER_SEC)
/* What the attendant may take to write its record once the container is gone. */
#define RECORD_NS (3 * CS_NSEC_PER_SEC)

/* Its records are of no use for ever. */
static void expire_records(const struct cs_oci_face *face, const char *state_dir)
{
	int64_t after_ns = face->tree.values.expire_ns;
	cs_autofd int results_fd = after_ns == CS_NEVER ? -1 : cs_results_open(state_dir, false);

	if (results_fd >= 0)
		cs_results_expire(results_fd, cs_container_key(face->root, cs_oci_id(&face->call)), cs_clock_wall_ns() + after_ns);
}

int cs_oci_verb_delete(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	cs_auto(strv) leftovers = CS_STRV_INIT;
	const struct cs_oci_run run = { .own_group = true, .timeout_ns = cs_oci_timeout_ns(face) };
	const char *state_dir = face->tree.values.state_dir;
	off_t from = cs_oci_log_end(&face->call);

	if (cs_foreign_clean_up(state_dir, face->root, cs_oci_id(&face->call), cs_clock_deadline_ns(CLEAN_UP_NS), &leftovers) > 0)
		return cs_fail(err, CS_STATE, 0, "container '%s': %s", cs_oci_id(&face->call), leftovers.v[0]);
	if (!face->kept)
		return cs_oci_verb_pass(face, ret_code, err);
	if (cs_oci_face_run(face, &run, ret_code, err) < 0)
		return -1;
	if (*ret_code != 0) {
		if (face->call.odd)
			cs_oci_face_complete(face, from, *ret_code, NULL);
		return 0;
	}
	cs_attendant_await(face->foreign.dir_fd, cs_clock_deadline_ns(RECORD_NS));
	expire_records(face, state_dir);
	cs_foreign_remove(&face->foreign);
	return 0;
}
