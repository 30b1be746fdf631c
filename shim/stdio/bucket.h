/*
 * A token bucket (`--output-rate R --output-burst B`): starts full with burst
 * tokens, gains rate tokens a second, never holds more than burst. Pure: the
 * time comes from the caller. A token is a byte, or what a cost function says
 * a byte costs.
 *
 *     cs_bucket_init(&bucket, rate, burst, now_ns);
 *     if (cs_bucket_level(&bucket, now_ns) >= n)
 *             cs_bucket_take(&bucket, n);
 */
#ifndef CS_STDIO_BUCKET_H
#define CS_STDIO_BUCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_bucket {
	uint64_t rate_per_s, burst;
	uint64_t level; /* as of at_ns */
	int64_t at_ns;
};

void cs_bucket_init(struct cs_bucket *bucket, uint64_t rate_per_s, uint64_t burst, int64_t now_ns);

/* Tokens there are at now_ns (monotonic; an earlier time than before adds none). */
uint64_t cs_bucket_level(struct cs_bucket *bucket, int64_t now_ns);

/* Takes n of them, or what there is. */
void cs_bucket_take(struct cs_bucket *bucket, uint64_t n);

/*
 * Takes n also where there is less: what is missing is owed, and comes out of
 * what the bucket gains next. For what must go out whatever there is.
 */
void cs_bucket_owe(struct cs_bucket *bucket, uint64_t n, int64_t now_ns);

/*
 * There is enough to end a dropped stretch: what a second brings, or a full
 * bucket where that is less. Without this distance a fast writer would get one
 * byte through at a time, each between two stretches.
 */
bool cs_bucket_has_recovered(struct cs_bucket *bucket, int64_t now_ns);

/*
 * What a piece of output may cost its reader: the number of leading bytes of
 * data whose cost is at most budget, and that cost. Costs add up over bytes.
 */
typedef size_t cs_bucket_cost_fn(const char *data, size_t len, uint64_t budget, uint64_t *ret_cost);

/*
 * What dockerd's json-file log grows by, never less: {"log":"…","stream":"…","time":"…"}
 * is 96 a line and a bit more than one byte in 128 where lines are cut for their length; a control byte 6
 * (\u00xx), and so are <, > and &, and a byte that is no UTF-8; a quote and a
 * backslash 2; anything else its bytes. A sequence that is cut at the end counts as none.
 */
cs_bucket_cost_fn cs_bucket_cost_json_file;

#endif
