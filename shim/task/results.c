#include "shim/task/results.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/hash.h"

#define INDEX_FILE "index"
#define INDEX_MAGIC UINT64_C(0x3158444e49534341) /* "ACSINDX1" */
#define NAME_BYTES 64

/* A record in the index; all zero: none. The kernel of one boot and one architecture reads what it wrote. */
struct slot {
	uint64_t key;
	uint64_t sequence; /* from 1 */
	int64_t expires_wall_ns; /* 0: not before its place is needed */
};

struct index {
	uint64_t magic;
	uint64_t next; /* sequence of the next record */
	struct slot slots[CS_RESULTS_MAX];
};

uint64_t cs_container_key(const char *engine_root, const char *id)
{
	/* the NUL between them too: "a" + "bc" is not "ab" + "c" */
	return cs_hash(cs_hash(CS_HASH_INIT, engine_root, strlen(engine_root) + 1), id, strlen(id));
}

int cs_results_open(const char *state_dir, bool make)
{
	cs_autofd int state_fd = -1, fd = -1;
	struct stat st;
	int r = make ? cs_file_mkdirs(state_dir, 0700) : 0;

	if (r < 0)
		return r;
	state_fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state_fd < 0)
		return -errno;
	if (make && mkdirat(state_fd, "results", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(state_fd, "results", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return -EPERM;
	return cs_take_fd(&fd);
}

static void name_of(const struct slot *slot, char name[static NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%016" PRIx64 "-%" PRIu64 ".json", slot->key, slot->sequence);
}

/* --- the index -------------------------------------------------------------- */

/* Opened, locked and read; an index that is missing or not one of ours is an empty one. fd or -errno. */
static int open_index(int results_fd, bool make, struct index *ret)
{
	cs_autofd int fd = openat(results_fd, INDEX_FILE, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (make ? O_CREAT : 0),
				  0600);
	ssize_t n;

	*ret = (struct index){ .magic = INDEX_MAGIC, .next = 1 };
	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	n = cs_fd_read_all(fd, ret, sizeof(*ret));
	if (n < 0)
		return (int)n;
	if ((size_t)n != sizeof(*ret) || ret->magic != INDEX_MAGIC)
		*ret = (struct index){ .magic = INDEX_MAGIC, .next = 1 };
	return cs_take_fd(&fd);
}

static int write_index(int fd, const struct index *index)
{
	ssize_t n = pwrite(fd, index, sizeof(*index), 0);

	if (n < 0)
		return -errno;
	return (size_t)n == sizeof(*index) ? 0 : -EIO;
}

static void remove_record(int results_fd, struct slot *slot)
{
	char name[NAME_BYTES];

	if (slot->sequence != 0) {
		name_of(slot, name);
		unlinkat(results_fd, name, 0);
	}
	*slot = (struct slot){ 0 };
}

static int remove_expired(int results_fd, struct index *index, int64_t now_wall_ns)
{
	int removed = 0;

	for (size_t i = 0; i < CS_RESULTS_MAX; i++) {
		struct slot *slot = &index->slots[i];

		if (slot->expires_wall_ns == 0 || slot->expires_wall_ns > now_wall_ns)
			continue;
		remove_record(results_fd, slot);
		removed++;
	}
	return removed;
}

/* --- records ------------------------------------------------------------------ */

/*
 * The file that loses its place goes before the index says so, the new one
 * comes after: killed in between we leave an entry without a file, never a
 * file that nobody would remove.
 */
int cs_results_add(int results_fd, uint64_t key, const char *text, size_t len)
{
	struct index index;
	struct slot *slot;
	char name[NAME_BYTES];
	cs_autofd int fd = -1;
	int r;

	if (len > CS_RESULTS_FILE_BYTES)
		return -EFBIG;
	fd = open_index(results_fd, true, &index);
	if (fd < 0)
		return fd;
	remove_expired(results_fd, &index, cs_clock_wall_ns());
	slot = &index.slots[index.next % CS_RESULTS_MAX];
	remove_record(results_fd, slot);
	*slot = (struct slot){ .key = key, .sequence = index.next++ };
	r = write_index(fd, &index);
	if (r < 0)
		return r;
	name_of(slot, name);
	return cs_file_write_atomic(results_fd, name, text, len, 0600, false);
}

int cs_results_expire(int results_fd, uint64_t key, int64_t at_wall_ns)
{
	struct index index;
	cs_autofd int fd = open_index(results_fd, false, &index);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	for (size_t i = 0; i < CS_RESULTS_MAX; i++) {
		struct slot *slot = &index.slots[i];

		if (slot->sequence != 0 && slot->key == key && slot->expires_wall_ns == 0)
			slot->expires_wall_ns = at_wall_ns;
	}
	return write_index(fd, &index);
}

int cs_results_gc(int results_fd, int64_t now_wall_ns)
{
	struct index index;
	cs_autofd int fd = open_index(results_fd, false, &index);
	int removed, r;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	removed = remove_expired(results_fd, &index, now_wall_ns);
	r = removed > 0 ? write_index(fd, &index) : 0;
	return r < 0 ? r : removed;
}

int cs_results_read(int results_fd, uint64_t key, struct cs_buf *ret)
{
	const struct slot *newest = NULL;
	struct index index;
	char name[NAME_BYTES];
	cs_autofd int fd = open_index(results_fd, false, &index);

	if (fd < 0)
		return fd;
	for (size_t i = 0; i < CS_RESULTS_MAX; i++) {
		const struct slot *slot = &index.slots[i];

		if (slot->sequence != 0 && slot->key == key && (!newest || slot->sequence > newest->sequence))
			newest = slot;
	}
	if (!newest)
		return -ENOENT;
	name_of(newest, name);
	return cs_file_read(results_fd, name, ret);
}
