/* A directory with fake engines, a bundle and an engine root, for the tests of one file. */
#ifndef CS_TESTS_UNIT_ENGINE_FAKE_H
#define CS_TESTS_UNIT_ENGINE_FAKE_H

#include "shim/engine/engine_call.h"

struct fake {
	char dir[64];
	struct cs_engine engine;
	struct cs_loop *loop;
	struct cs_engine_args args; /* strings below dir */
	char root[128], log[128], pid_file[128];
};

/* Makes DIR/NAME a link to the fake engine, finds it, and writes DIR/config.json for `sh -c script`. */
void fake_set_up(struct fake *fake, const char *name, const char *script);

/* What DIR/NAME is told to do wrong (tests/fake/script.h). */
void fake_tell(const struct fake *fake, const char *name, const char *script);

/* Ends what its create left, removes everything. Fails when a file of ours cannot be removed. */
void fake_tear_down(struct fake *fake);

/* A verb with these arguments. */
int fake_call(struct fake *fake, enum cs_verb verb, struct cs_engine_result *ret, struct cs_err *err);

/* Content of DIR/name as a number; 0 when there is none. */
pid_t fake_pid(const struct fake *fake);

/* Paths below DIR. Static, overwritten by the next call. */
const char *fake_path(const struct fake *fake, const char *name);

#endif
