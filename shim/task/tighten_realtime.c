/*
 * Real-time scheduling: what runs under SCHED_FIFO, SCHED_RR or SCHED_DEADLINE
 * is not held by cpu.max or cpu.cfs_quota_us (sched(7);
 * Documentation/scheduler/sched-bwc.rst), and an engine sets the policy as root,
 * whatever the program itself may do. So where CPUs are bounded there is none.
 */
#include <string.h>

#include "oci-spec/json_edit.h"
#include "shim/task/tighten_int.h"

static int take_out(const struct cs__tighten *t, const char *path)
{
	if (!cs__tighten_get(t, path))
		return 0;
	cs__tighten_note(t, "%s: none, CPUs are bounded", path);
	return cs_json_remove(t->root, path + t->strip, t->err);
}

static bool is_fair(const char *policy)
{
	static const char *const fair[] = { "SCHED_OTHER", "SCHED_BATCH", "SCHED_IDLE" };

	for (size_t i = 0; policy && i < CS_ARRAY_LEN(fair); i++)
		if (strcmp(policy, fair[i]) == 0)
			return true;
	return false;
}

int cs__tighten_realtime(const struct cs__tighten *t)
{
	if (t->settings->millicpus == CS_UNLIMITED)
		return 0;
	if (t->what != CS__TIGHTEN_RESOURCES) {
		const struct cs_json *scheduler = cs__tighten_get(t, "process.scheduler");

		if (scheduler && !is_fair(cs_json_string(cs_json_member(scheduler, "policy"))) &&
		    take_out(t, "process.scheduler") < 0)
			return -1;
	}
	if (t->what == CS__TIGHTEN_PROCESS)
		return 0;
	return take_out(t, "linux.resources.cpu.realtimeRuntime") < 0 ? -1 : take_out(t, "linux.resources.cpu.realtimePeriod");
}
