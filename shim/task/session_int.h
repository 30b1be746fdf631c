/* Between session.c and session_list.c. */
#ifndef CS_TASK_SESSION_INT_H
#define CS_TASK_SESSION_INT_H

#include "shim/task/session.h"

#define CS__SESSIONS "sessions"
#define CS__SESSION_FILE "session"
#define CS__SESSION_RESULT "result"
#define CS__SESSION_STDOUT "stdout"
#define CS__SESSION_STDERR "stderr"
/* Before the id of one that is being removed. No valid id begins with a dot. */
#define CS__SESSION_GONE_PREFIX ".gone-"

/* <state>/sessions, fd or -errno. */
int cs__session_open_all(const char *state_dir);

/* Takes the name away and removes the tree, then the directory of all when it is the last. 0 or -errno. */
int cs__session_remove(int sessions_fd, const char *id);

#endif
