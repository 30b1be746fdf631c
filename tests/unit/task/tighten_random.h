/*
 * Shared by the generator, the oracle and the walk of test_tighten_random.c.
 * What a check finds fails the running test, naming the seed.
 */
#ifndef CS_TESTS_UNIT_TASK_TIGHTEN_RANDOM_H
#define CS_TESTS_UNIT_TASK_TIGHTEN_RANDOM_H

#include <stdint.h>

#include "oci-spec/json.h"
#include "shim/task/settings.h"
#include "tests/unit/unit.h"

/* No limit. */
#define NONE UINT64_MAX

/* The run at hand. */
extern uint64_t tighten_seed;
extern struct cs_settings_tree tighten_tree; /* its policy */
extern struct cs_err tighten_err;
extern bool tighten_odd;            /* the input holds what nobody can read */
extern struct cs_buf tighten_story; /* what was edited, and to what: for a failure */

/* --- generator ------------------------------------------------------------- */

enum tighten_what { CONFIG, PROCESS, RESOURCES };

void tighten_begin(uint64_t seed);
unsigned tighten_draw(unsigned n);
struct cs_json *tighten_generate(enum tighten_what what);
void tighten_generate_policy(void);
bool tighten_confines(const char *word);
bool tighten_always(void);

/* --- oracle ------------------------------------------------------------------ */

/* What a container's group has; quota in microseconds a period. */
struct tighten_limits {
	uint64_t memory, memory_swap, swap_alone, pids, quota, period;
	bool refused; /* no engine and no kernel takes such a pair of memory and swap */
};

/*
 * V1: files of cgroup v1, no `unified`; memory and swap are one limit.
 * ANEW: v2, all that it was ever told is written again, `unified` last (runc).
 * ONCE: v2, each telling is written where it stands and nothing else (crun).
 */
enum tighten_engine { V1, ANEW, ONCE };
#define ENGINES 3

void ck_group(const struct tighten_limits *out, const struct tighten_limits *in);
void ck_cpuset(const struct cs_json *out, const struct cs_json *in, bool update);
void ck_devices(const struct cs_json *out);
void ck_capabilities(const struct cs_json *out, const struct cs_json *in);
void ck_rlimits(const struct cs_json *out, const struct cs_json *in);
void ck_privileges(const struct cs_json *out, const struct cs_json *in);
void ck_config(const struct cs_json *out, const struct cs_json *in);
void ck_intact(const char *path, const struct cs_json *out, const struct cs_json *in);
/* What the group has in the end. `first` is what it was created with (may be NULL), `then` an update (may be NULL). */
struct tighten_limits limits_of(const struct cs_json *first, const struct cs_json *then, enum tighten_engine engine);

#endif
