#include <string.h>

#include "shim/base/hash.h"
#include "tests/unit/unit.h"

/* test vectors of the FNV reference code */
START_TEST(known_values)
{
	static const struct {
		const char *text;
		uint64_t hash;
	} rows[] = {
		{ "", UINT64_C(0xcbf29ce484222325) },
		{ "a", UINT64_C(0xaf63dc4c8601ec8c) },
		{ "foobar", UINT64_C(0x85944171f73967e8) },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++)
		ck_assert_uint_eq(cs_hash(CS_HASH_INIT, rows[i].text, strlen(rows[i].text)), rows[i].hash);
}
END_TEST

START_TEST(pieces_are_the_whole)
{
	const unsigned char bytes[] = { 0x62, 0x6f, 0, 0, 0, 0, 0, 0 };

	ck_assert_uint_eq(cs_hash(cs_hash(CS_HASH_INIT, "foo", 3), "bar", 3), cs_hash(CS_HASH_INIT, "foobar", 6));
	ck_assert_uint_eq(cs_hash_u64(CS_HASH_INIT, 0x6f62), cs_hash(CS_HASH_INIT, bytes, sizeof(bytes)));
}
END_TEST

CS_UNIT_SUITE(hash, known_values, pieces_are_the_whole)
