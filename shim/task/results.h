/*
 * The result records of the daemon faces: <state>/results, where the newest
 * 1000 are kept in at most 64 MiB.
 *
 *     <state>/results/index                    1000 slots of fixed size, one a record
 *     <state>/results/<key, 16 hex>-<sequence>.json
 *
 * The key is that of a container (engine root and id); the sequence grows by
 * one with every record. A new record takes the slot of the one that is 1000
 * older, so that nothing has to be listed or counted; each is at most 64 KiB.
 * Writers are serialised by a flock(2) on the index.
 */
#ifndef CS_TASK_RESULTS_H
#define CS_TASK_RESULTS_H

#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"
#include "shim/base/err.h"

#define CS_RESULTS_MAX 1000
#define CS_RESULTS_FILE_BYTES (64 * 1024)

/* Names a container's bucket, records and directory. */
uint64_t cs_container_key(const char *engine_root, const char *id);

/* Opens <state>/results, makes it (0700) when `make`. A CLOEXEC descriptor, the caller's, or -errno. */
int cs_results_open(const char *state_dir, bool make);

/* Adds a record. Records that have expired go too. 0 or -errno; -EFBIG. */
int cs_results_add(int results_fd, uint64_t key, const char *text, size_t len);

/* The records of a container are forgotten at that wall time (its delete + `--expire`). 0 or -errno. */
int cs_results_expire(int results_fd, uint64_t key, int64_t at_wall_ns);

/* Removes what has expired. Number removed or -errno. */
int cs_results_gc(int results_fd, int64_t now_wall_ns);

/* The newest record of a container. -ENOENT when there is none. */
int cs_results_read(int results_fd, uint64_t key, struct cs_buf *ret);

#endif
