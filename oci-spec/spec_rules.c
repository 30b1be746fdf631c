#include "oci-spec/spec_rules.h"

#include <limits.h>
#include <string.h>

#include "oci-spec/profile.h"
#include "oci-spec/resources.h"
#include "oci-spec/spec_tables.h"

/* --- tests: the value has the row's kind already --------------------------------------- */

static bool is_filled(const struct cs_json *value)
{
	return cs_json_kind(value) == CS_JSON_ARRAY ? cs_json_count(value) > 0
						     : cs_json_string(value) && *cs_json_string(value);
}

/* Strings that become C strings: no NUL inside. */
static bool is_text(const struct cs_json *value)
{
	return cs_json_string(value) != NULL;
}

static bool is_absolute(const struct cs_json *value)
{
	return cs_json_string(value) && cs_json_string(value)[0] == '/';
}

/* What chdir(2) can take. */
static bool is_cwd(const struct cs_json *value)
{
	return is_absolute(value) && strlen(cs_json_string(value)) < PATH_MAX;
}

static bool is_environment(const struct cs_json *value)
{
	const char *text = cs_json_string(value);

	return text && text[0] != '=' && strchr(text, '=') != NULL;
}

/* "1.0.2", "1.1.0-rc.1": semver, major 1. */
static bool is_version(const struct cs_json *value)
{
	const char *text = cs_json_string(value);

	if (!text)
		return false;
	for (int part = 0; part < 3; part++) {
		size_t digits = strspn(text, "0123456789");

		if (digits == 0 || (part == 0 && (digits != 1 || *text != '1')))
			return false;
		text += digits;
		if (part < 2 && *text++ != '.')
			return false;
	}
	return *text == '\0' || *text == '-' || *text == '+';
}

static bool is_u64(const struct cs_json *value)
{
	uint64_t number;

	return cs_json_get_u64(value, &number) == 0;
}

static bool is_u32(const struct cs_json *value)
{
	uint64_t number;

	return cs_json_get_u64(value, &number) == 0 && number <= UINT32_MAX;
}

static bool is_i64(const struct cs_json *value)
{
	int64_t number;

	return cs_json_get_i64(value, &number) == 0;
}

static bool is_positive(const struct cs_json *value)
{
	int64_t number;

	return cs_json_get_i64(value, &number) == 0 && number > 0;
}

static bool is_oom_score(const struct cs_json *value)
{
	int64_t number;

	return cs_json_get_i64(value, &number) == 0 && number >= -1000 && number <= 1000;
}

static bool is_swappiness(const struct cs_json *value)
{
	uint64_t number;

	return cs_json_get_u64(value, &number) == 0 && number <= 100;
}

static bool is_arg_index(const struct cs_json *value)
{
	uint64_t number;

	return cs_json_get_u64(value, &number) == 0 && number <= 5;
}

static bool is_cpu_list(const struct cs_json *value)
{
	const char *text = cs_json_string(value);

	return text && (*text == '\0' || cs_cpuset_equal(text, text) == 1);
}

static bool is_capability(const struct cs_json *value)
{
	return cs_json_string(value) && cs_capability_known(cs_json_string(value));
}

static bool is_rlimit(const struct cs_json *value)
{
	const char *text = cs_json_string(value);
	const struct cs_rlimit_row *row = text ? cs_rlimit_row(text) : NULL;

	return row && strcmp(row->type, text) == 0;
}

static bool is_namespace(const struct cs_json *value)
{
	return cs_json_string(value) &&
	       cs_namespace_by_word(cs_json_string(value)) != CS_NAMESPACES;
}

static bool is_one_of(const struct cs_json *value, const char *const *words)
{
	for (; *words && cs_json_string(value); words++)
		if (strcmp(*words, cs_json_string(value)) == 0)
			return true;
	return false;
}

static bool is_propagation(const struct cs_json *value)
{
	static const char *const words[] = {
		"",      "private", "rprivate",   "shared",      "rshared",
		"slave", "rslave",  "unbindable", "runbindable", NULL,
	};

	return is_one_of(value, words);
}

static bool is_device_node(const struct cs_json *value)
{
	return is_one_of(value, (const char *const[]){ "b", "c", "u", "p", NULL });
}

static bool is_device_class(const struct cs_json *value)
{
	return is_one_of(value, (const char *const[]){ "", "a", "b", "c", NULL });
}

static bool is_device_access(const struct cs_json *value)
{
	const char *text = cs_json_string(value);

	return text && text[strspn(text, "rwm")] == '\0';
}

static bool is_action(const struct cs_json *value)
{
	return cs_json_string(value) && cs_profile_action_known(cs_json_string(value));
}

static bool is_arch(const struct cs_json *value)
{
	return cs_json_string(value) && cs_profile_arch_known(cs_json_string(value));
}

static bool is_op(const struct cs_json *value)
{
	return cs_json_string(value) && cs_profile_op_known(cs_json_string(value));
}

/* --- rows -------------------------------------------------------------------------------- */

#define OBJECT CS_JSON_OBJECT, false, NULL, NULL
#define ARRAY CS_JSON_ARRAY, false, NULL, NULL
#define BOOL CS_JSON_BOOL, false, NULL, NULL
#define NEED(kind, test, message) CS_JSON_##kind, true, test, message
#define MAY(kind, test, message) CS_JSON_##kind, false, test, message
#define TEXT CS_JSON_STRING, false, is_text, "must not hold NUL"
#define ABSOLUTE "must be an absolute path"
#define U32 "must be a whole number from 0 to 4294967295"
#define U64 "must be a whole number from 0 to 18446744073709551615"
#define I64 "must be a whole number of 64 bits"
#define CPUS "must be a list such as 0-3,8"
#define CAPABILITY "is no capability that this system knows"

/* clang-format off */
static const struct cs_spec_rule rules[] = {
	{ "ociVersion", NEED(STRING, is_version, "must be a version of runtime-spec 1, such as 1.0.2") },

	{ "root", NEED(OBJECT, NULL, NULL) },
	{ "root.path", NEED(STRING, is_filled, "must not be empty") },
	{ "root.readonly", BOOL },

	{ "process", NEED(OBJECT, NULL, NULL) },
	{ "process.terminal", BOOL },
	{ "process.consoleSize", OBJECT },
	{ "process.consoleSize.height", NEED(NUMBER, is_u32, U32) },
	{ "process.consoleSize.width", NEED(NUMBER, is_u32, U32) },
	{ "process.user", OBJECT },
	{ "process.user.uid", NEED(NUMBER, is_u32, U32) },
	{ "process.user.gid", NEED(NUMBER, is_u32, U32) },
	{ "process.user.umask", MAY(NUMBER, is_u32, U32) },
	{ "process.user.additionalGids", ARRAY },
	{ "process.user.additionalGids.*", MAY(NUMBER, is_u32, U32) },
	{ "process.args", NEED(ARRAY, is_filled, "must name a program") },
	{ "process.args.*", TEXT },
	{ "process.env", ARRAY },
	{ "process.env.*", MAY(STRING, is_environment, "must be NAME=VALUE") },
	{ "process.cwd", NEED(STRING, is_cwd, ABSOLUTE ", of less than 4096 bytes") },
	{ "process.capabilities", OBJECT },
	{ "process.capabilities.bounding", ARRAY },
	{ "process.capabilities.bounding.*", MAY(STRING, is_capability, CAPABILITY) },
	{ "process.capabilities.effective", ARRAY },
	{ "process.capabilities.effective.*", MAY(STRING, is_capability, CAPABILITY) },
	{ "process.capabilities.inheritable", ARRAY },
	{ "process.capabilities.inheritable.*", MAY(STRING, is_capability, CAPABILITY) },
	{ "process.capabilities.permitted", ARRAY },
	{ "process.capabilities.permitted.*", MAY(STRING, is_capability, CAPABILITY) },
	{ "process.capabilities.ambient", ARRAY },
	{ "process.capabilities.ambient.*", MAY(STRING, is_capability, CAPABILITY) },
	{ "process.rlimits", ARRAY },
	{ "process.rlimits.*", OBJECT },
	{ "process.rlimits.*.type", NEED(STRING, is_rlimit, "is no limit of getrlimit(2)") },
	{ "process.rlimits.*.hard", NEED(NUMBER, is_u64, U64) },
	{ "process.rlimits.*.soft", NEED(NUMBER, is_u64, U64) },
	{ "process.noNewPrivileges", BOOL },
	{ "process.apparmorProfile", TEXT },
	{ "process.selinuxLabel", TEXT },
	{ "process.oomScoreAdj", MAY(NUMBER, is_oom_score, "must be from -1000 to 1000") },

	{ "hostname", TEXT },
	{ "domainname", TEXT },

	{ "mounts", ARRAY },
	{ "mounts.*", OBJECT },
	{ "mounts.*.destination", NEED(STRING, is_absolute, ABSOLUTE) },
	{ "mounts.*.type", TEXT },
	{ "mounts.*.source", TEXT },
	{ "mounts.*.options", ARRAY },
	{ "mounts.*.options.*", TEXT },

	{ "hooks", OBJECT },
	{ "hooks.*", ARRAY },
	{ "hooks.*.*", OBJECT },
	{ "hooks.*.*.path", NEED(STRING, is_absolute, ABSOLUTE) },
	{ "hooks.*.*.args", ARRAY },
	{ "hooks.*.*.args.*", TEXT },
	{ "hooks.*.*.env", ARRAY },
	{ "hooks.*.*.env.*", MAY(STRING, is_environment, "must be NAME=VALUE") },
	{ "hooks.*.*.timeout", MAY(NUMBER, is_positive, "must be more than 0 seconds") },

	{ "annotations", OBJECT },
	{ "annotations.*", TEXT },

	{ "linux", OBJECT },
	{ "linux.namespaces", ARRAY },
	{ "linux.namespaces.*", OBJECT },
	{ "linux.namespaces.*.type", NEED(STRING, is_namespace, "is no kind of namespace") },
	{ "linux.namespaces.*.path", MAY(STRING, is_absolute, ABSOLUTE) },
	{ "linux.uidMappings", ARRAY },
	{ "linux.uidMappings.*", OBJECT },
	{ "linux.uidMappings.*.containerID", NEED(NUMBER, is_u32, U32) },
	{ "linux.uidMappings.*.hostID", NEED(NUMBER, is_u32, U32) },
	{ "linux.uidMappings.*.size", NEED(NUMBER, is_u32, U32) },
	{ "linux.gidMappings", ARRAY },
	{ "linux.gidMappings.*", OBJECT },
	{ "linux.gidMappings.*.containerID", NEED(NUMBER, is_u32, U32) },
	{ "linux.gidMappings.*.hostID", NEED(NUMBER, is_u32, U32) },
	{ "linux.gidMappings.*.size", NEED(NUMBER, is_u32, U32) },
	{ "linux.devices", ARRAY },
	{ "linux.devices.*", OBJECT },
	{ "linux.devices.*.path", NEED(STRING, is_absolute, ABSOLUTE) },
	{ "linux.devices.*.type", NEED(STRING, is_device_node, "must be c, b, u or p") },
	{ "linux.devices.*.major", MAY(NUMBER, is_i64, I64) },
	{ "linux.devices.*.minor", MAY(NUMBER, is_i64, I64) },
	{ "linux.devices.*.fileMode", MAY(NUMBER, is_u32, U32) },
	{ "linux.devices.*.uid", MAY(NUMBER, is_u32, U32) },
	{ "linux.devices.*.gid", MAY(NUMBER, is_u32, U32) },
	{ "linux.cgroupsPath", TEXT },
	{ "linux.resources", OBJECT },
	{ "linux.resources.devices", ARRAY },
	{ "linux.resources.devices.*", OBJECT },
	{ "linux.resources.devices.*.allow", NEED(BOOL, NULL, NULL) },
	{ "linux.resources.devices.*.type", MAY(STRING, is_device_class, "must be a, b or c") },
	{ "linux.resources.devices.*.major", MAY(NUMBER, is_i64, I64) },
	{ "linux.resources.devices.*.minor", MAY(NUMBER, is_i64, I64) },
	{ "linux.resources.devices.*.access", MAY(STRING, is_device_access, "must be made of r, w and m") },
	{ "linux.resources.memory", OBJECT },
	{ "linux.resources.memory.limit", MAY(NUMBER, is_i64, I64) },
	{ "linux.resources.memory.reservation", MAY(NUMBER, is_i64, I64) },
	{ "linux.resources.memory.swap", MAY(NUMBER, is_i64, I64) },
	{ "linux.resources.memory.kernel", MAY(NUMBER, is_i64, I64) },
	{ "linux.resources.memory.kernelTCP", MAY(NUMBER, is_i64, I64) },
	{ "linux.resources.memory.swappiness", MAY(NUMBER, is_swappiness, "must be from 0 to 100") },
	{ "linux.resources.memory.disableOOMKiller", BOOL },
	{ "linux.resources.cpu", OBJECT },
	{ "linux.resources.cpu.shares", MAY(NUMBER, is_u64, U64) },
	{ "linux.resources.cpu.quota", MAY(NUMBER, is_i64, I64) },
	{ "linux.resources.cpu.period", MAY(NUMBER, is_u64, U64) },
	{ "linux.resources.cpu.realtimeRuntime", MAY(NUMBER, is_i64, I64) },
	{ "linux.resources.cpu.realtimePeriod", MAY(NUMBER, is_u64, U64) },
	{ "linux.resources.cpu.cpus", MAY(STRING, is_cpu_list, CPUS) },
	{ "linux.resources.cpu.mems", MAY(STRING, is_cpu_list, CPUS) },
	{ "linux.resources.pids", OBJECT },
	{ "linux.resources.pids.limit", MAY(NUMBER, is_i64, I64) },
	{ "linux.resources.blockIO", OBJECT },
	{ "linux.resources.hugepageLimits", ARRAY },
	{ "linux.resources.network", OBJECT },
	{ "linux.resources.unified", OBJECT },
	{ "linux.resources.unified.*", TEXT },
	{ "linux.sysctl", OBJECT },
	{ "linux.sysctl.*", TEXT },
	{ "linux.rootfsPropagation", MAY(STRING, is_propagation, "is no kind of propagation") },
	{ "linux.mountLabel", TEXT },
	{ "linux.maskedPaths", ARRAY },
	{ "linux.maskedPaths.*", MAY(STRING, is_absolute, ABSOLUTE) },
	{ "linux.readonlyPaths", ARRAY },
	{ "linux.readonlyPaths.*", MAY(STRING, is_absolute, ABSOLUTE) },
	{ "linux.seccomp", OBJECT },
	{ "linux.seccomp.defaultAction", NEED(STRING, is_action, "is no action of seccomp") },
	{ "linux.seccomp.defaultErrnoRet", MAY(NUMBER, is_u32, U32) },
	{ "linux.seccomp.architectures", ARRAY },
	{ "linux.seccomp.architectures.*", MAY(STRING, is_arch, "is no architecture of seccomp") },
	{ "linux.seccomp.flags", ARRAY },
	{ "linux.seccomp.flags.*", TEXT },
	{ "linux.seccomp.syscalls", ARRAY },
	{ "linux.seccomp.syscalls.*", OBJECT },
	{ "linux.seccomp.syscalls.*.names", NEED(ARRAY, is_filled, "must name a system call") },
	{ "linux.seccomp.syscalls.*.names.*", MAY(STRING, is_filled, "must not be empty") },
	{ "linux.seccomp.syscalls.*.action", NEED(STRING, is_action, "is no action of seccomp") },
	{ "linux.seccomp.syscalls.*.errnoRet", MAY(NUMBER, is_u32, U32) },
	{ "linux.seccomp.syscalls.*.args", ARRAY },
	{ "linux.seccomp.syscalls.*.args.*", OBJECT },
	{ "linux.seccomp.syscalls.*.args.*.index", NEED(NUMBER, is_arg_index, "must be from 0 to 5") },
	{ "linux.seccomp.syscalls.*.args.*.value", NEED(NUMBER, is_u64, U64) },
	{ "linux.seccomp.syscalls.*.args.*.valueTwo", MAY(NUMBER, is_u64, U64) },
	{ "linux.seccomp.syscalls.*.args.*.op", NEED(STRING, is_op, "is no comparison of seccomp") },
};
/* clang-format on */

const struct cs_spec_rule *cs_spec_rule_at(size_t i)
{
	return i < CS_ARRAY_LEN(rules) ? &rules[i] : NULL;
}
