/* The program: failing, time, the table of tables, cleaning up. */
#include "tests/e2e/sys/test.h"

#include <fcntl.h>

#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/parse.h"
#include "shim/sys/mount.h"
#include "shim/sys/path.h"

struct cs_cgroup_host t_host;
char t_base[64];
char t_files[256];

static const char *tmp;
static pid_t main_pid;

void t_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void t_skip(const char *reason)
{
	fprintf(stderr, "%s\n", reason);
	exit(T_SKIPPED);
}

int64_t t_scaled_ns(int64_t ns)
{
	const char *text = getenv("CAISSON_SLOW");
	uint32_t slow;

	if (text == NULL || cs_parse_u32(text, &slow) < 0 || slow == 0)
		slow = 1;
	return ns * slow;
}

int64_t t_in_s(int64_t s)
{
	return cs_clock_deadline_ns(t_scaled_ns(s * CS_NSEC_PER_SEC));
}

static const struct t_case *const tables[] = {
	t_cgroup_cases,
	t_oom_cases,
	t_mount_cases,
	t_tree_cases,
};

static void list(void)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(tables); i++) {
		for (const struct t_case *row = tables[i]; row->name != NULL; row++)
			puts(row->name);
	}
}

static const struct t_case *find(const char *name)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(tables); i++) {
		for (const struct t_case *row = tables[i]; row->name != NULL; row++) {
			if (strcmp(row->name, name) == 0)
				return row;
		}
	}
	t_die("no case '%s'", name);
}

static void clean_up(void)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup *cgroup;

	/* children of cases end through here too */
	if (getpid() != main_pid)
		return;
	if (cs_cgroup_open(&t_host, t_base, &cgroup, &err) == 0) {
		cs_cgroup_kill(cgroup, t_in_s(5));
		cs_cgroup_free(cgroup);
	}
	if (cs_cgroup_remove(&t_host, t_base, t_in_s(5), NULL) < 0)
		fprintf(stderr, "group %s stays\n", t_base);
	cs_err_clear(&err);
	cs_mount_detach_all(t_files, &err);
	if (chdir(tmp) < 0 || cs_path_remove_tree(AT_FDCWD, t_base + 1) < 0)
		fprintf(stderr, "%s stays\n", t_files);
}

int main(int argc, char **argv)
{
	struct cs_err err = CS_ERR_INIT;
	const struct t_case *row;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		list();
		return 0;
	}
	if (argc != 2)
		t_die("usage: root --list | CASE");
	row = find(argv[1]);
	main_pid = getpid();
	tmp = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
	snprintf(t_base, sizeof(t_base), "/caisson-cgtest-%d", (int)main_pid);
	snprintf(t_files, sizeof(t_files), "%.128s%s", tmp, t_base);
	need(chdir(tmp) == 0);
	need_ok(cs_cgroup_host_read(&t_host, &err), err);
	need(mkdir(t_files, 0755) == 0);
	atexit(clean_up);
	t_make("", true);
	row->run();
	return 0;
}
