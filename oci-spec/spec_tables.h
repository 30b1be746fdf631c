/*
 * The words of config.json as tables: namespaces, capabilities, rlimits,
 * masked and read-only paths (runtime-spec 1.0.2, config-linux.md and
 * config.md; capabilities(7), getrlimit(2)).
 *
 * Owns the names alone. What a run gets of them is the business of
 * spec_new.c, what a stranger's config.json may hold that of spec_check.c.
 * Everything here is const or a copy into the caller's array; nothing blocks.
 */
#ifndef CS_OCI_SPEC_SPEC_TABLES_H
#define CS_OCI_SPEC_SPEC_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/err.h"

/* --- namespaces(7) --------------------------------------------------------- */

enum cs_namespace {
	CS_NS_PID,
	CS_NS_IPC,
	CS_NS_UTS,
	CS_NS_MOUNT,
	CS_NS_CGROUP,
	CS_NS_NETWORK,
	CS_NS_USER,
	CS_NS_TIME, /* runtime-spec 1.1 */
	CS_NAMESPACES
};

/* What config.json calls it: "pid", …; static. */
const char *cs_namespace_word(enum cs_namespace ns);

/* The namespace of that word, or CS_NAMESPACES. */
enum cs_namespace cs_namespace_by_word(const char *word);

/* --- capabilities(7) ------------------------------------------------------- */

#define CS_CAPABILITY_TEXT 64

/*
 * "net_bind_service", "NET_BIND_SERVICE", "CAP_NET_BIND_SERVICE" → the last
 * form, into ret. Names are those that libcap knows. CS_INVALID with the
 * nearest known name otherwise; ret is untouched then.
 */
int cs_capability_parse(const char *text, char ret[static CS_CAPABILITY_TEXT], struct cs_err *err);

/* Is it a name exactly as config.json wants it, "CAP_…" in capitals, and known? */
bool cs_capability_known(const char *name);

/* Name of capability number i as config.json has it; false past the last one that libcap knows. */
bool cs_capability_at(size_t i, char ret[static CS_CAPABILITY_TEXT]);

/* --- getrlimit(2) ---------------------------------------------------------- */

struct cs_rlimit_row {
	const char *word; /* "nofile": as docker run --ulimit spells it */
	const char *type; /* "RLIMIT_NOFILE": as config.json does */
	int resource;     /* RLIMIT_NOFILE */
};

/* Row of either spelling; NULL when there is none. */
const struct cs_rlimit_row *cs_rlimit_row(const char *word_or_type);

/* i-th row, NULL past the end. */
const struct cs_rlimit_row *cs_rlimit_row_at(size_t i);

/* --- what of /proc and /sys is covered ------------------------------------- */

/*
 * NULL-terminated, sorted. The unions of what runc's `spec`, Docker and Podman
 * cover; paths that a kernel does not have are passed over by every engine.
 * Docker and Podman mask thermal_throttle of each CPU as well: these paths
 * depend on the host, see masked_extra in spec_new.h.
 */
extern const char *const cs_masked_paths[];
extern const char *const cs_readonly_paths[];

#endif
