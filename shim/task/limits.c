#include "shim/task/limits.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/clock.h"

/* No CPU look comes sooner after the last: below it the look costs more than it finds. */
#define CPU_LOOK_NS (2 * CS_NSEC_PER_MSEC)

struct cs_limits {
	struct cs_loop *loop;
	struct cs_limits_plan plan;
	cs_limits_fn *fn;
	void *arg;
	struct cs_source wall, cpu, idle;
};

static void on_wall(struct cs_loop *loop CS_UNUSED, void *arg)
{
	struct cs_limits *limits = arg;

	limits->fn(CS_REASON_WALL_LIMIT, limits->arg);
}

/* The soonest moment at which what is left can be used up. */
static int64_t cpu_next(const struct cs_limits *limits, int64_t left_ns)
{
	uint64_t millicpus = limits->plan.millicpus;

	if (millicpus == UINT64_MAX)
		millicpus = 1000 * UINT64_C(64);
	return cs_clock_deadline_ns(CS_MAX((int64_t)((uint64_t)left_ns / CS_MAX(millicpus, 1U) * 1000), CPU_LOOK_NS));
}

static void on_cpu(struct cs_loop *loop, void *arg)
{
	struct cs_limits *limits = arg;
	uint64_t total = cs_cgroup_cpu_ns(limits->plan.cgroup);
	int64_t used;

	if (total == UINT64_MAX) {
		/* no counter: RLIMIT_CPU of each process is what is left */
		cs_loop_set_timer(loop, limits->cpu, CS_NEVER);
		return;
	}
	used = total > limits->plan.cpu_base_ns ? (int64_t)(total - limits->plan.cpu_base_ns) : 0;
	if (used >= limits->plan.cpu_time_ns) {
		cs_loop_set_timer(loop, limits->cpu, CS_NEVER);
		limits->fn(CS_REASON_CPU_LIMIT, limits->arg);
		return;
	}
	cs_loop_set_timer(loop, limits->cpu, cpu_next(limits, limits->plan.cpu_time_ns - used));
}

static void on_idle(struct cs_loop *loop, void *arg)
{
	struct cs_limits *limits = arg;
	int64_t last = CS_MAX(cs_streams_last_byte_ns(limits->plan.streams), limits->plan.start_ns);
	int64_t due = last + limits->plan.idle_timeout_ns;

	if (cs_clock_now_ns() < due) {
		cs_loop_set_timer(loop, limits->idle, due);
		return;
	}
	limits->fn(CS_REASON_IDLE_LIMIT, limits->arg);
}

int cs_limits_new(struct cs_loop *loop, const struct cs_limits_plan *plan, cs_limits_fn *fn,
		  void *arg, struct cs_limits **ret, struct cs_err *err)
{
	struct cs_limits *limits = calloc(1, sizeof(*limits));
	int64_t wall, idle;
	int r;

	if (!limits)
		return cs_fail(err, CS_LIMIT, ENOMEM, "limits");
	*limits = (struct cs_limits){ .loop = loop, .plan = *plan, .fn = fn, .arg = arg };
	if (__builtin_add_overflow(plan->start_ns, plan->timeout_ns, &wall))
		wall = CS_NEVER;
	if (__builtin_add_overflow(plan->start_ns, plan->idle_timeout_ns, &idle))
		idle = CS_NEVER;
	r = cs_loop_add_timer(loop, wall, on_wall, limits, &limits->wall);
	if (r == 0)
		r = cs_loop_add_timer(loop, plan->cpu_time_ns == CS_NEVER ? CS_NEVER : cpu_next(limits, plan->cpu_time_ns),
				      on_cpu, limits, &limits->cpu);
	if (r == 0)
		r = cs_loop_add_timer(loop, idle, on_idle, limits, &limits->idle);
	if (r < 0) {
		cs_limits_free(limits);
		return cs_fail(err, CS_IO, -r, "limits");
	}
	*ret = limits;
	return 0;
}

void cs_limits_free(struct cs_limits *limits)
{
	if (!limits)
		return;
	cs_loop_remove(limits->loop, &limits->wall);
	cs_loop_remove(limits->loop, &limits->cpu);
	cs_loop_remove(limits->loop, &limits->idle);
	free(limits);
}
