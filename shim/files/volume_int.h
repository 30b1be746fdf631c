/* The grammar of volume and tmpfs texts, apart from any look at the host. */
#ifndef CS_FILES_VOLUME_INT_H
#define CS_FILES_VOLUME_INT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/err.h"

struct cs__volume_parts {
	char source[PATH_MAX];      /* as written; "" for tmpfs */
	char destination[PATH_MAX]; /* cleaned: one slash between parts, none at the end */
	const char *options;        /* into the text; NULL when there are none */
};

struct cs__volume_options {
	bool writable;
	bool noexec;
	const char *propagation; /* static; NULL when not given */
};

struct cs__tmpfs_options {
	uint64_t size_bytes;
	uint64_t inodes; /* 0: not given */
	unsigned mode;
	uint32_t uid, gid;
	bool uid_given, gid_given;
	bool exec, readonly;
};

/* SRC:DST[:OPTIONS] and DST[:OPTIONS]; *ret points into text. */
int cs__volume_split(const char *text, struct cs__volume_parts *ret, struct cs_err *err);
int cs__tmpfs_split(const char *text, struct cs__volume_parts *ret, struct cs_err *err);

/* A list joined by commas; NULL is an empty one. *ret keeps what no word changes. */
int cs__volume_options_parse(const char *text, struct cs__volume_options *ret, struct cs_err *err);
int cs__tmpfs_options_parse(const char *text, struct cs__tmpfs_options *ret, struct cs_err *err);

#endif
