/*
 * Tests of shim/sys that need root: cgroups, mounts, trees with what only root
 * can make. `root --list` names the cases, `root CASE` runs one: exit status
 * 0, 1 with the reason on stderr, or 77 when the kernel lacks what it is
 * about. sys.sh makes TAP of it.
 *
 * All groups are made below /caisson-cgtest-PID, all files in a directory of
 * that name below TMPDIR, all mounts in a mount namespace of the process; the
 * end of the program removes them, also after a failure.
 *
 * Paths that these functions return lie in static buffers that are used in
 * turn: good for a case, not for a loop.
 */
#ifndef CS_TESTS_E2E_SYS_TEST_H
#define CS_TESTS_E2E_SYS_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "shim/base/attr.h"
#include "shim/base/clock.h"
#include "shim/base/err.h"
#include "shim/sys/cgroup.h"

#define T_SKIPPED 77
#define T_MIB (UINT64_C(1) << 20)

struct t_case {
	const char *name; /* NULL ends a table */
	void (*run)(void);
};
extern const struct t_case t_cgroup_cases[], t_oom_cases[], t_mount_cases[], t_tree_cases[];

/* --- root.c ------------------------------------------------------------- */

extern struct cs_cgroup_host t_host;
extern char t_base[64];   /* "/caisson-cgtest-PID" */
extern char t_files[256]; /* the directory for files and mounts */

void t_die(const char *fmt, ...) CS_PRINTF(1, 2) CS_NORETURN;
void t_skip(const char *reason) CS_NORETURN;

#define need(condition) \
	do { \
		if (!(condition)) \
			t_die("%s:%d: %s", __FILE__, __LINE__, #condition); \
	} while (0)

#define need_int(call, wanted) \
	do { \
		long long got_ = (long long)(call), wanted_ = (long long)(wanted); \
		if (got_ != wanted_) \
			t_die("%s:%d: %s is %lld (%s), not %lld", __FILE__, __LINE__, #call, got_, \
			      got_ < 0 ? strerror((int)-got_) : "", wanted_); \
	} while (0)

#define need_ok(call, err) \
	do { \
		if ((call) < 0) \
			t_die("%s:%d: %s: %s", __FILE__, __LINE__, #call, (err).text); \
	} while (0)

/* A bound made for a quick machine, for this one. */
int64_t t_scaled_ns(int64_t ns);

/* The deadline in so many (scaled) seconds. */
int64_t t_in_s(int64_t s);

/* --- groups.c ----------------------------------------------------------- */

/* t_base + name. */
const char *t_group(const char *name);

/* Makes a group in every hierarchy. With `inner`, v2 controllers are handed on to those below. */
const char *t_make(const char *name, bool inner);

struct cs_cgroup *t_open_group(const char *path);

/* The caller goes into the group, in every hierarchy. */
void t_join(const char *path);

/* A child that joins the group and runs fn; returns when it has joined. It dies with us. */
pid_t t_start_in(const char *path, void (*fn)(void));

/* Reaps a child: its raw status. */
int t_wait_for(pid_t pid);

void t_sleep_for_ever(void) CS_NORETURN;

void t_set_limit(const struct cs_cgroup *cgroup, const char *controller, const char *v1, const char *v2,
		 const char *text);

/* Skips the case where the host does not have it. */
void t_need_controller(const char *name);

void t_kill_and_remove(struct cs_cgroup *cgroup);

/* --- files.c ------------------------------------------------------------ */

/* t_files + "/" + name. */
const char *t_in_files(const char *name);
const char *t_make_dir(const char *name);
void t_make_file(const char *path);

/* t_files opened, in the mount namespace of now. */
int t_files_fd(void);

unsigned t_mounts_below(const char *prefix);
void t_new_namespace(void);

#endif
