#include "shim/task/level.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"

struct slot {
	uint64_t key; /* 0: never used */
	struct cs_bucket bucket;
	uint64_t spare[3];
};
_Static_assert(sizeof(struct slot) == 64, "slots do not cross pages");

/* A key's place is in one page, which alone is mapped. */
#define PAGE 4096
#define SLOTS_A_PAGE (PAGE / sizeof(struct slot))
#define PAGES 64

/* A debt is a line of our own or two. What lies further ahead was written under another boot's clock. */
#define AHEAD_MAX_NS (3600 * CS_NSEC_PER_SEC)

static uint64_t fresh(uint64_t burst)
{
	return burst > 4 * (uint64_t)CS_LEVEL_RESERVE ? burst - CS_LEVEL_RESERVE : burst;
}

int cs_level_open_own(uint64_t rate_per_s, uint64_t burst, struct cs_level *ret)
{
	int64_t now = cs_clock_now_ns();

	*ret = CS_LEVEL_INIT;
	ret->map_bytes = PAGE;
	ret->map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ret->map == MAP_FAILED) {
		*ret = CS_LEVEL_INIT;
		return -ENOMEM;
	}
	ret->bucket = ret->map;
	cs_bucket_init(ret->bucket, rate_per_s, burst, now);
	ret->bucket->level = fresh(burst);
	return 0;
}

void cs_level_close(struct cs_level *level)
{
	if (level->map)
		munmap(level->map, level->map_bytes);
	cs_close_fd(&level->fd);
	*level = CS_LEVEL_INIT;
}

/* --- the table ----------------------------------------------------------------- */

/* fd, locked against others who look for a place, or -errno. */
static int open_table(const char *state_dir)
{
	cs_autofd int dir_fd = -1, fd = -1;
	struct stat st;
	int r = cs_file_mkdirs(state_dir, 0700);

	if (r < 0)
		return r;
	dir_fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = dir_fd < 0 ? -1 : openat(dir_fd, "buckets", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return -EPERM;
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	/* every page is there before it is mapped: a full file system is an error now, not SIGBUS later */
	r = posix_fallocate(fd, 0, (off_t)PAGES * PAGE);
	return r != 0 ? -r : cs_take_fd(&fd);
}

static struct flock slot_range(uint64_t page, size_t i)
{
	return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = sizeof(struct slot),
			       .l_start = (off_t)(page * PAGE + i * sizeof(struct slot)) };
}

static bool in_use(int fd, uint64_t page, size_t i)
{
	struct flock range = slot_range(page, i);

	return fcntl(fd, F_OFD_GETLK, &range) < 0 || range.l_type != F_UNLCK;
}

/* Shared: the last one of a container may still be at its end when the next one begins. */
static int hold(int fd, uint64_t page, size_t i)
{
	struct flock range = slot_range(page, i);

	range.l_type = F_RDLCK;
	return fcntl(fd, F_OFD_SETLK, &range) < 0 ? -errno : 0;
}

static bool is_full(struct cs_bucket *bucket, int64_t now)
{
	return cs_bucket_level(bucket, now) >= fresh(bucket->burst);
}

/* The key's own slot, else one that nobody needs. -ENOSPC: there is none. */
static int find(struct slot *slots, int fd, uint64_t page, uint64_t key, int64_t now)
{
	int found = -ENOSPC;

	for (size_t i = 0; i < SLOTS_A_PAGE; i++) {
		struct slot *slot = &slots[i];

		if (slot->key == key)
			return (int)i;
		if (found < 0 && (slot->key == 0 || (is_full(&slot->bucket, now) && !in_use(fd, page, i))))
			found = (int)i;
	}
	return found;
}

static void adopt(struct slot *slot, uint64_t key, uint64_t rate_per_s, uint64_t burst, int64_t now)
{
	struct cs_bucket *bucket = &slot->bucket;

	if (slot->key != key || bucket->at_ns > now + AHEAD_MAX_NS) {
		slot->key = key;
		cs_bucket_init(bucket, rate_per_s, burst, now);
		bucket->level = fresh(burst);
		return;
	}
	cs_bucket_level(bucket, now); /* what was gained until now was gained at the old rate */
	bucket->rate_per_s = rate_per_s;
	bucket->burst = burst;
	bucket->level = bucket->level > burst ? burst : bucket->level;
}

int cs_level_open(const char *state_dir, uint64_t key, uint64_t rate_per_s, uint64_t burst, struct cs_level *ret)
{
	uint64_t page = key % PAGES;
	int64_t now = cs_clock_now_ns();
	struct cs_level level = CS_LEVEL_INIT;
	int r, at;

	if (key == 0)
		key = 1;
	r = level.fd = open_table(state_dir);
	if (r < 0)
		goto own;
	level.map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, level.fd, (off_t)(page * PAGE));
	if (level.map == MAP_FAILED) {
		level.map = NULL;
		r = -errno;
		goto own;
	}
	level.map_bytes = PAGE;
	r = at = find(level.map, level.fd, page, key, now);
	if (at >= 0)
		r = hold(level.fd, page, (size_t)at);
	if (r < 0)
		goto own;
	adopt((struct slot *)level.map + at, key, rate_per_s, burst, now);
	level.bucket = &((struct slot *)level.map + at)->bucket;
	flock(level.fd, LOCK_UN);
	*ret = level;
	return 0;
own:
	cs_level_close(&level);
	return cs_level_open_own(rate_per_s, burst, ret) < 0 ? -ENOMEM : r;
}
