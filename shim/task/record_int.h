/* Between record.c, undo.c and gc.c. */
#ifndef CS_TASK_RECORD_INT_H
#define CS_TASK_RECORD_INT_H

#include "shim/task/record.h"

#define CS__RECORD_FILE "record"
/* Before the id of a directory in the making, whose creator holds its lock. No valid id begins with a dot. */
#define CS__RECORD_NEW_PREFIX ".new-"

/* Opens <state>/runs (makes it when `make`), with the shared lock. fd or -errno. */
int cs__record_open_runs(const char *state_dir, bool make);

/* What to say of it when that failed with errnum. -1 for the caller to return. */
int cs__record_fail_runs(const char *state_dir, int errnum, struct cs_err *err);

/* The value of a fact in the text of a record, cut to size. False when there is none. */
bool cs__record_fact(const char *text, const char *key, char *ret, size_t size);

/* Opens the directory `name` in runs_fd and takes its lock: 0; -EWOULDBLOCK while somebody holds it. */
int cs__record_lock(int runs_fd, const char *name, struct cs_record *ret);

#endif
