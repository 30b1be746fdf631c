/*
 * OOM: the event descriptor, and whose limit it was.
 *
 * v2 counts `oom` in memory.events of the group whose limit could not be kept
 * and of all above it, `oom_kill` in that of the victim's group and all above.
 * So an OOM kill in our group without an `oom` in it (which includes those
 * below) came from further up: an ancestor's limit, or the host's memory.
 *
 * v1 has no `oom` counter, its notification goes to all groups below the one
 * that was full, and its counters of failed charges do not serve: they rise
 * with every reclaim, and memory.memsw.failcnt stays 0 on Linux 6.18 (seen).
 * But a group that was out of memory was full to the last page, and the peak
 * shows that: an OOM kill while no peak of our group or of one below has come
 * up to its limit was an ancestor's. A group that filled its own limit (with
 * page cache, say) and was then hit by an ancestor's OOM counts as own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/sys/cgroup_int.h"

/*
 * How far below its limit a full group's peak may end, in pages: the charge
 * that failed may have asked for several at once (kernel stacks, slabs).
 */
#define FULL_SLACK_PAGES 16

static bool was_full(int dir_fd, const char *limit_file, const char *peak_file)
{
	uint64_t slack = FULL_SLACK_PAGES * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t peak = cs_cgroup_file_number(dir_fd, peak_file, CS_CGROUP_NUMBER, NULL);
	cs_auto(buf) text = CS_BUF_INIT(4096);
	uint64_t limit;

	if (peak == UINT64_MAX || cs_file_read(dir_fd, limit_file, &text) < 0 || text.len == 0 ||
	    cs_cgroup_text_limit(text.data, &limit) < 0 || limit == UINT64_MAX)
		return false;
	return peak + slack >= limit;
}

static int count_full(int dir_fd, void *arg)
{
	uint64_t *full = arg;

	*full += was_full(dir_fd, "memory.limit_in_bytes", "memory.max_usage_in_bytes") ||
		 was_full(dir_fd, "memory.memsw.limit_in_bytes", "memory.memsw.max_usage_in_bytes");
	return 0;
}

void cs_cgroup_oom_read(const struct cs_cgroup *cgroup, struct cs_cgroup_oom_state *ret)
{
	static const struct cs_cgroup_visitor visitor = { .enter = count_full };
	const struct cs_cgroup_dir *dir = cs_cgroup_dir_of(cgroup, "memory");

	*ret = (struct cs_cgroup_oom_state){ UINT64_MAX, UINT64_MAX };
	if (dir == NULL)
		return;
	ret->kills = cs_cgroup_oom_kills(cgroup);
	if (dir->mount.v2) {
		ret->own = cs_cgroup_file_number(dir->fd, "memory.events", CS_CGROUP_KEY, "oom");
	} else {
		ret->own = 0;
		if (cs_cgroup_walk(dir->fd, &visitor, &ret->own) < 0)
			ret->own = UINT64_MAX;
	}
}

int cs_cgroup_oom_judge(bool v2, const struct cs_cgroup_oom_state *before,
			const struct cs_cgroup_oom_state *now)
{
	if (now->kills == UINT64_MAX || now->own == UINT64_MAX || before->kills == UINT64_MAX ||
	    before->own == UINT64_MAX || now->kills <= before->kills)
		return -ENODATA;
	return v2 ? now->own <= before->own : now->own == 0;
}

int cs_cgroup_oom_is_ancestors(const struct cs_cgroup *cgroup)
{
	struct cs_cgroup_oom_state now;

	cs_cgroup_oom_read(cgroup, &now);
	return cs_cgroup_oom_judge(cs_cgroup_is_v2(cgroup), &cgroup->oom_at_open, &now);
}

/* --- events ------------------------------------------------------------- */

/* v1: "EVENT_FD FILE_FD" into cgroup.event_control (cgroup-v1/memory.rst, section 10). */
static int open_eventfd(int dir_fd, int *ret_fd)
{
	cs_autofd int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	cs_autofd int control = openat(dir_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	char text[64];
	int r;

	if (event < 0 || control < 0)
		return -errno;
	snprintf(text, sizeof(text), "%d %d", event, control);
	r = cs_file_put(dir_fd, "cgroup.event_control", text);
	if (r < 0)
		return r;
	*ret_fd = cs_take_fd(&event);
	return 0;
}

/* v2: memory.events raises POLLPRI for what happened after the last read of it. */
static int open_events(int dir_fd, int *ret_fd)
{
	cs_autofd int fd = openat(dir_fd, "memory.events", O_RDONLY | O_CLOEXEC);
	char text[512];

	if (fd < 0 || pread(fd, text, sizeof(text), 0) < 0)
		return -errno;
	*ret_fd = cs_take_fd(&fd);
	return 0;
}

int cs_cgroup_oom_fd(const struct cs_cgroup *cgroup, int *ret_fd, uint32_t *ret_events)
{
	const struct cs_cgroup_dir *dir = cs_cgroup_dir_of(cgroup, "memory");
	int r;

	if (dir == NULL)
		return -ENOENT;
	r = dir->mount.v2 ? open_events(dir->fd, ret_fd) : open_eventfd(dir->fd, ret_fd);
	if (r < 0)
		return r;
	*ret_events = dir->mount.v2 ? EPOLLPRI : EPOLLIN;
	return 0;
}
