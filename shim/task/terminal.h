/*
 * What `-t` means for a run and for an exec: a terminal that the engine makes
 * and sends through a console socket, and the caller's own on the other side.
 *
 *     cs_terminal_wait_foreground(s, err)                 before anything is made
 *     cs_terminal_new(loop, dir, &terminal, err)
 *     … the engine's verb, with cs_terminal_socket() as its console_socket …
 *     cs_terminal_receive(terminal, deadline, &master, err)
 *     cs_streams_give_terminal(streams, master, cs_terminal_size_fd())
 *     cs_terminal_attach(terminal, interactive, streams, err)   just before begin
 *     … cs_streams_begin … cs_streams_finish …
 *     cs_terminal_free(terminal)                          the caller's is as it was
 *
 * Nothing here needs the caller to have a terminal: without one there is no
 * window size, no raw mode, and the end of stdin is typed as ^D (feed.h).
 * The caller's is put into raw mode only where something is typed (`-i`): without
 * it ^C stays a signal to caisson.
 */
#ifndef CS_TASK_TERMINAL_H
#define CS_TASK_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "oci-spec/json.h"
#include "shim/base/err.h"
#include "shim/sys/loop.h"
#include "shim/task/streams.h"

struct cs_terminal; /* opaque */

/*
 * For `-i -t` with stdin in the background of its terminal: stops the whole job as a
 * read from there would (SIGTTIN; termios(3), setpgid(2)), until a shell brings it to the foreground. CS_STATE when it
 * goes on in the background all the same.
 */
int cs_terminal_wait_foreground(struct cs_err *err);

/*
 * Listens in the directory `dir` (absolute, only root's; it must stay), and takes what comes from
 * the loop. CS_IO.
 */
int cs_terminal_new(struct cs_loop *loop, const char *dir, struct cs_terminal **ret, struct cs_err *err);

/* Puts the caller's terminal back as it was. NULL allowed. The loop must still be there. */
void cs_terminal_free(struct cs_terminal *terminal);

/* What the engine gets as --console-socket. Borrowed. */
const char *cs_terminal_socket(const struct cs_terminal *terminal);

/*
 * The master that came, the caller's; turns the loop until it has come, the
 * deadline passes or *cancelled (may be NULL). The socket is gone then.
 * CS_ENGINE: what came is no terminal, or nothing came. CS_TIMEOUT, CS_STATE.
 */
int cs_terminal_receive(struct cs_terminal *terminal, int64_t deadline_ns, const bool *cancelled, int *ret_master_fd,
			struct cs_err *err);

/* The first of stdin, stdout, stderr that is a terminal, whose window size holds inside; -1: none. Borrowed. */
int cs_terminal_size_fd(void);

/*
 * Writes that size into config.json's process.consoleSize: for an exec, whose
 * program may ask before the terminal has come to us. CS_LIMIT.
 */
int cs_terminal_put_size(struct cs_json *config, struct cs_err *err);

/*
 * Raw mode where stdin is a terminal and `interactive`; from now on the window size is
 * followed, and raw mode is set again when somebody has stopped and continued us.
 * streams is borrowed until cs_terminal_free. CS_IO.
 */
int cs_terminal_attach(struct cs_terminal *terminal, bool interactive, struct cs_streams *streams,
		       struct cs_err *err);

#endif
