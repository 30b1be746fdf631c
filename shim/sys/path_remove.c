/*
 * Removal of a tree of any depth.
 *
 * A fixed stack of levels, each a descriptor and a buffer of directory
 * entries. A directory that lies too deep for the stack is renamed into the
 * top directory, whose scan then meets it again: rename(2) needs no inode,
 * and unlike a walk over ".." it cannot be led out of the tree by somebody
 * who moves directories meanwhile.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/sys/path.h"

#define LEVELS_MAX 16
#define ENTRIES_BYTES 2048

/* Tries to find a free name at the top; the counter goes on from there, so no name is tried twice. */
#define NAMES_MAX 64

struct level {
	int fd;
	bool removed_some; /* in this scan of the directory */
	bool moved_some;   /* something came in from below during this scan */
	bool failed;       /* some entry stays */
	size_t pos, len;   /* of entries */
	char name[NAME_MAX + 1];
	_Alignas(struct dirent64) char entries[ENTRIES_BYTES];
};

struct removal {
	size_t depth;         /* levels in use */
	unsigned next_name;
	int first_error;
	struct level levels[LEVELS_MAX];
};

static struct level *top(struct removal *rm)
{
	return &rm->levels[rm->depth - 1];
}

static void note_failure(struct removal *rm, int error)
{
	if (rm->first_error == 0)
		rm->first_error = error;
	if (rm->depth > 0)
		top(rm)->failed = true;
}

/* The next entry other than "." and ".."; NULL at the end or on failure, which is noted. */
static const struct dirent64 *next_entry(struct removal *rm, struct level *level)
{
	for (;;) {
		const struct dirent64 *entry;

		if (level->pos >= level->len) {
			long n = syscall(SYS_getdents64, level->fd, level->entries, ENTRIES_BYTES);

			if (n < 0)
				note_failure(rm, -errno);
			if (n <= 0)
				return NULL;
			level->pos = 0;
			level->len = (size_t)n;
		}
		entry = (const struct dirent64 *)(level->entries + level->pos);
		level->pos += entry->d_reclen;
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return entry;
	}
}

/* Clears what chattr(1) set and unlink minds. True when something was cleared. */
static bool clear_flags(int fd)
{
	int flags;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ||
	    (flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)) == 0)
		return false;
	flags &= ~(FS_IMMUTABLE_FL | FS_APPEND_FL);
	return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

/*
 * The same for an entry. Only regular files and directories have such flags,
 * and only they may be opened: opening a device can do things. Between the
 * look and the open nobody can put another file, because the open goes
 * through the descriptor that was looked at.
 */
static bool clear_flags_at(int dir_fd, const char *name)
{
	char self[64];
	struct stat st;
	cs_autofd int fd = -1;
	cs_autofd int handle = cs_path_open_beneath(dir_fd, name, O_PATH | O_NOFOLLOW, 0);

	if (handle < 0 || fstat(handle, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return false;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && clear_flags(fd);
}

static bool is_directory(int dir_fd, const char *name, unsigned char type)
{
	struct stat st;

	if (type != DT_UNKNOWN)
		return type == DT_DIR;
	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/*
 * unlink or rmdir, gone already is fine; a mount point gives -EXDEV. `inside`:
 * dir_fd is part of the tree, so that its flags are ours to clear.
 */
static int remove_one(int dir_fd, const char *name, bool directory, bool inside)
{
	int flags = directory ? AT_REMOVEDIR : 0;
	cs_autofd int fd = -1;

	if (unlinkat(dir_fd, name, flags) == 0 || errno == ENOENT)
		return 0;
	if (errno == EPERM) {
		bool cleared = inside && clear_flags(dir_fd);

		if (!clear_flags_at(dir_fd, name) && !cleared)
			return -EPERM;
		if (unlinkat(dir_fd, name, flags) == 0 || errno == ENOENT)
			return 0;
	}
	if (errno == EEXIST)
		return -ENOTEMPTY;
	if (errno != EBUSY)
		return -errno;
	fd = cs_path_open_beneath(dir_fd, name, O_PATH | O_NOFOLLOW, 0);
	return fd == -EXDEV ? -EXDEV : -EBUSY;
}

static int descend(struct removal *rm, int dir_fd, const char *name)
{
	struct level *level = &rm->levels[rm->depth];
	int fd = cs_path_open_beneath(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (fd < 0)
		return fd;
	level->fd = fd;
	level->removed_some = level->moved_some = level->failed = false;
	level->pos = level->len = 0;
	/* a directory entry's name never passes NAME_MAX */
	snprintf(level->name, sizeof(level->name), "%s", name);
	rm->depth++;
	return 0;
}

/* Too deep: into the top directory under a name that is free there. */
static int move_up(struct removal *rm, int dir_fd, const char *name)
{
	bool cleared = false;
	char fresh[32];

	for (unsigned i = 0; i < NAMES_MAX; i++) {
		snprintf(fresh, sizeof(fresh), "caisson-rm.%u", rm->next_name++);
		/* an empty directory of that name may be replaced: it is to go anyway */
		if (renameat(dir_fd, name, rm->levels[0].fd, fresh) == 0) {
			rm->levels[0].moved_some = true;
			return 0;
		}
		if (errno == EPERM && !cleared) {
			cleared = true;
			clear_flags(rm->levels[0].fd);
			clear_flags(dir_fd);
			clear_flags_at(dir_fd, name);
		} else if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) {
			return -errno;
		}
	}
	return -EEXIST;
}

static void remove_entry(struct removal *rm, const char *name, unsigned char type)
{
	struct level *level = top(rm);
	bool directory = is_directory(level->fd, name, type);
	int r = remove_one(level->fd, name, directory, true);

	if (r == -EISDIR || r == -ENOTDIR) {
		/* changed under us between the listing and now */
		directory = !directory;
		r = remove_one(level->fd, name, directory, true);
	}
	if (r == 0) {
		level->removed_some = true;
		return;
	}
	if (r == -ENOTEMPTY && rm->depth < LEVELS_MAX) {
		r = descend(rm, level->fd, name);
	} else if (r == -ENOTEMPTY) {
		r = move_up(rm, level->fd, name);
		if (r == 0)
			level->removed_some = true;
	}
	if (r < 0 && r != -ENOENT)
		note_failure(rm, r);
}

/* The scan of the deepest level is through: out it goes, or it is scanned again. */
static void ascend(struct removal *rm, int outer_fd)
{
	struct level *level = top(rm);
	bool inside = rm->depth > 1;
	int parent_fd = inside ? rm->levels[rm->depth - 2].fd : outer_fd;
	int r = remove_one(parent_fd, level->name, true, inside);

	/*
	 * Some file systems skip entries when others vanish during a scan, and
	 * what was moved in may lie before the scan's place. Each look again is
	 * paid for by something that went or came up.
	 */
	if (r == -ENOTEMPTY && (level->moved_some || (level->removed_some && !level->failed)) &&
	    lseek(level->fd, 0, SEEK_SET) == 0) {
		level->removed_some = level->moved_some = false;
		level->pos = level->len = 0;
		return;
	}
	cs_close_fd(&level->fd);
	rm->depth--;
	if (r == 0 && inside)
		top(rm)->removed_some = true;
	/* "not empty" above a failure that was noted is no news, but the parent will not go either */
	if (r == -ENOTEMPTY && level->failed)
		r = rm->first_error;
	if (r < 0)
		note_failure(rm, r);
}

static int remove_below(struct removal *rm, int dir_fd, const char *name)
{
	int r = descend(rm, dir_fd, name);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	while (rm->depth > 0) {
		const struct dirent64 *entry = next_entry(rm, top(rm));

		if (entry != NULL)
			remove_entry(rm, entry->d_name, entry->d_type);
		else
			ascend(rm, dir_fd);
	}
	return rm->first_error;
}

int cs_path_remove_tree(int dir_fd, const char *name)
{
	struct removal *rm;
	int r;

	if (*name == '\0' || strchr(name, '/') != NULL || strlen(name) > NAME_MAX ||
	    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EINVAL;
	r = remove_one(dir_fd, name, is_directory(dir_fd, name, DT_UNKNOWN), false);
	if (r != -ENOTEMPTY)
		return r;
	rm = malloc(sizeof(*rm));
	if (rm == NULL)
		return -ENOMEM;
	rm->depth = rm->next_name = 0;
	rm->first_error = 0;
	r = remove_below(rm, dir_fd, name);
	free(rm);
	return r;
}
