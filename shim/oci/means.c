/* What create and exec have in common. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "oci-spec/spec.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/parse.h"
#include "shim/engine/engine_call.h"
#include "shim/oci/verbs.h"
#include "shim/sys/mount.h"

int cs_oci_prepare_mounts(const struct cs_oci_face *face, const struct cs_json *config, struct cs_err *err)
{
	struct cs_cgroup_host host;

	if (!face->engine.kind->hide_unified || (config && !cs_spec_namespace(config, CS_NS_MOUNT)))
		return 0;
	if (cs_cgroup_host_read(&host, err) < 0)
		return -1;
	return cs_mount_leave_unified(&host, err);
}

int cs_oci_memory_file(const struct cs_json *json, char path[static CS_OCI_MEMORY_PATH], int *ret_fd, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	cs_autofd int fd = memfd_create("caisson", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return cs_fail(err, CS_IO, errno, "memory file");
	if (cs_json_write(json, CS_JSON_COMPACT, &text, err) < 0)
		return -1;
	r = cs_fd_write_all(fd, text.data, text.len);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "memory file");
	snprintf(path, CS_OCI_MEMORY_PATH, "/proc/%d/fd/%d", (int)getpid(), fd);
	*ret_fd = cs_take_fd(&fd);
	return 0;
}

/* The host's number of one inside, by the rows of uidMappings or gidMappings; itself where no row has it. */
static uint64_t mapped(const struct cs_json *rows, uint64_t inside)
{
	const struct cs_json *row;

	cs_json_each(row, rows) {
		uint64_t container, host, size;

		if (cs_json_get_u64(cs_json_member(row, "containerID"), &container) == 0 &&
		    cs_json_get_u64(cs_json_member(row, "hostID"), &host) == 0 &&
		    cs_json_get_u64(cs_json_member(row, "size"), &size) == 0 && inside >= container &&
		    inside - container < size)
			return host + (inside - container);
	}
	return inside;
}

void cs_oci_owner(const struct cs_json *config, const struct cs_json *process, uid_t *ret_uid, gid_t *ret_gid)
{
	bool own = cs_spec_namespace(config, CS_NS_USER) != NULL;
	uint64_t uid = 0, gid = 0;

	if (cs_json_get_u64(cs_json_get(process, "user.uid"), &uid) < 0)
		uid = 0;
	if (cs_json_get_u64(cs_json_get(process, "user.gid"), &gid) < 0)
		gid = 0;
	*ret_uid = (uid_t)(own ? mapped(cs_json_get(config, "linux.uidMappings"), uid) : uid);
	*ret_gid = (gid_t)(own ? mapped(cs_json_get(config, "linux.gidMappings"), gid) : gid);
}

int64_t cs_oci_timeout_ns(const struct cs_oci_face *face)
{
	static const struct {
		bool bounded;
		enum cs_verb verb; /* whose time it is */
	} rows[CS_OCI_VERBS] = {
		[CS_OCI_CREATE] = { true, CS_VERB_CREATE },     [CS_OCI_START] = { true, CS_VERB_START },
		[CS_OCI_STATE] = { true, CS_VERB_STATE },       [CS_OCI_KILL] = { true, CS_VERB_KILL },
		[CS_OCI_DELETE] = { true, CS_VERB_DELETE },     [CS_OCI_PAUSE] = { true, CS_VERB_PAUSE },
		[CS_OCI_RESUME] = { true, CS_VERB_RESUME },     [CS_OCI_PS] = { true, CS_VERB_PS },
		[CS_OCI_UPDATE] = { true, CS_VERB_UPDATE },     [CS_OCI_LIST] = { true, CS_VERB_STATE },
		[CS_OCI_FEATURES] = { true, CS_VERB_FEATURES },
	};

	if (!rows[face->call.verb].bounded)
		return CS_NEVER;
	return cs_engine_timeout_ns(rows[face->call.verb].verb, face->tree.values.engine_timeout_ns);
}

struct cs_attendant_plan cs_oci_attendant_plan(const struct cs_oci_face *face, const struct cs_json *config,
					       const struct cs_json *process)
{
	struct cs_attendant_plan plan = {
		.id = face->foreign.facts.id,
		.engine_root = face->foreign.facts.root,
		.engine_name = face->engine.kind->name,
		.engine_version = face->engine.version,
		.hold_end = !face->engine.kind->own_kernel,
		.state_dir = face->tree.values.state_dir,
		.dir_fd = face->foreign.dir_fd,
		.dir_path = face->foreign.path,
		.stdout_fd = STDOUT_FILENO,
		.stderr_fd = STDERR_FILENO,
		.console_socket = cs_oci_flag(&face->call, "console-socket"),
	};

	if (cs_json_get_bool(cs_json_member(process, "terminal"), &plan.terminal) < 0)
		plan.terminal = false;
	cs_oci_owner(config, process, &plan.uid, &plan.gid);
	return plan;
}

int cs_oci_run_attended(const struct cs_oci_face *face, enum cs_verb verb, struct cs_attendant_stdio *stdio, int *ret_code,
			struct cs_err *err)
{
	const int fds[] = {
		STDIN_FILENO,
		stdio->out_fd >= 0 ? stdio->out_fd : STDOUT_FILENO,
		stdio->err_fd >= 0 ? stdio->err_fd : STDERR_FILENO,
	};
	struct cs_oci_run run = {
		.stdio = fds,
		.own_group = true,
		.timeout_ns = cs_engine_timeout_ns(verb, face->tree.values.engine_timeout_ns),
	};

	if (cs_oci_face_run(face, &run, ret_code, err) < 0)
		return -1;
	cs_close_fd(&stdio->out_fd);
	cs_close_fd(&stdio->err_fd);
	return *ret_code == 0 ? 0 : 1;
}
