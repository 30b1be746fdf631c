#include "shim/base/clock.h"

#include <stdio.h>
#include <time.h>

#include "shim/base/attr.h"

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * CS_NSEC_PER_SEC + ts.tv_nsec;
}

int64_t cs_clock_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t cs_clock_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t cs_clock_deadline_ns(int64_t timeout_ns)
{
	int64_t deadline;

	if (timeout_ns == CS_NEVER || __builtin_add_overflow(cs_clock_now_ns(), timeout_ns, &deadline))
		return CS_NEVER;
	return deadline;
}

int64_t cs_clock_left_ns(int64_t deadline_ns)
{
	int64_t now;

	if (deadline_ns == CS_NEVER)
		return CS_NEVER;
	now = cs_clock_now_ns();
	return deadline_ns > now ? deadline_ns - now : 0;
}

struct timespec *cs_clock_left(int64_t deadline_ns, struct timespec *ts)
{
	int64_t left_ns = cs_clock_left_ns(deadline_ns);

	if (left_ns == CS_NEVER)
		return NULL;
	*ts = (struct timespec){ .tv_sec = left_ns / CS_NSEC_PER_SEC, .tv_nsec = left_ns % CS_NSEC_PER_SEC };
	return ts;
}

char *cs_clock_rfc3339(int64_t wall_ns, char text[static CS_CLOCK_TEXT])
{
	time_t seconds = wall_ns / CS_NSEC_PER_SEC;
	long nanos = wall_ns % CS_NSEC_PER_SEC;
	struct tm tm;
	size_t n;

	if (nanos < 0) { /* before the epoch: division cuts towards 0 */
		nanos += CS_NSEC_PER_SEC;
		seconds--;
	}
	gmtime_r(&seconds, &tm);
	n = strftime(text, CS_CLOCK_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, CS_CLOCK_TEXT - n, ".%09ldZ", nanos);
	return text;
}

void cs_clock_nap(int64_t *step_ns, int64_t deadline_ns)
{
	int64_t ns = CS_MIN(*step_ns, cs_clock_left_ns(deadline_ns));
	struct timespec ts = { .tv_sec = ns / CS_NSEC_PER_SEC, .tv_nsec = ns % CS_NSEC_PER_SEC };

	nanosleep(&ts, NULL);
	*step_ns = CS_MIN(*step_ns * 2, 5 * CS_NSEC_PER_MSEC);
}
