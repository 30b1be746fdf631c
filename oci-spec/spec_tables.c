#include "oci-spec/spec_tables.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/capability.h>
#include <sys/resource.h>

#include "shim/base/parse.h"

/* --- namespaces ------------------------------------------------------------ */

static const char *const namespaces[] = {
	[CS_NS_PID] = "pid",     [CS_NS_IPC] = "ipc",       [CS_NS_UTS] = "uts",
	[CS_NS_MOUNT] = "mount", [CS_NS_CGROUP] = "cgroup", [CS_NS_NETWORK] = "network",
	[CS_NS_USER] = "user",   [CS_NS_TIME] = "time",
};
_Static_assert(CS_ARRAY_LEN(namespaces) == CS_NAMESPACES, "a word for every namespace");

const char *cs_namespace_word(enum cs_namespace ns)
{
	return namespaces[ns];
}

enum cs_namespace cs_namespace_by_word(const char *word)
{
	enum cs_namespace ns = 0;

	while (ns < CS_NAMESPACES && strcmp(namespaces[ns], word) != 0)
		ns++;
	return ns;
}

/* --- capabilities ---------------------------------------------------------- */

bool cs_capability_at(size_t i, char ret[static CS_CAPABILITY_TEXT])
{
	char *name;

	if (i > CAP_LAST_CAP)
		return false;
	name = cap_to_name((cap_value_t)i); /* "cap_chown"; a number when this libcap has none */
	if (!name || strncmp(name, "cap_", 4) != 0 || strlen(name) >= CS_CAPABILITY_TEXT) {
		cap_free(name);
		return false;
	}
	for (size_t n = 0; n <= strlen(name); n++)
		ret[n] = (char)toupper((unsigned char)name[n]);
	cap_free(name);
	return true;
}

bool cs_capability_known(const char *name)
{
	char known[CS_CAPABILITY_TEXT];

	for (size_t i = 0; cs_capability_at(i, known); i++)
		if (strcmp(name, known) == 0)
			return true;
	return false;
}

int cs_capability_parse(const char *text, char ret[static CS_CAPABILITY_TEXT], struct cs_err *err)
{
	const char *bare = strncasecmp(text, "CAP_", 4) == 0 ? text + 4 : text;
	char known[CS_CAPABILITY_TEXT], nearest[CS_CAPABILITY_TEXT] = "";
	char upper[CS_CAPABILITY_TEXT] = "";
	size_t best = 5; /* farther than this is no slip of the finger */

	for (size_t n = 0; n < sizeof(upper) - 1 && bare[n]; n++)
		upper[n] = (char)toupper((unsigned char)bare[n]);
	for (size_t i = 0; cs_capability_at(i, known); i++) {
		size_t far;

		if (strcasecmp(bare, known + 4) == 0) {
			memcpy(ret, known, sizeof(known));
			return 0;
		}
		far = cs_edit_distance(upper, known + 4, best);
		if (far < best) {
			best = far;
			memcpy(nearest, known, sizeof(known));
		}
	}
	if (nearest[0])
		return cs_fail(err, CS_INVALID, 0, "unknown capability '%s': did you mean %s?",
			       text, nearest);
	return cs_fail(err, CS_INVALID, 0, "unknown capability '%s' (see capabilities(7))", text);
}

/* --- rlimits ---------------------------------------------------------------- */

static const struct cs_rlimit_row rlimits[] = {
	{ "as", "RLIMIT_AS", RLIMIT_AS },
	{ "core", "RLIMIT_CORE", RLIMIT_CORE },
	{ "cpu", "RLIMIT_CPU", RLIMIT_CPU },
	{ "data", "RLIMIT_DATA", RLIMIT_DATA },
	{ "fsize", "RLIMIT_FSIZE", RLIMIT_FSIZE },
	{ "locks", "RLIMIT_LOCKS", RLIMIT_LOCKS },
	{ "memlock", "RLIMIT_MEMLOCK", RLIMIT_MEMLOCK },
	{ "msgqueue", "RLIMIT_MSGQUEUE", RLIMIT_MSGQUEUE },
	{ "nice", "RLIMIT_NICE", RLIMIT_NICE },
	{ "nofile", "RLIMIT_NOFILE", RLIMIT_NOFILE },
	{ "nproc", "RLIMIT_NPROC", RLIMIT_NPROC },
	{ "rss", "RLIMIT_RSS", RLIMIT_RSS },
	{ "rtprio", "RLIMIT_RTPRIO", RLIMIT_RTPRIO },
	{ "rttime", "RLIMIT_RTTIME", RLIMIT_RTTIME },
	{ "sigpending", "RLIMIT_SIGPENDING", RLIMIT_SIGPENDING },
	{ "stack", "RLIMIT_STACK", RLIMIT_STACK },
};
_Static_assert(CS_ARRAY_LEN(rlimits) == RLIM_NLIMITS, "a row for every limit of getrlimit(2)");

const struct cs_rlimit_row *cs_rlimit_row_at(size_t i)
{
	return i < CS_ARRAY_LEN(rlimits) ? &rlimits[i] : NULL;
}

const struct cs_rlimit_row *cs_rlimit_row(const char *word_or_type)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(rlimits); i++)
		if (strcmp(rlimits[i].word, word_or_type) == 0 ||
		    strcmp(rlimits[i].type, word_or_type) == 0)
			return &rlimits[i];
	return NULL;
}

/* --- masked and read-only paths ---------------------------------------------- */

const char *const cs_masked_paths[] = {
	"/proc/acpi",        "/proc/asound",    "/proc/interrupts",
	"/proc/kcore",       "/proc/keys",      "/proc/latency_stats",
	"/proc/sched_debug", "/proc/scsi",      "/proc/timer_list",
	"/proc/timer_stats", "/sys/dev/block",  "/sys/devices/virtual/powercap",
	"/sys/firmware",     "/sys/fs/selinux", NULL,
};

const char *const cs_readonly_paths[] = {
	"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", NULL,
};
