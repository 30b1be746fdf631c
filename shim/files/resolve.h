/*
 * Which file a command is, inside, before an engine is asked: 126 and 127
 * by our own look (contract section 3), as execve(2) and sh(1) define them.
 *
 * The walk follows links by hand inside the root and steps over to the source
 * of a bind mount where one is mounted; other mounts (tmpfs, proc, …) are
 * empty for it. It never leaves the root, blocks on nothing, executes nothing.
 */
#ifndef CS_FILES_RESOLVE_H
#define CS_FILES_RESOLVE_H

#include <sys/types.h>

#include "oci-spec/json.h"
#include "shim/base/err.h"

enum cs_resolve {
	CS_RESOLVE_OK,
	CS_RESOLVE_NOT_FOUND,      /* 127: no such file, or its interpreter is missing */
	CS_RESOLVE_NOT_EXECUTABLE, /* 126: a directory, no x bit for the user, neither ELF nor #! */
	CS_RESOLVE_UNKNOWN         /* cannot be told from here; ask the engine */
};

/*
 * args[0] of config.json under its process.env PATH, cwd, user and mounts;
 * bundle_dir is what a relative root.path and relative sources are relative to.
 * For the two failures err says what and why: "python4: not found in PATH (/usr/bin:…)".
 */
enum cs_resolve cs_resolve_command(const struct cs_json *config, const char *bundle_dir,
				   struct cs_err *err);

#endif
