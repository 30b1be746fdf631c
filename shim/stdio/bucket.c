#include "shim/stdio/bucket.h"

#include "shim/base/attr.h"
#include "shim/base/clock.h"

#define JSON_FILE_LINE 96
#define JSON_FILE_CONTROL 6 /* \u00xx */

void cs_bucket_init(struct cs_bucket *bucket, uint64_t rate_per_s, uint64_t burst, int64_t now_ns)
{
	*bucket = (struct cs_bucket){
		.rate_per_s = rate_per_s,
		.burst = burst,
		.level = burst,
		.at_ns = now_ns,
	};
}

uint64_t cs_bucket_level(struct cs_bucket *bucket, int64_t now_ns)
{
	unsigned __int128 gained;

	if (now_ns <= bucket->at_ns || bucket->rate_per_s == 0)
		return bucket->level;
	gained = (unsigned __int128)(now_ns - bucket->at_ns) * bucket->rate_per_s / CS_NSEC_PER_SEC;
	if (gained >= bucket->burst - bucket->level) {
		bucket->level = bucket->burst;
		bucket->at_ns = now_ns;
	} else if (gained > 0) {
		/* only the time that made whole tokens is used up, else a slow rate looked at often would gain nothing */
		bucket->level += (uint64_t)gained;
		bucket->at_ns += (int64_t)(gained * CS_NSEC_PER_SEC / bucket->rate_per_s);
	}
	return bucket->level;
}

void cs_bucket_take(struct cs_bucket *bucket, uint64_t n)
{
	bucket->level -= CS_MIN(n, bucket->level);
}

bool cs_bucket_has_recovered(struct cs_bucket *bucket, int64_t now_ns)
{
	uint64_t enough = CS_MIN(bucket->burst, bucket->rate_per_s);

	return cs_bucket_level(bucket, now_ns) >= CS_MAX(enough, 1);
}

size_t cs_bucket_cost_json_file(const char *data, size_t len, uint64_t budget, uint64_t *ret_cost)
{
	uint64_t cost = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)data[i];
		uint64_t one = c == '\n'               ? 1 + JSON_FILE_LINE
			       : c < 0x20 || c == 0x7f ? JSON_FILE_CONTROL
						       : 1;

		if (one > budget - cost)
			break;
		cost += one;
	}
	*ret_cost = cost;
	return i;
}
