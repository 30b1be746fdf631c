/*
 * Strict text → value. Nothing is guessed: the whole text must match, a
 * number has no sign unless it may be negative, a unit is known or refused.
 *
 * All return 0, -EINVAL for text of the wrong form, -ERANGE for a value that
 * does not fit; *ret is written on success only.
 */
#ifndef CS_BASE_PARSE_H
#define CS_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/attr.h"

/* Decimal digits only. */
int cs_parse_u64(const char *text, uint64_t *ret) CS_MUST_CHECK;
int cs_parse_u32(const char *text, uint32_t *ret) CS_MUST_CHECK;

/* Decimal digits, with one '-' allowed before them. */
int cs_parse_i64(const char *text, int64_t *ret) CS_MUST_CHECK;

/*
 * Bytes: digits, an optional fraction, an optional unit b k m g t (any case,
 * powers of 1024, as `docker run --memory`), with "iB" or "B" allowed behind:
 * 64m, 1.5G, 512KiB, 4096. A fraction needs a unit. At most INT64_MAX.
 */
int cs_parse_size(const char *text, uint64_t *ret_bytes) CS_MUST_CHECK;

/*
 * Time in nanoseconds: a plain number is seconds (timeout(1)), else number and
 * unit ns us ms s m h d, one after the other: 10, 0.3, 500ms, 1m30s, 2h.
 */
int cs_parse_duration(const char *text, int64_t *ret_ns) CS_MUST_CHECK;

/* CPUs as "1", "0.5", "1.25" → thousandths; 0 and less than 0.01 is -ERANGE. */
int cs_parse_cpus(const char *text, uint64_t *ret_millicpus) CS_MUST_CHECK;

/* "TERM", "SIGTERM", "term", "15", "RTMIN+3", "RTMAX-1" → signal number (signal(7)). */
int cs_parse_signal(const char *text, int *ret_signal) CS_MUST_CHECK;

/* Name with SIG in front, which cs_parse_signal reads back, or NULL when the number has none. Static. */
const char *cs_signal_name(int signal);

/*
 * Container id as all engines take it: [A-Za-z0-9][A-Za-z0-9_.-]*, at most
 * CS_ID_MAX bytes, never "." or "..".
 */
#define CS_ID_MAX 128
bool cs_id_valid(const char *id);

/* true yes on 1 / false no off 0. */
int cs_parse_bool(const char *text, bool *ret) CS_MUST_CHECK;

/* "64m" for 67108864 where it comes out even, else plain bytes: what cs_parse_size reads back. */
#define CS_SIZE_TEXT 32
char *cs_size_text(uint64_t bytes, char text[static CS_SIZE_TEXT]);

/*
 * Is each CPU of the list `inner` in the list `outer`, and is there one?
 * Lists as "0-2,4" (cpuset(7), "List format"); false for what is none, so
 * that a list is one if it is within itself.
 */
bool cs_cpulist_within(const char *inner, const char *outer);

/* "10s", "500ms", "1m30s": what cs_parse_duration reads back. */
#define CS_DURATION_TEXT 64
char *cs_duration_text(int64_t ns, char text[static CS_DURATION_TEXT]);

/*
 * How many single-character edits lie between two words, at most `max`
 * (Levenshtein): for "did you mean".
 */
size_t cs_edit_distance(const char *a, const char *b, size_t max);

#endif
