#include "shim/sys/reaper.h"

#include "shim/base/fd.h"
#include "tests/unit/sys/children.h"

START_TEST(sweep_takes_strangers_and_leaves_known_children)
{
	struct cs_pidref child[5];
	pid_t known[2];

	for (size_t i = 0; i < CS_ARRAY_LEN(child); i++) {
		child[i] = exiting_child((int)i);
		ck_assert_int_eq(cs_pidref_wait_dead(&child[i], patience()), 0);
	}
	/* the oldest is known, so that it hides the others from a peek */
	known[0] = child[0].pid;
	known[1] = child[3].pid;
	ck_assert_int_eq(cs_reaper_sweep(known, 2), 3);
	ck_assert_int_eq(cs_reaper_sweep(known, 2), 0);
	ck_assert_int_eq(finish(&child[0]), 0);
	ck_assert_int_eq(finish(&child[3]), 3 << 8);
	assert_no_children();
	cs_pidref_release(&child[1]);
	cs_pidref_release(&child[2]);
	cs_pidref_release(&child[4]);
}
END_TEST

START_TEST(sweep_does_not_wait_for_the_living)
{
	struct cs_pidref living = waiting_child(), dead = exiting_child(0);

	ck_assert_int_eq(cs_pidref_wait_dead(&dead, patience()), 0);
	ck_assert_int_eq(cs_reaper_sweep(NULL, 0), 1);
	ck_assert_int_eq(cs_reaper_sweep(NULL, 0), 0);
	ck_assert_int_eq(cs_pidref_kill(&living, SIGKILL), 0);
	ck_assert_int_eq(finish(&living), SIGKILL);
	ck_assert_int_eq(cs_reaper_sweep(NULL, 0), 0);
	cs_pidref_release(&dead);
}
END_TEST

/* Leaves a grandchild behind that waits for a signal, and tells its pid. */
static void leave_orphan(int fd)
{
	struct cs_pidref orphan = CS_PIDREF_INIT;
	int r = cs_spawn_fork(&orphan);

	while (r == 0)
		pause();
	if (r < 0 || cs_fd_write_all(fd, &orphan.pid, sizeof(orphan.pid)) < 0)
		_exit(1);
	_exit(0);
}

START_TEST(orphans_come_to_the_subreaper)
{
	struct cs_pidref parent = CS_PIDREF_INIT, orphan = CS_PIDREF_INIT, other;
	int fds[2], r, status;
	pid_t pid;

	ck_assert_int_eq(cs_reaper_become(), 0);
	for (int sweep = 0; sweep <= 1; sweep++) {
		ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
		r = cs_spawn_fork(&parent);
		if (r == 0)
			leave_orphan(fds[1]);
		ck_assert_int_eq(r, 1);
		ck_assert_int_eq(cs_fd_read_all(fds[0], &pid, sizeof(pid)), sizeof(pid));
		ck_assert_int_eq(finish(&parent), 0);
		ck_assert_int_eq(cs_pidref_open(pid, &orphan), 0);
		ck_assert_int_eq(cs_pidref_kill(&orphan, SIGKILL), 0);
		ck_assert_int_eq(cs_pidref_wait_dead(&orphan, patience()), 0);
		if (sweep) {
			other = exiting_child(9);
			ck_assert_int_eq(cs_reaper_sweep(&other.pid, 1), 1);
			ck_assert_int_eq(finish(&other), 9 << 8);
		} else {
			/* through its own pidfd it can be had as well */
			ck_assert_int_eq(cs_pidref_reap(&orphan, &status), 0);
			ck_assert_int_eq(status, SIGKILL);
		}
		assert_no_children();
		cs_pidref_release(&orphan);
		close(fds[0]);
		close(fds[1]);
	}
}
END_TEST

CS_UNIT_SUITE(reaper, sweep_takes_strangers_and_leaves_known_children,
	      sweep_does_not_wait_for_the_living, orphans_come_to_the_subreaper)
