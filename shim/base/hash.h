/*
 * A hash that names things (files, entries): not for secrets, nor against
 * somebody who looks for collisions; what is named must say itself what it is.
 */
#ifndef CS_BASE_HASH_H
#define CS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define CS_HASH_INIT UINT64_C(0xcbf29ce484222325)

/* FNV-1a, 64 bits: goes on from `hash`, which is CS_HASH_INIT at first. */
static inline uint64_t cs_hash(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Goes on with a number, lowest byte first on every machine. */
static inline uint64_t cs_hash_u64(uint64_t hash, uint64_t number)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = number >> 8 * i & 0xff;
	return cs_hash(hash, bytes, sizeof(bytes));
}

#endif
