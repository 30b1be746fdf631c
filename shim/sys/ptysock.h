/*
 * The console socket of OCI engines: the one that runs a container makes the
 * terminal and sends its master through an AF_UNIX stream socket that its caller
 * listens on (--console-socket; runc, docs/terminals.md; unix(7), SCM_RIGHTS).
 *
 *     struct cs_ptysock *sock;
 *     r = cs_ptysock_listen(loop, dir_fd, "tty.sock", &sock);
 *     cs_ptysock_address(dir_fd, dir, "tty.sock", text, sizeof(text));   → --console-socket
 *     … the engine's create, with the loop turning …
 *     r = cs_ptysock_take(sock, &master_fd);   -EAGAIN: not yet
 *     cs_ptysock_free(sock);
 *
 * and the other way round, for somebody who listens for us: cs_ptysock_send.
 *
 * An address holds 107 bytes (unix(7)), a path 4095: sockets are bound and
 * connected to by way of /proc/self/fd, so neither side depends on the length of a path.
 */
#ifndef CS_SYS_PTYSOCK_H
#define CS_SYS_PTYSOCK_H

#include <stddef.h>
#include <stdint.h>

#include "shim/base/attr.h"
#include "shim/sys/loop.h"

struct cs_ptysock; /* opaque */

/*
 * Binds `name` (no '/', a few bytes) in the directory dir_fd, both borrowed, and
 * takes what comes from the loop. Mode 0700: root's. The name is removed again by
 * cs_ptysock_free. 0 or -errno.
 */
int cs_ptysock_listen(struct cs_loop *loop, int dir_fd, const char *name, struct cs_ptysock **ret) CS_MUST_CHECK;

/* NULL allowed. The loop must still be there. */
void cs_ptysock_free(struct cs_ptysock *sock);

/*
 * The text that another process of root's finds the socket by: "dir/name"
 * where that fits into an address, else by way of this process's descriptor, so dir_fd must
 * stay open and the process alive as long as it is used. -ENAMETOOLONG when ret is too small.
 */
int cs_ptysock_address(int dir_fd, const char *dir, const char *name, char *ret, size_t size) CS_MUST_CHECK;

/*
 * What came: 0 and the master, CLOEXEC, the caller's; -EAGAIN while nothing
 * has. Everything else stays and is an error of the sender: -EPROTO: not exactly one
 * descriptor; -ENOTTY: it is not the master of a terminal; -ECONNRESET: it
 * went without sending; or -errno of the socket. Only the first connection counts.
 * -ENOENT when the master has been taken before.
 */
int cs_ptysock_take(struct cs_ptysock *sock, int *ret_master_fd);

/*
 * Sends master_fd (borrowed) to whoever listens at path, as an engine would.
 * Waits at most timeout_ns for room in its queue. 0 or -errno: -ENOENT,
 * -ECONNREFUSED, -EAGAIN for the time.
 */
int cs_ptysock_send(const char *path, int master_fd, int64_t timeout_ns) CS_MUST_CHECK;

#endif
