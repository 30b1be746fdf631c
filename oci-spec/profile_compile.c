#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "oci-spec/profile_int.h"
#include "shim/base/file.h"

/* --- words to numbers --------------------------------------------------------------------- */

/*
 * errnoRet is the errno of ERRNO, EPERM when absent, and the message of TRACE
 * (config-linux.md, "Seccomp").
 */
static int action_of(const struct cs_json *object, const char *action_key, const char *errno_key,
		     uint32_t *ret, struct cs_err *err)
{
	const char *word = cs_json_string(cs_json_member(object, action_key));
	const struct cs_json *given = cs_json_member(object, errno_key);
	uint64_t errnum = EPERM;
	const struct {
		const char *word;
		uint32_t action;
	} rows[] = {
		{ "SCMP_ACT_ALLOW", SCMP_ACT_ALLOW },
		{ "SCMP_ACT_KILL", SCMP_ACT_KILL },
		{ "SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS },
		{ "SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD },
		{ "SCMP_ACT_LOG", SCMP_ACT_LOG },
		{ "SCMP_ACT_TRAP", SCMP_ACT_TRAP },
	};

	if (cs_json_kind(given) != CS_JSON_NULL &&
	    (cs_json_get_u64(given, &errnum) < 0 || errnum > UINT16_MAX))
		return cs_fail(err, CS_INVALID, 0, "%s: must be from 0 to 65535", errno_key);
	for (size_t i = 0; word && i < CS_ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].word, word) == 0) {
			*ret = rows[i].action;
			return 0;
		}
	if (word && strcmp(word, "SCMP_ACT_ERRNO") == 0)
		*ret = SCMP_ACT_ERRNO((uint16_t)errnum);
	else if (word && strcmp(word, "SCMP_ACT_TRACE") == 0)
		*ret = SCMP_ACT_TRACE((uint16_t)errnum);
	else
		return cs_fail(err, CS_UNSUPPORTED, 0, "%s: '%s' is no part of a program",
			       action_key, word ? word : "");
	return 0;
}

static int op_of(const char *word, enum scmp_compare *ret)
{
	static const struct {
		const char *word;
		enum scmp_compare op;
	} rows[] = {
		{ "SCMP_CMP_NE", SCMP_CMP_NE },
		{ "SCMP_CMP_LT", SCMP_CMP_LT },
		{ "SCMP_CMP_LE", SCMP_CMP_LE },
		{ "SCMP_CMP_EQ", SCMP_CMP_EQ },
		{ "SCMP_CMP_GE", SCMP_CMP_GE },
		{ "SCMP_CMP_GT", SCMP_CMP_GT },
		{ "SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ },
	};

	for (size_t i = 0; word && i < CS_ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].word, word) == 0) {
			*ret = rows[i].op;
			return 0;
		}
	return -EINVAL;
}

#define ARGS_MAX 6

struct conditions {
	struct scmp_arg_cmp arg[ARGS_MAX];
	unsigned n;
	bool alternatives; /* an argument is there twice: each condition is a rule of its own */
};

static int conditions_of(const struct cs_json *rule, struct conditions *ret, struct cs_err *err)
{
	const struct cs_json *arg;
	unsigned seen = 0;

	*ret = (struct conditions){ 0 };
	cs_json_each (arg, cs_json_member(rule, "args")) {
		const struct cs_json *second = cs_json_member(arg, "valueTwo");
		uint64_t index, value, value_two = 0;
		enum scmp_compare op;

		if (ret->n == ARGS_MAX)
			return cs_fail(err, CS_UNSUPPORTED, 0, "args: more than %d", ARGS_MAX);
		if (cs_json_get_u64(cs_json_member(arg, "index"), &index) < 0 ||
		    index >= ARGS_MAX ||
		    cs_json_get_u64(cs_json_member(arg, "value"), &value) < 0 ||
		    (cs_json_kind(second) != CS_JSON_NULL &&
		     cs_json_get_u64(second, &value_two) < 0) ||
		    op_of(cs_json_string(cs_json_member(arg, "op")), &op) < 0)
			return cs_fail(err, CS_INVALID, 0, "args.%u: is no condition", ret->n);
		ret->alternatives = ret->alternatives || (seen & 1u << index) != 0;
		seen |= 1u << index;
		ret->arg[ret->n++] = (struct scmp_arg_cmp){ (unsigned)index, op, value, value_two };
	}
	return 0;
}

/* --- rules ------------------------------------------------------------------------------------- */

static int add_call(scmp_filter_ctx filter, uint32_t action, const char *name,
		    const struct conditions *conditions, struct cs_err *err)
{
	int number = name ? seccomp_syscall_resolve_name(name) : __NR_SCMP_ERROR;
	unsigned step = conditions->alternatives ? 1 : conditions->n;
	unsigned i = 0;
	int r;

	if (number == __NR_SCMP_ERROR)
		return 0; /* as every engine: unknown here, so the default's */
	do {
		r = seccomp_rule_add_array(filter, action, number, step, conditions->arg + i);
		i += step;
	} while (r == 0 && i < conditions->n);
	if (r < 0)
		return cs_fail(err, r == -ENOMEM ? CS_LIMIT : CS_INVALID, -r, "%s", name);
	return 0;
}

static int add_rules(scmp_filter_ctx filter, uint32_t default_action, const struct cs_json *profile,
		     struct cs_err *err)
{
	const struct cs_json *rules = cs_json_member(profile, "syscalls");

	for (size_t i = 0; i < cs_json_count(rules); i++) {
		const struct cs_json *rule = cs_json_at(rules, i);
		const struct cs_json *name;
		struct conditions conditions;
		uint32_t action;

		if (action_of(rule, "action", "errnoRet", &action, err) < 0 ||
		    conditions_of(rule, &conditions, err) < 0)
			return cs_wrap(err, "syscalls.%zu", i);
		if (action == default_action)
			continue; /* libseccomp takes no rule that says nothing */
		cs_json_each (name, cs_json_member(rule, "names"))
			if (add_call(filter, action, cs_json_string(name), &conditions, err) < 0)
				return cs_wrap(err, "syscalls.%zu", i);
	}
	return 0;
}

/* "SCMP_ARCH_X86_64" → libseccomp's "x86_64" → token; 0 when it does not know it. */
static uint32_t arch_token(const char *word)
{
	static const char prefix[] = "SCMP_ARCH_";
	char name[32] = "";

	if (!word || strncmp(word, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	word += sizeof(prefix) - 1;
	for (size_t i = 0; i < sizeof(name) - 1 && word[i]; i++)
		name[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] - 'A' + 'a' : word[i]);
	return seccomp_arch_resolve_name(name);
}

/* The native architecture is in every new filter, as in the engines'. */
static int add_architectures(scmp_filter_ctx filter, const struct cs_json *profile,
			     struct cs_err *err)
{
	const struct cs_json *arch;

	cs_json_each (arch, cs_json_member(profile, "architectures")) {
		uint32_t token = arch_token(cs_json_string(arch));
		int r = token == 0 ? -EINVAL : seccomp_arch_add(filter, token);

		if (r < 0 && r != -EEXIST)
			return cs_fail(err, CS_INVALID, -r, "architectures: '%s'",
				       cs_json_string(arch) ? cs_json_string(arch) : "");
	}
	return 0;
}

/* --- the program ---------------------------------------------------------------------------------- */

static int export_bpf(scmp_filter_ctx filter, struct cs_buf *ret_bpf, struct cs_err *err)
{
	cs_autofd int fd = memfd_create("caisson-seccomp", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : seccomp_export_bpf(filter, fd);

	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		r = cs_file_read_fd(fd, ret_bpf);
	return r < 0 ? cs_fail(err, cs_err_kind_of_errno(-r), -r, "export") : 0;
}

int cs_profile_compile(const struct cs_json *profile, struct cs_buf *ret_bpf, struct cs_err *err)
{
	scmp_filter_ctx filter;
	uint32_t default_action;
	int r = -1;

	if (cs_json_count(cs_json_member(profile, "flags")) > 0 ||
	    cs_json_member(profile, "listenerPath"))
		return cs_fail(err, CS_UNSUPPORTED, 0,
			       "seccomp: flags and listeners are no part of a program");
	if (action_of(profile, "defaultAction", "defaultErrnoRet", &default_action, err) < 0)
		return cs_wrap(err, "seccomp");
	filter = seccomp_init(default_action);
	if (!filter)
		return cs_fail(err, CS_LIMIT, 0, "seccomp: out of memory");
	/*
	 * A tree of comparisons in place of a chain (seccomp_attr_set(3)): at load the kernel walks the program
	 * once for every system call number (seccomp_cache_prepare()), which a chain of 400 makes slow. Before
	 * libseccomp 2.5 it is a chain all the same.
	 */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (add_architectures(filter, profile, err) == 0 &&
	    add_rules(filter, default_action, profile, err) == 0 &&
	    export_bpf(filter, ret_bpf, err) == 0)
		r = 0;
	else
		cs_wrap(err, "seccomp");
	seccomp_release(filter);
	return r;
}

void cs_profile_compiler(char ret[static 64])
{
	const struct scmp_version *version = seccomp_version();
	const struct cs_profile_arch *native = cs_profile_arch(seccomp_arch_native());

	snprintf(ret, 64, "libseccomp %u.%u.%u tree %s", version->major, version->minor, version->micro,
		 native ? native->name : "?");
}
