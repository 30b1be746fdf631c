/*
 * A small init for a run (`--init`): which of those that are installed on the
 * host, and how it is called. It reaps orphans and passes signals on.
 *
 * It is shown inside by a read-only bind at CS_INIT_INSIDE. That lies in the
 * run's own /dev, a tmpfs that every engine makes before it mounts there, so
 * no root needs a file for it.
 */
#ifndef CS_FILES_INIT_H
#define CS_FILES_INIT_H

#include <stdbool.h>

#include "shim/base/err.h"

#define CS_INIT_INSIDE "/dev/init"
#define CS_INIT_NAME "init" /* of the process that has executed it (proc(5), comm) */

/* A row of the table: static. */
struct cs_init {
	const char *name;
	const char *path;        /* on the host */
	const char *const *args; /* between it and the command; NULL-terminated */
};

/*
 * The first row whose file is there, below root_fd (borrowed; the host's "/"),
 * and can run: an ELF file for this machine that everybody may execute. For a
 * root that is not this host's (`foreign`) it must be statically linked, as
 * there is no telling which libraries lie there.
 * CS_NOT_FOUND names what to install, or what was found and would not do.
 */
int cs_init_find(int root_fd, bool foreign, const struct cs_init **ret, struct cs_err *err);

/* The i-th row; NULL past the end. */
const struct cs_init *cs_init_at(size_t i);

#endif
