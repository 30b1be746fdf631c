/*
 * /proc/PID/mountinfo as rows (proc_pid_mountinfo(5)).
 *
 * Owns the format: field order, the optional fields before " - ", and the
 * octal escapes of space, tab, newline and backslash. Knows nothing of what
 * the mounts are for.
 *
 *     cs_auto(buf) text = CS_BUF_INIT(CS_MOUNTINFO_MAX);
 *     struct cs_mountinfo row;
 *     char *cursor;
 *
 *     if (cs_mountinfo_read(&text) < 0) …
 *     cursor = text.data;
 *     while (cs_mountinfo_next(&cursor, &row) > 0) …
 */
#ifndef CS_SYS_MOUNTINFO_H
#define CS_SYS_MOUNTINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/attr.h"
#include "shim/base/buf.h"

/* Hosts with thousands of containers have a few megabytes. */
#define CS_MOUNTINFO_MAX (32U << 20)

/* One mount. The strings lie in the text that was parsed, escapes undone. */
struct cs_mountinfo {
	uint32_t id, parent;
	const char *root;          /* directory of the file system that is mounted: "/" or deeper */
	const char *point;         /* relative to the process's root; ends in "//deleted" when unlinked */
	const char *options;       /* per mount: "rw,nosuid" */
	const char *fstype;
	const char *source;
	const char *super_options; /* per file system: "rw,memory" */
};

/* Appends /proc/self/mountinfo to buf, which then is not empty and ends in NUL. 0 or -errno. */
int cs_mountinfo_read(struct cs_buf *buf) CS_MUST_CHECK;

/*
 * Takes the next row off the text at *cursor, which is changed in place and
 * moves on. Lines of another form are passed over. 1, or 0 at the end.
 */
int cs_mountinfo_next(char **cursor, struct cs_mountinfo *ret);

/* Is `word` one of the comma-separated words of `list`? */
bool cs_mountinfo_has_option(const char *list, const char *word);

/* Is path `prefix` itself or below it? Both absolute; whole components: "/a" is no prefix of "/ab". */
bool cs_mountinfo_is_below(const char *path, const char *prefix);

#endif
