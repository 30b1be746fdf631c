/*
 * Output buckets that outlive the process which fills a log from them: a
 * container that is restarted again and again finds its bucket as it left it.
 *
 *     <state>/buckets      one file of fixed size: a table of slots
 *
 * A slot is the bucket itself, mapped into memory (MAP_SHARED): what is taken
 * is on record at once, and a SIGKILL loses nothing. A bucket that is full
 * again is as good as a new one, so its slot may go to another container once nobody
 * uses it; nothing has to expire. Who uses it holds a lock on its bytes
 * (fcntl(2), F_OFD_SETLK). Times in it are those of one boot: /run is gone with it.
 */
#ifndef CS_TASK_LEVEL_H
#define CS_TASK_LEVEL_H

#include <stdint.h>

#include "shim/stdio/bucket.h"

struct cs_level {
	struct cs_bucket *bucket; /* for cs_drain_config.bucket; NULL when empty */
	void *map;
	size_t map_bytes;
	int fd; /* holds the lock; -1: memory only */
};

#define CS_LEVEL_INIT ((struct cs_level){ .fd = -1 })

/* What is left of a new bucket for the first line of our own (cs_bucket_owe). */
#define CS_LEVEL_RESERVE 512

/*
 * The bucket of a container (cs_container_key): as it was left, or full. A
 * rate or burst other than before holds from now on, and adds nothing.
 * Where the table cannot be had, or all its places are in use, it is one of this process
 * only: *ret is good in any case but -ENOMEM, and -errno says why it is not kept. 0 else.
 */
int cs_level_open(const char *state_dir, uint64_t key, uint64_t rate_per_s, uint64_t burst, struct cs_level *ret);

/* One that is not kept. 0 or -ENOMEM. */
int cs_level_open_own(uint64_t rate_per_s, uint64_t burst, struct cs_level *ret);

void cs_level_close(struct cs_level *level);

#endif
