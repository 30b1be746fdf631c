/* Mounts: what is made, what is detached. */
#include "tests/e2e/sys/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/sys/mount.h"
#include "shim/sys/mountinfo.h"

/* Of the mount at that very point. */
static bool has_option(const char *point, const char *option)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_MOUNTINFO_MAX);
	struct cs_mountinfo row;
	bool has = false;
	char *cursor;

	need_int(cs_mountinfo_read(&text), 0);
	cursor = text.data;
	while (cs_mountinfo_next(&cursor, &row) > 0) {
		if (strcmp(row.point, point) == 0)
			has = cs_mountinfo_has_option(row.options, option);
	}
	return has;
}

static void case_mount_tmpfs(void)
{
	struct cs_err err = CS_ERR_INIT;
	const char *path = t_make_dir("a tmpfs");
	char name[PATH_MAX], data[4096] = { 0 };
	unsigned n = 0;
	int fd;

	t_new_namespace();
	need_ok(cs_mount_tmpfs(path, T_MIB, 10, 0700, MS_NOSUID | MS_NODEV, &err), err);
	snprintf(name, sizeof(name), "%s/f", path);
	fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		t_die("create %s: %s", name, strerror(errno));
	while (write(fd, data, sizeof(data)) == (ssize_t)sizeof(data))
		n++;
	need(errno == ENOSPC && n == T_MIB / sizeof(data));
	close(fd);
	for (n = 0; n < 20; n++) {
		snprintf(name, sizeof(name), "%s/%u", path, n);
		fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			break;
		close(fd);
	}
	need(n == 8); /* 10 with the root and f */
	need(has_option(path, "nosuid") && has_option(path, "nodev") && !has_option(path, "noexec"));
	need(cs_mount_tmpfs(t_in_files("nowhere"), 0, 0, 0755, 0, &err) < 0 && err.kind == CS_NOT_FOUND);
}

static void case_mount_overlay(void)
{
	static const char *const odd[] = { "plain", "co,mma:colon\\back\\,slash", "new\nline \"quote\" \\072" };
	struct cs_err err = CS_ERR_INIT;

	t_new_namespace();
	need_ok(cs_mount_tmpfs(t_files, 0, 0, 0755, 0, &err), err);
	for (size_t i = 0; i < CS_ARRAY_LEN(odd); i++) {
		char dirs[4][PATH_MAX], seen[PATH_MAX + 8];

		for (size_t k = 0; k < 4; k++) {
			snprintf(dirs[k], sizeof(dirs[k]), "%s/%s%zu%0200d", t_files, odd[i], k, 0);
			need(mkdir(dirs[k], 0755) == 0);
		}
		snprintf(seen, sizeof(seen), "%s/low", dirs[0]);
		t_make_file(seen);
		if (cs_mount_overlay(dirs[3], dirs[0], dirs[1], dirs[2], &err) < 0) {
			if (err.errnum != ENODEV)
				t_die("%s", err.text);
			t_skip("no overlay here");
		}
		snprintf(seen, sizeof(seen), "%s/low", dirs[3]);
		need(access(seen, F_OK) == 0);
		snprintf(seen, sizeof(seen), "%s/high", dirs[3]);
		t_make_file(seen);
		snprintf(seen, sizeof(seen), "%s/high", dirs[1]);
		need(access(seen, F_OK) == 0);
		snprintf(seen, sizeof(seen), "%s/high", dirs[0]);
		need(access(seen, F_OK) < 0);
	}
	need(cs_mount_overlay(t_files, t_in_files("nowhere"), t_files, t_files, &err) < 0 && err.kind == CS_NOT_FOUND);
}

static void case_mount_detach_all(void)
{
	struct cs_err err = CS_ERR_INIT;
	const char *path = t_make_dir("with space\tand \\tab");
	const char *neighbour = t_make_dir("with space\tand \\tab2");
	char inner[PATH_MAX];

	t_new_namespace();
	need_ok(cs_mount_tmpfs(neighbour, 0, 0, 0755, 0, &err), err);
	need_ok(cs_mount_detach_all(path, &err), err);
	need_ok(cs_mount_tmpfs(path, 0, 0, 0755, 0, &err), err);
	need_ok(cs_mount_tmpfs(path, 0, 0, 0755, 0, &err), err);
	snprintf(inner, sizeof(inner), "%s/in ner", path);
	need(mkdir(inner, 0755) == 0);
	need_ok(cs_mount_tmpfs(inner, 0, 0, 0755, 0, &err), err);
	need(chdir(inner) == 0); /* busy */
	need_int(t_mounts_below(path), 3);
	need_ok(cs_mount_detach_all(path, &err), err);
	need_int(t_mounts_below(path), 0);
	need_int(t_mounts_below(neighbour), 1);
	need_ok(cs_mount_detach_all(t_in_files("nowhere"), &err), err);
	need(cs_mount_detach_all("/", &err) < 0 && err.kind == CS_INVALID);
	cs_err_clear(&err);
	need(cs_mount_detach_all("relative", &err) < 0 && err.kind == CS_INVALID);
	need(chdir("/") == 0);
}

static void hide_unified(void)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup_host told = t_host, now;
	const char *aside = t_make_dir("aside");

	t_new_namespace();
	need_ok(cs_mount_hide_unified(&told, aside, &err), err);
	need_ok(cs_mount_tmpfs(aside, 0, 0, 0755, 0, &err), err);
	need_ok(cs_cgroup_host_read(&now, &err), err);
	need_int(now.layout, CS_CGROUP_V1);
	need_int(now.n, t_host.n - 1);
	need_int(told.layout, now.layout);
	need_int(told.n, now.n);
	for (size_t i = 0; i < now.n; i++)
		need(strcmp(told.mounts[i].point, now.mounts[i].point) == 0);
	need_ok(cs_mount_hide_unified(&told, aside, &err), err);
}

static void case_mount_hide_unified(void)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup_host host = t_host;
	unsigned before = t_mounts_below("/");
	pid_t pid;

	if (t_host.layout != CS_CGROUP_HYBRID) {
		need_ok(cs_mount_hide_unified(&host, "/", &err), err);
		need_int(t_mounts_below("/"), before);
		return;
	}
	/* in the namespace that pid 1 has, it must refuse; where that cannot be told, this is no place to try */
	if (access("/proc/1/ns/mnt", F_OK) == 0)
		need(cs_mount_hide_unified(&host, "/", &err) < 0 && err.kind == CS_STATE);
	pid = fork();
	need(pid >= 0);
	if (pid == 0) {
		hide_unified();
		_exit(0);
	}
	need_int(t_wait_for(pid), 0);
	need_int(t_mounts_below("/"), before);
}

const struct t_case t_mount_cases[] = {
	{ "mount-tmpfs", case_mount_tmpfs },
	{ "mount-overlay", case_mount_overlay },
	{ "mount-detach-all", case_mount_detach_all },
	{ "mount-hide-unified", case_mount_hide_unified },
	{ NULL, NULL },
};
