#include "shim/sys/kin.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim/base/file.h"
#include "shim/base/parse.h"

#define KIN_MAX 512
#define CHILDREN_MAX (64 * 1024)

struct kin {
	struct cs_pidref v[KIN_MAX];
	size_t n;
};

/* Stopped here, so that what it has for children stays as it is. */
static void add(struct kin *kin, pid_t pid)
{
	struct cs_pidref ref = CS_PIDREF_INIT;

	if (kin->n == KIN_MAX || cs_pidref_open(pid, &ref) < 0)
		return;
	cs_pidref_kill(&ref, SIGSTOP);
	kin->v[kin->n++] = ref;
}

static void add_children_of_thread(struct kin *kin, pid_t pid, const char *thread)
{
	cs_auto(buf) text = CS_BUF_INIT(CHILDREN_MAX);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", (int)pid, thread);
	if (cs_file_read(AT_FDCWD, path, &text) < 0 || text.len == 0)
		return;
	for (char *p = text.data, *end; *p; p = end) {
		long child = strtol(p, &end, 10);

		if (end == p)
			break;
		add(kin, (pid_t)child);
	}
}

static void add_children(struct kin *kin, pid_t pid)
{
	char path[32];
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_children_of_thread(kin, pid, entry->d_name);
	if (dir)
		closedir(dir);
}

size_t cs_kin_kill(const struct cs_pidref *root)
{
	struct kin kin = { .n = 0 };

	add(&kin, root->pid);
	for (size_t i = 0; i < kin.n; i++)
		add_children(&kin, kin.v[i].pid);
	/* from the far end: nobody's parent goes before him */
	for (size_t i = kin.n; i-- > 0;) {
		cs_pidref_kill(&kin.v[i], SIGKILL);
		cs_pidref_release(&kin.v[i]);
	}
	return kin.n;
}
