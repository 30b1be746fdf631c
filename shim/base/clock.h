/*
 * Time as int64_t nanoseconds: monotonic for deadlines, wall for people.
 */
#ifndef CS_BASE_CLOCK_H
#define CS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CS_NSEC_PER_SEC INT64_C(1000000000)
#define CS_NSEC_PER_MSEC INT64_C(1000000)
#define CS_NSEC_PER_USEC INT64_C(1000)

/* No deadline: later than every moment. */
#define CS_NEVER INT64_MAX

/* CLOCK_MONOTONIC: goes on while we are stopped, not while the host sleeps. */
int64_t cs_clock_now_ns(void);

/* CLOCK_REALTIME since the epoch. */
int64_t cs_clock_wall_ns(void);

/* now + timeout, CS_NEVER when timeout is CS_NEVER or the sum would overflow. */
int64_t cs_clock_deadline_ns(int64_t timeout_ns);

/* deadline - now, never below 0; CS_NEVER stays. */
int64_t cs_clock_left_ns(int64_t deadline_ns);

/* What is left as ppoll(2) takes it: ts filled, or NULL for CS_NEVER. */
struct timespec *cs_clock_left(int64_t deadline_ns, struct timespec *ts);

/* "2026-01-31T12:34:56.123456789Z" (RFC 3339, UTC) of a wall time. */
#define CS_CLOCK_TEXT 40
char *cs_clock_rfc3339(int64_t wall_ns, char text[static CS_CLOCK_TEXT]);

/*
 * For the few states that the kernel gives no event for: sleeps for *step_ns,
 * but not past the deadline, and doubles *step_ns up to 5 ms. Start with CS_NAP_NS.
 */
#define CS_NAP_NS (200 * INT64_C(1000))
void cs_clock_nap(int64_t *step_ns, int64_t deadline_ns);

#endif
