/*
 * What `caisson configure` writes into the configuration of Docker and Podman,
 * and how it is taken out again. Text in, text out: which file, its backup and
 * what is printed are the command's.
 *
 * Docker's daemon.json is somebody else's: only "runtimes".caisson…  is ours,
 * every other byte stays. Podman reads a directory of drop-in files, one of
 * which is ours alone.
 */
#ifndef CS_TASK_CONFIGURE_H
#define CS_TASK_CONFIGURE_H

#include "shim/base/buf.h"
#include "shim/base/err.h"

struct cs_configure_tool {
	const char *name;         /* "docker" */
	const char *file;         /* where it looks for its configuration */
	const char *then;         /* what makes it read that again, for people */

	/*
	 * Appends the text with our part in it, in place of one that is there.
	 * runtime is the path of caisson-runtime; "" stands for a file that does
	 * not exist. CS_INVALID, with line and column, for a text that the tool
	 * would not take; CS_EXISTS for a file that must be ours alone and is not.
	 */
	int (*add)(const char *text, const char *name, const char *runtime, struct cs_buf *out, struct cs_err *err);

	/*
	 * Appends the text without our part. `before` is what the backup holds (NULL:
	 * there is none): when our part in it gives this text, it comes out itself, byte
	 * for byte. An empty result means that the file goes.
	 */
	int (*remove)(const char *text, const char *name, const char *before, struct cs_buf *out, struct cs_err *err);

	/* Is our part in the text? Of a text that cannot be read: no. */
	bool (*has)(const char *text);
};

/* The tool of that name; NULL when there is none. */
const struct cs_configure_tool *cs_configure_tool(const char *name);

/* "docker, podman" */
const char *cs_configure_tools(void);

/*
 * Appends the difference of two texts as diff -u shows it, with three lines around: one
 * stretch from the first line that differs to the last. Nothing for equal texts.
 */
int cs_configure_diff(const char *name, const char *before, const char *after, struct cs_buf *out);

#endif
