/*
 * What a fake engine is told to do wrong: `BINARY.script` beside the path it
 * was called by, so that each symbolic link to it has a script of its own and
 * nothing has to pass through an environment. One line each, # for comments:
 *
 *     VERB ACTION [ARGUMENT]        VERB may be *
 *
 * Actions, done in this order before the verb does its work:
 *   ignore-term          ignores SIGTERM
 *   delay MS             waits
 *   stdout N, stderr N   writes N bytes there
 *   say TEXT             a line on stderr
 *   log TEXT             an error in --log
 *   garbage-log N        N bytes that are nothing, in --log
 *   linger MS            leaves a process in a session of its own that holds stdout and stderr that long
 *   linger-group MS      the same in the engine's process group
 *   hang                 for ever
 *   exit N, die SIGNAL   ends here
 *   unknown              "unknown command", as an engine without the verb
 * and what changes the work itself:
 *   half                 create: makes the process, then fails: no pid file, no state
 *   no-pid-file          create, exec
 *   late-pid-file MS     create: the file comes that long after the engine's end
 *   pid N                create: another number in the pid file
 *   walls whole|holes    create: a root, masked paths and a working directory as an engine sets them up, or as
 *                        one with holes did (box.h)
 *   limits apply|skip|half   create: of the cgroup's limits all (default), none, half of each
 *   version TEXT         --version
 *   no-seccomp           features: built without
 *   then-exit N          this status after the work
 */
#ifndef CS_TESTS_FAKE_SCRIPT_H
#define CS_TESTS_FAKE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/strv.h"

struct script {
	struct cs_strv lines; /* of this verb: "ACTION ARGUMENT" */
};

/* Lines of `verb` in BINARY.script; none when there is no such file. */
void script_read(struct script *script, const char *binary, const char *verb);
void script_release(struct script *script);

/* Argument of the last such line ("" when it has none), NULL when there is none. */
const char *script_get(const struct script *script, const char *action);
long script_number(const struct script *script, const char *action, long otherwise);

/* Does what comes before the work; may not return. */
void script_perform(const struct script *script, const char *log_path, const char *verb);

void script_wait_ms(long ms);

#endif
