/*
 * events: the engine's, but for one that has no such verb (crun): then
 * `events --stats` is told from the cgroup, in runc's form.
 */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "oci-spec/state.h"
#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/oci/verbs.h"
#include "shim/sys/cgroup.h"

/* ,"KEY":N; what is unknown or unlimited is left out, as Go's omitempty does. */
static void add_number(struct cs_buf *out, const char *before, const char *key, uint64_t number)
{
	if (number != UINT64_MAX)
		cs_buf_addf(out, "%s\"%s\":%" PRIu64, before, key, number);
}

static uint64_t limit_of(const struct cs_cgroup *cgroup, const char *controller, const char *v1, const char *v2)
{
	uint64_t limit;

	return cs_cgroup_limit(cgroup, controller, v1, v2, &limit) < 0 ? UINT64_MAX : limit;
}

/* One line as runc prints it (types/events.go). */
static void add_stats(const struct cs_cgroup *cgroup, const char *id, struct cs_buf *out)
{
	struct cs_cgroup_usage usage;

	cs_cgroup_usage(cgroup, &usage);
	cs_buf_addf(out, "{\"type\":\"stats\",\"id\":\"%s\",\"data\":{\"cpu\":{\"usage\":{\"total\":%" PRIu64, id,
		    usage.cpu_total_ns == UINT64_MAX ? 0 : usage.cpu_total_ns);
	add_number(out, ",", "kernel", usage.cpu_system_ns == UINT64_MAX ? 0 : usage.cpu_system_ns);
	add_number(out, ",", "user", usage.cpu_user_ns == UINT64_MAX ? 0 : usage.cpu_user_ns);
	cs_buf_addf(out, "},\"throttling\":{}},\"cpuset\":{},\"memory\":{\"usage\":{\"failcnt\":0");
	add_number(out, ",", "limit", limit_of(cgroup, "memory", "memory.limit_in_bytes", "memory.max"));
	add_number(out, ",", "usage", usage.memory_bytes);
	add_number(out, ",", "max", usage.memory_peak_bytes);
	cs_buf_adds(out, "},\"swap\":{\"failcnt\":0},\"kernel\":{\"failcnt\":0},\"kernelTCP\":{\"failcnt\":0}},\"pids\":{\"current\":");
	cs_buf_addf(out, "%" PRIu64, usage.pids == UINT64_MAX ? 0 : usage.pids);
	add_number(out, ",", "limit", limit_of(cgroup, "pids", "pids.max", "pids.max"));
	cs_buf_adds(out, "},\"blkio\":{},\"hugetlb\":{},\"intel_rdt\":{},\"network_interfaces\":null}}\n");
}

/* The group of init, by what the engine's `state` says. */
static int open_group(struct cs_oci_face *face, struct cs_cgroup **ret, struct cs_err *err)
{
	cs_auto(buf) said = CS_BUF_INIT(1 << 20);
	cs_auto(state) state = { 0 };
	struct cs_cgroup_host host;
	int code = 0;

	if (cs_oci_ask_state(face, &said, &code, err) < 0)
		return -1;
	if (code != 0)
		return cs_fail(err, CS_ENGINE, 0, "container '%s' does not exist", cs_oci_id(&face->call));
	if (cs_state_parse(said.data ? said.data : "", said.len, &state, err) < 0)
		return -1;
	if (state.pid <= 0)
		return cs_fail(err, CS_STATE, 0, "container with id %s is not running", cs_oci_id(&face->call));
	return cs_cgroup_host_read(&host, err) < 0 ? -1 : cs_cgroup_open_of_pid(&host, state.pid, ret, err);
}

int cs_oci_verb_events(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	cs_auto(buf) line = CS_BUF_INIT(4096);
	struct cs_cgroup *cgroup;
	int r;

	if (!face->engine.kind->lacks_events)
		return cs_oci_verb_pass(face, ret_code, err);
	if (!cs_oci_switch(&face->call, "stats"))
		return cs_fail(err, CS_UNSUPPORTED, 0, "events: %s has none; --stats alone can be told", face->engine.kind->name);
	if (open_group(face, &cgroup, err) < 0)
		return -1;
	add_stats(cgroup, cs_oci_id(&face->call), &line);
	cs_cgroup_free(cgroup);
	r = line.failed ? -ENOMEM : cs_fd_write_all(STDOUT_FILENO, line.data, line.len);
	*ret_code = 0;
	return r < 0 ? cs_fail(err, CS_IO, -r, "stdout") : 0;
}
