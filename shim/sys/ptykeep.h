/*
 * Raw mode that outlives nobody: while somebody's terminal is in raw mode on
 * our behalf, a small forked process (the keeper) holds it, and puts it back
 * when we die without having done so, of SIGKILL for one.
 *
 *     struct cs_ptykeep keep = CS_PTYKEEP_INIT;
 *     r = cs_ptykeep_enter(STDIN_FILENO, &keep);
 *     …
 *     cs_ptykeep_leave(&keep);
 *
 * The keeper has a session of its own, so that neither what is typed nor a
 * signal to our process group reaches it; it holds the terminal and nothing else.
 */
#ifndef CS_SYS_PTYKEEP_H
#define CS_SYS_PTYKEEP_H

#include "shim/base/attr.h"
#include "shim/sys/pidref.h"
#include "shim/sys/pty.h"

struct cs_ptykeep {
	int fd; /* of the terminal, ours; -1 when empty */
	struct cs_pty_mode mode;
	struct cs_pidref keeper;
};

#define CS_PTYKEEP_INIT ((struct cs_ptykeep){ .fd = -1, .keeper = CS_PIDREF_INIT })

/*
 * Remembers the mode of fd, a terminal (borrowed during the call only), starts
 * the keeper, sets raw mode. 0, or -errno with nothing changed: -ENOTTY for no terminal. The
 * keeper is a child, to be told from others by keep->keeper.
 */
int cs_ptykeep_enter(int fd, struct cs_ptykeep *keep) CS_MUST_CHECK;

/* Sets raw mode once more: somebody (a shell, after we were stopped) has set another since. No-op on an empty one. */
void cs_ptykeep_enter_again(struct cs_ptykeep *keep);

/* Puts the mode back (cs_pty_mode_leave), ends the keeper and reaps it. No-op on an empty one. */
void cs_ptykeep_leave(struct cs_ptykeep *keep);

#endif
