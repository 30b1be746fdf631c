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

int cs_oci_hold_process(const char *pid_file, struct cs_pidref *ret, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(64);
	int64_t pid;
	int r = cs_file_read(AT_FDCWD, pid_file, &text);

	if (r < 0)
		return cs_fail(err, CS_ENGINE, -r, "the engine left no pid file");
	while (text.len > 0 && strchr(" \n\r\t", text.data[text.len - 1]))
		text.data[--text.len] = '\0';
	if (text.len == 0 || cs_parse_i64(text.data, &pid) < 0 || pid < 2 || pid > INT32_MAX)
		return cs_fail(err, CS_ENGINE, 0, "the engine left a pid file that holds no pid");
	/* we are the subreaper: alive or dead, it is our child */
	r = cs_pidref_open((pid_t)pid, ret);
	return r < 0 ? cs_fail(err, CS_ENGINE, -r, "process %d", (int)pid) : 0;
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
