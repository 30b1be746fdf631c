/*
 * update of a container that was made under a policy: --resources and the
 * flags make one LinuxResources, with the policy laid over it; what came into
 * force goes into the config.json that is kept, against which the next one is weighed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "oci-spec/json_edit.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/oci/say.h"
#include "shim/oci/verbs.h"

static int read_resources(const char *file, struct cs_json **ret, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	int r;

	if (!file) {
		*ret = cs_json_new_object();
		return *ret ? 0 : cs_fail(err, CS_LIMIT, ENOMEM, "resources");
	}
	r = file[0] == '-' && !file[1] ? cs_file_read_fd(STDIN_FILENO, &text) : cs_file_read(AT_FDCWD, file, &text);
	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "--resources '%s'", file);
	return cs_json_parse(text.data ? text.data : "", text.len, "--resources", ret, err);
}

/* Flags into the object, and out of the call: engines look at one or the other. Of one that is repeated the last counts. */
static int take_flags(struct cs_oci_call *call, struct cs_json *resources, struct cs_err *err)
{
	cs_auto(strv) taken = CS_STRV_INIT;

	for (size_t i = 0; i < call->n_flags; i++) {
		const struct cs_oci_given *given = &call->flags[i];
		int r = given->row && given->value ? cs_tighten_update_flag(resources, given->row->name, given->value, err) : 0;

		if (r < 0)
			return -1;
		if (r > 0 && cs_strv_add(&taken, given->row->name) < 0)
			return cs_fail(err, CS_LIMIT, ENOMEM, "arguments");
	}
	for (size_t i = 0; i < taken.n; i++)
		cs_oci_set_flag(call, taken.v[i], NULL);
	return 0;
}

/* One at a time, until our end; who holds it for longer than an update may take has a process that hangs. */
static int lock(const struct cs_oci_face *face, struct cs_err *err)
{
	int64_t deadline_ns = cs_clock_deadline_ns(cs_oci_timeout_ns(face)), nap_ns = CS_NAP_NS;

	/* the kernel tells nobody when a lock gets free, but who sleeps for it without end */
	while (flock(face->foreign.dir_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return cs_fail(err, CS_IO, errno, "'%s'", face->foreign.path);
		if (cs_clock_left_ns(deadline_ns) <= 0)
			return cs_fail(err, CS_TIMEOUT, 0, "another update of '%s' does not end", face->foreign.facts.id);
		cs_clock_nap(&nap_ns, deadline_ns);
	}
	return 0;
}

static int update(struct cs_oci_face *face, struct cs_json *config, struct cs_json *resources, int *ret_code, struct cs_err *err)
{
	struct cs_tighten_plan plan = { .tree = &face->tree, .engine = face->engine.kind };
	const struct cs_oci_run run = { .own_group = true, .timeout_ns = cs_oci_timeout_ns(face) };
	char path[CS_OCI_MEMORY_PATH];
	cs_autofd int fd = -1;

	if (cs_tighten_annotations(&face->tree, config, err) < 0 || take_flags(&face->call, resources, err) < 0 ||
	    cs_tighten_resources(&plan, config, resources, NULL, err) < 0 ||
	    cs_oci_memory_file(resources, path, &fd, err) < 0)
		return -1;
	if (cs_oci_set_flag(&face->call, "resources", path) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "arguments");
	if (cs_oci_face_run(face, &run, ret_code, err) < 0)
		return -1;
	if (*ret_code != 0)
		return 0;
	return cs_tighten_merge(config, resources, err) < 0 ? -1 : cs_foreign_write_bundle(&face->foreign, config, err);
}

int cs_oci_verb_update(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	cs_autojson struct cs_json *config = NULL, *resources = NULL;
	off_t from = cs_oci_log_end(&face->call);

	if (face->passive || !face->kept)
		return cs_oci_verb_pass(face, ret_code, err);
	if (lock(face, err) < 0 || read_resources(cs_oci_flag(&face->call, "resources"), &resources, err) < 0 ||
	    cs_foreign_read_config(&face->foreign, &config, err) < 0 ||
	    update(face, config, resources, ret_code, err) < 0)
		return -1;
	if (*ret_code != 0)
		cs_oci_face_complete(face, from, *ret_code, NULL);
	return 0;
}
