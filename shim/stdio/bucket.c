#include "shim/stdio/bucket.h"

#include "shim/base/attr.h"
#include "shim/base/buf.h"
#include "shim/base/clock.h"

#define JSON_FILE_LINE 96
#define JSON_FILE_ESCAPE 6 /* \u00xx */
/* dockerd ends a line in its log after 16 KiB of one without an end: 96 of 16384, and some more */
#define JSON_FILE_STRIDE 128

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

void cs_bucket_owe(struct cs_bucket *bucket, uint64_t n, int64_t now_ns)
{
	uint64_t level = cs_bucket_level(bucket, now_ns), missing = n > level ? n - level : 0;
	unsigned __int128 ns;

	cs_bucket_take(bucket, n);
	if (missing == 0 || bucket->rate_per_s == 0)
		return;
	/* nothing is gained until then */
	ns = (unsigned __int128)missing * CS_NSEC_PER_SEC / bucket->rate_per_s;
	bucket->at_ns += (int64_t)CS_MIN(ns, (unsigned __int128)(CS_NEVER - bucket->at_ns));
}

/* Cost of the character at p, and how many bytes it has. */
static uint64_t json_file_one(const char *p, size_t left, size_t *ret_len)
{
	unsigned char c = (unsigned char)*p;

	*ret_len = 1;
	if (c >= 0x80) {
		size_t len = cs_utf8_len(p, left);

		if (len == 0)
			return JSON_FILE_ESCAPE;
		*ret_len = len;
		/* line and paragraph separator, U+2028 and U+2029, are escaped */
		return len == 3 && c == 0xe2 && p[1] == '\x80' && (p[2] & '\xfe') == '\xa8' ? JSON_FILE_ESCAPE
											     : len;
	}
	switch (c) {
	case '\n':
		return 1 + JSON_FILE_LINE;
	case '"':
	case '\\':
		return 2;
	case '<':
	case '>':
	case '&':
		return JSON_FILE_ESCAPE;
	default:
		return c < 0x20 || c == 0x7f ? JSON_FILE_ESCAPE : 1;
	}
}

size_t cs_bucket_cost_json_file(const char *data, size_t len, uint64_t budget, uint64_t *ret_cost)
{
	uint64_t cost = 0;
	size_t i = 0, next_stride = 0;

	while (i < len) {
		size_t n;
		uint64_t one = json_file_one(data + i, len - i, &n) + (i >= next_stride);

		if (one > budget - cost)
			break;
		if (i >= next_stride)
			next_stride += JSON_FILE_STRIDE;
		cost += one;
		i += n;
	}
	*ret_cost = cost;
	return i;
}
