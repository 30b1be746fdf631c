/*
 * Which file a command is, inside, before an engine is asked: 126 and 127
 * by our own look, as execve(2) and sh(1) define them.
 *
 * The walk follows links by hand inside the root and steps over to the source
 * of a bind mount where one is mounted. A tmpfs is empty for it; what is in
 * /proc, /dev, an overlay or anything else that the engine mounts cannot be
 * told. It never leaves the root, executes nothing, opens no FIFO and no
 * device, and reads only the head and the program headers of regular files.
 * It blocks no longer than the file systems below the root do.
 *
 * Only a sure "no" is a failure here: whatever has rules of its own (access
 * lists, mapped mounts, binfmt_misc handlers, namespaces joined by path) is
 * CS_RESOLVE_UNKNOWN, and the engine's own answer counts.
 */
#ifndef CS_FILES_RESOLVE_H
#define CS_FILES_RESOLVE_H

#include "oci-spec/json.h"
#include "shim/base/err.h"

enum cs_resolve {
	CS_RESOLVE_OK,
	CS_RESOLVE_NOT_FOUND,      /* 127 */
	CS_RESOLVE_NOT_EXECUTABLE, /* 126 */
	CS_RESOLVE_UNKNOWN         /* cannot be told from here; ask the engine */
};

/*
 * args[0] of config.json (root of the whole document) under its process.env
 * PATH, cwd, user (with uidMappings and gidMappings), capabilities and mounts.
 * bundle_dir is what a relative root.path and relative sources are relative to.
 *
 * With a slash in it, args[0] is a path, relative to cwd. Without, each
 * element of PATH is tried, an empty one being cwd, a relative one relative
 * to cwd; what cannot be executed there is passed over and remembered, as
 * execvp(3) does, so that 126 is the answer when nothing better follows.
 *
 * NOT_FOUND: ENOENT, ENOTDIR, ELOOP of links, ENAMETOOLONG (dash takes these
 * for 127 too), and a #! or PT_INTERP interpreter for which the same holds.
 * NOT_EXECUTABLE: EACCES (a directory, a FIFO, no x bit for the user, no
 * search permission on the way, a noexec mount, the same of an interpreter)
 * and ENOEXEC (empty, neither ELF nor #!, an ELF for another machine, a
 * damaged one, more than five #! in a row).
 * A user without CAP_DAC_OVERRIDE, also uid 0, is judged by owner, group and
 * other bits; with it, any x bit will do (path_resolution(7)).
 *
 * For these two err says what and why, "'python4' is not in PATH
 * (/usr/bin:/bin)", with kind CS_NOT_FOUND or CS_DENIED; for the others it
 * stays empty. No memory is CS_RESOLVE_UNKNOWN.
 */
enum cs_resolve cs_resolve_command(const struct cs_json *config, const char *bundle_dir,
				   struct cs_err *err);

#endif
