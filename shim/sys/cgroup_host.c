/*
 * What the host offers, and where a process is: mountinfo and /proc/PID/cgroup.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shim/base/file.h"
#include "shim/sys/cgroup_int.h"
#include "shim/sys/mountinfo.h"

#ifndef CGROUP2_SUPER_MAGIC
#define CGROUP2_SUPER_MAGIC 0x63677270
#endif

static bool is_word_char(char c)
{
	return c != ' ' && c != ',' && c != '\n' && c != '\0';
}

void cs_cgroup_controllers_pack(const char *text, char *ret, size_t size)
{
	size_t n = 1;

	memcpy(ret, ",", 2);
	for (const char *p = text; *p != '\0';) {
		size_t len = 0;

		while (is_word_char(p[len]))
			len++;
		if (len > 0 && n + len + 2 <= size) {
			memcpy(ret + n, p, len);
			n += len;
			memcpy(ret + n, ",", 2);
			n++;
		}
		p += len + (p[len] != '\0');
	}
}

bool cs_cgroup_controllers_have(const char *packed, const char *word)
{
	return cs_mountinfo_has_option(packed, word);
}

/* v1: controllers stand among the super block's other options (cgroups(7), "Mounting v1 controllers"). */
static void controllers_of_options(const char *options, char *ret, size_t size)
{
	static const char *const others[] = {
		"rw", "ro", "xattr", "noprefix", "clone_children", "favordynmods", "nofavordynmods",
		"cpuset_v2_mode", "none", "all",
	};
	char kept[1024] = "";
	size_t n = 0;

	for (const char *p = options; *p != '\0';) {
		size_t len = strcspn(p, ",");
		bool other = strncmp(p, "release_agent=", 14) == 0;

		for (size_t i = 0; i < CS_ARRAY_LEN(others); i++)
			other = other || (strlen(others[i]) == len && memcmp(p, others[i], len) == 0);
		if (!other && n + len + 2 <= sizeof(kept)) {
			memcpy(kept + n, p, len);
			n += len;
			memcpy(kept + n, ",", 2);
			n++;
		}
		p += len + (p[len] == ',');
	}
	cs_cgroup_controllers_pack(kept, ret, size);
}

static bool fill_mount(const struct cs_mountinfo *row, struct cs_cgroup_mount *ret)
{
	*ret = (struct cs_cgroup_mount){ .v2 = strcmp(row->fstype, "cgroup2") == 0 };
	if (!ret->v2 && strcmp(row->fstype, "cgroup") != 0)
		return false;
	if (strlen(row->point) >= sizeof(ret->point) || strlen(row->root) >= sizeof(ret->root))
		return false;
	snprintf(ret->point, sizeof(ret->point), "%s", row->point);
	snprintf(ret->root, sizeof(ret->root), "%s", row->root);
	if (ret->v2)
		memcpy(ret->controllers, ",", 2);
	else
		controllers_of_options(row->super_options, ret->controllers, sizeof(ret->controllers));
	return true;
}

/* A controller lives in one hierarchy at a time, so equal sets are one hierarchy. */
static bool same_hierarchy(const struct cs_cgroup_mount *a, const struct cs_cgroup_mount *b)
{
	return a->v2 == b->v2 && (a->v2 || strcmp(a->controllers, b->controllers) == 0);
}

static void add_mount(struct cs_cgroup_host *host, const struct cs_cgroup_mount *mount)
{
	for (size_t i = 0; i < host->n; i++) {
		struct cs_cgroup_mount *have = &host->mounts[i];

		if (strcmp(have->point, mount->point) == 0) {
			*have = *mount; /* the later one lies on top */
			return;
		}
		if (same_hierarchy(have, mount)) {
			if (strlen(mount->root) < strlen(have->root))
				*have = *mount;
			return;
		}
	}
	if (host->n < CS_CGROUP_HIERARCHIES_MAX)
		host->mounts[host->n++] = *mount;
}

static bool is_named(const struct cs_cgroup_mount *mount)
{
	return strncmp(mount->controllers, ",name=", 6) == 0 || strcmp(mount->controllers, ",") == 0;
}

static void decide_layout(struct cs_cgroup_host *host)
{
	bool controllers = false, v1 = false, v2 = false;
	size_t kept = 0;

	for (size_t i = 0; i < host->n; i++) {
		const struct cs_cgroup_mount *mount = &host->mounts[i];

		v2 = v2 || mount->v2;
		v1 = v1 || !mount->v2;
		controllers = controllers || (!mount->v2 && !is_named(mount));
	}
	if (controllers)
		host->layout = v2 ? CS_CGROUP_HYBRID : CS_CGROUP_V1;
	else if (v2)
		host->layout = CS_CGROUP_V2;
	else
		host->layout = v1 ? CS_CGROUP_V1 : CS_CGROUP_NONE;
	if (host->layout != CS_CGROUP_V2)
		return;
	/* a named v1 hierarchy beside v2 limits nothing, and engines do not use it */
	for (size_t i = 0; i < host->n; i++) {
		if (host->mounts[i].v2)
			host->mounts[kept++] = host->mounts[i];
	}
	host->n = kept;
}

void cs_cgroup_host_parse(char *mountinfo, cs_cgroup_usable_fn *usable, struct cs_cgroup_host *ret)
{
	struct cs_cgroup_mount mount;
	struct cs_mountinfo row;

	ret->n = 0;
	while (cs_mountinfo_next(&mountinfo, &row) > 0) {
		if (fill_mount(&row, &mount) && (usable == NULL || usable(&mount)))
			add_mount(ret, &mount);
	}
	decide_layout(ret);
}

/* Not covered by another mount: what the path leads to is a cgroup file system. */
static bool is_reachable(const struct cs_cgroup_mount *mount)
{
	struct statfs fs;

	/* a hierarchy must not vanish unsaid because of an error that says nothing of it: its use will tell */
	if (statfs(mount->point, &fs) < 0)
		return errno != ENOENT && errno != ENOTDIR && errno != EACCES;
	return (uint64_t)fs.f_type == (mount->v2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC);
}

int cs_cgroup_host_read(struct cs_cgroup_host *ret, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_MOUNTINFO_MAX);
	int r = cs_mountinfo_read(&text);

	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "read '/proc/self/mountinfo'");
	cs_cgroup_host_parse(text.data, is_reachable, ret);
	for (size_t i = 0; i < ret->n; i++) {
		struct cs_cgroup_mount *mount = &ret->mounts[i];
		char file[sizeof(mount->point) + 32];

		if (!mount->v2)
			continue;
		snprintf(file, sizeof(file), "%s/cgroup.controllers", mount->point);
		cs_buf_reset(&text);
		r = cs_file_read(AT_FDCWD, file, &text);
		if (r < 0)
			return cs_fail(err, cs_err_kind_of_errno(-r), -r, "read '%s'", file);
		cs_cgroup_controllers_pack(text.len > 0 ? text.data : "", mount->controllers,
					   sizeof(mount->controllers));
	}
	return 0;
}

bool cs_cgroup_host_has(const struct cs_cgroup_host *host, const char *controller)
{
	for (size_t i = 0; i < host->n; i++) {
		if (cs_cgroup_controllers_have(host->mounts[i].controllers, controller))
			return true;
	}
	return false;
}

int cs_cgroup_text_of_pid(pid_t pid, struct cs_buf *buf)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	r = cs_file_read(AT_FDCWD, path, buf);
	return r == -ENOENT ? -ESRCH : r;
}

/* Does a line's list ("cpu,cpuacct", "name=systemd", "" for v2) name the mount's hierarchy? */
static bool names_hierarchy(const char *list, size_t len, const struct cs_cgroup_mount *mount)
{
	char first[64];
	size_t n = strcspn(list, ",:");

	if (mount->v2 || len == 0)
		return mount->v2 && len == 0;
	if (n >= sizeof(first))
		return false;
	memcpy(first, list, n);
	first[n] = '\0';
	return cs_cgroup_controllers_have(mount->controllers, first);
}

bool cs_cgroup_text_path(const char *text, const struct cs_cgroup_mount *mount, char *ret, size_t size)
{
	for (const char *line = text, *next; *line != '\0'; line = next) {
		size_t len = strcspn(line, "\n");
		const char *list = memchr(line, ':', len);
		const char *path;
		size_t n, top = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);

		next = line + len + (line[len] == '\n');
		path = list != NULL ? memchr(list + 1, ':', len - (size_t)(list + 1 - line)) : NULL;
		if (path == NULL || !names_hierarchy(list + 1, (size_t)(path - list - 1), mount))
			continue;
		path++;
		n = len - (size_t)(path - line);
		if (n < top || memcmp(path, mount->root, top) != 0 || (n > top && path[top] != '/'))
			return false;
		path += top;
		n -= top;
		if (n >= size || size < 2)
			return false;
		memcpy(ret, n > 0 ? path : "/", n > 0 ? n : 1);
		ret[n > 0 ? n : 1] = '\0';
		return true;
	}
	return false;
}
