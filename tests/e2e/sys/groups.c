#include "tests/e2e/sys/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/file.h"

const char *t_group(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % CS_ARRAY_LEN(paths)];

	snprintf(path, sizeof(paths[0]), "%s%s", t_base, name);
	return path;
}

static void put_in(const struct cs_cgroup_mount *mount, const char *path, const char *file,
		   const char *text)
{
	char full[PATH_MAX];
	int r;

	snprintf(full, sizeof(full), "%s%s/%s", mount->point, path, file);
	r = cs_file_put(AT_FDCWD, full, text);
	if (r < 0)
		t_die("write '%s' to %s: %s", text, full, strerror(-r));
}

/* v1's cpuset takes nobody in before it has processors and memory nodes. */
static void inherit(const struct cs_cgroup_mount *mount, const char *path, const char *file)
{
	cs_auto(buf) text = CS_BUF_INIT(4096);
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%.*s/%s", mount->point, (int)(strrchr(path, '/') - path), path, file);
	need_int(cs_file_read(AT_FDCWD, full, &text), 0);
	put_in(mount, path, file, text.data);
}

const char *t_make(const char *name, bool inner)
{
	static const char *const controllers[] = { "cpu", "memory", "pids", "io" };
	static const char *const sets[] = { "cpuset.cpus", "cpuset.mems" };
	const char *path = t_group(name);

	for (size_t i = 0; i < t_host.n; i++) {
		const struct cs_cgroup_mount *mount = &t_host.mounts[i];
		char full[PATH_MAX];

		snprintf(full, sizeof(full), "%s%s", mount->point, path);
		if (mkdir(full, 0755) < 0 && errno != EEXIST)
			t_die("mkdir %s: %s", full, strerror(errno));
		for (size_t c = 0; c < CS_ARRAY_LEN(sets) && strstr(mount->controllers, ",cpuset,") != NULL &&
				   !mount->v2;
		     c++)
			inherit(mount, path, sets[c]);
		for (size_t c = 0; c < CS_ARRAY_LEN(controllers) && inner && mount->v2; c++) {
			char text[32];

			snprintf(text, sizeof(text), "+%s", controllers[c]);
			if (strstr(mount->controllers, controllers[c]) != NULL)
				put_in(mount, path, "cgroup.subtree_control", text);
		}
	}
	return path;
}

struct cs_cgroup *t_open_group(const char *path)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup *cgroup;

	need_ok(cs_cgroup_open(&t_host, path, &cgroup, &err), err);
	return cgroup;
}

void t_join(const char *path)
{
	for (size_t i = 0; i < t_host.n; i++)
		put_in(&t_host.mounts[i], path, "cgroup.procs", "0");
}

pid_t t_start_in(const char *path, void (*fn)(void))
{
	int ready[2];
	char byte;
	pid_t pid;

	need(pipe(ready) == 0);
	pid = fork();
	need(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		t_join(path);
		need(write(ready[1], "", 1) == 1);
		close(ready[0]);
		close(ready[1]);
		fn();
		_exit(0);
	}
	close(ready[1]);
	need(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	return pid;
}

int t_wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		need(errno == EINTR);
	return status;
}

void t_sleep_for_ever(void)
{
	for (;;)
		pause();
}

void t_set_limit(const struct cs_cgroup *cgroup, const char *controller, const char *v1, const char *v2,
		 const char *text)
{
	int r = cs_cgroup_write(cgroup, controller, cs_cgroup_is_v2(cgroup) ? v2 : v1, text);

	if (r < 0)
		t_die("set %s of %s: %s", v2, cs_cgroup_path(cgroup), strerror(-r));
}

void t_need_controller(const char *name)
{
	if (!cs_cgroup_host_has(&t_host, name)) {
		char text[64];

		snprintf(text, sizeof(text), "no %s controller", name);
		t_skip(text);
	}
}

void t_kill_and_remove(struct cs_cgroup *cgroup)
{
	char path[256];

	snprintf(path, sizeof(path), "%s", cs_cgroup_path(cgroup));
	need_int(cs_cgroup_kill(cgroup, t_in_s(5)), 0);
	cs_cgroup_free(cgroup);
	need_int(cs_cgroup_remove(&t_host, path, t_in_s(5), NULL), 0);
}
