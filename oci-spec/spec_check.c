#include "oci-spec/spec_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "oci-spec/spec.h"
#include "oci-spec/spec_rules.h"

/* --- the list of failures ---------------------------------------------------------------- */

struct failures {
	struct cs_strv *lines;
	int n;
	bool out_of_memory;
};

/* The text comes from the config: what a terminal would act on becomes a question mark. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static void CS_PRINTF(2, 3) report(struct failures *failures, const char *fmt, ...)
{
	cs_autofree char *line = NULL;
	va_list ap;
	int n;

	if (failures->n > CS_SPEC_FAILURES_MAX)
		return;
	va_start(ap, fmt);
	n = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (n < 0) {
		line = NULL;
		failures->out_of_memory = true;
		return;
	}
	make_printable(line);
	if (failures->n == CS_SPEC_FAILURES_MAX)
		failures->out_of_memory |= cs_strv_addf(failures->lines, "and more") < 0;
	else
		failures->out_of_memory |= cs_strv_add(failures->lines, line) < 0;
	failures->n++;
}

/* --- rule rows ------------------------------------------------------------------------------ */

/* Where the walk is: a chain of links on the stack, printed when something fails. */
struct place {
	const struct place *up;
	const char *key; /* not NUL-terminated; NULL for an index */
	size_t len_or_index;
};

static void print_place(struct cs_buf *buf, const struct place *place)
{
	if (place->up) {
		print_place(buf, place->up);
		cs_buf_addc(buf, '.');
	}
	if (place->key)
		cs_buf_add(buf, place->key, place->len_or_index);
	else
		cs_buf_addf(buf, "%zu", place->len_or_index);
}

static void report_at(struct failures *failures, const struct place *place, const char *text,
		      const char *kind_word)
{
	cs_auto(buf) path = CS_BUF_INIT(512);

	print_place(&path, place);
	report(failures, "%s: %s%s", path.data ? path.data : "?", text, kind_word);
}

static void check_value(struct failures *failures, const struct cs_spec_rule *rule,
			const struct cs_json *value, const struct place *place)
{
	if (cs_json_kind(value) == CS_JSON_NULL) {
		if (rule->required)
			report_at(failures, place, "is missing", "");
	} else if (cs_json_kind(value) != rule->kind) {
		report_at(failures, place, "must be ", cs_json_kind_word(rule->kind));
	} else if (rule->test && !rule->test(value)) {
		report_at(failures, place, rule->message, "");
	}
}

/* Follows what is left of the rule's path from here. */
static void walk(struct failures *failures, const struct cs_spec_rule *rule, const char *path,
		 const struct cs_json *node, const struct place *up)
{
	size_t len = strcspn(path, ".");
	const char *rest = path[len] ? path + len + 1 : NULL;
	char key[64];

	if (*path != '*') {
		const struct place place = { up, path, len };

		if (cs_json_kind(node) != CS_JSON_OBJECT)
			return; /* a row before this one said so */
		snprintf(key, sizeof(key), "%.*s", (int)len, path);
		if (rest)
			walk(failures, rule, rest, cs_json_member(node, key), &place);
		else
			check_value(failures, rule, cs_json_member(node, key), &place);
		return;
	}
	for (size_t i = 0; i < cs_json_count(node); i++) {
		const char *name = cs_json_key_at(node, i);
		const struct place place = { up, name, name ? strlen(name) : i };

		if (failures->n > CS_SPEC_FAILURES_MAX)
			return;
		if (rest)
			walk(failures, rule, rest, cs_json_at(node, i), &place);
		else
			check_value(failures, rule, cs_json_at(node, i), &place);
	}
}

/* --- paths that reach descriptors ------------------------------------------------------------- */

/* The part of path behind the directory, "" for the directory itself; NULL when it is not below. */
static const char *below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len > 0 && dir[len - 1] == '/')
		len--;
	if (strncmp(path, dir, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return path[len] == '/' ? path + len + 1 : path + len;
}

/* "self/…", "thread-self/…", "17/…": something inside of a process. */
static bool is_in_process(const char *path)
{
	size_t len = strcspn(path, "/");

	if (path[len] == '\0' || len == 0)
		return false;
	return strspn(path, "0123456789") == len || (len == 4 && memcmp(path, "self", 4) == 0) ||
	       (len == 11 && memcmp(path, "thread-self", 11) == 0);
}

/* Is it a descriptor, by procfs's or dev's name for it? The path is normal: one spelling. */
static bool is_descriptor(const char *path)
{
	static const char *const links[] = { "/dev/fd", "/dev/stdin", "/dev/stdout",
					     "/dev/stderr" };
	const char *in_proc = below(path, "/proc");

	for (size_t i = 0; i < CS_ARRAY_LEN(links); i++)
		if (below(path, links[i]))
			return true;
	return in_proc && is_in_process(in_proc);
}

/*
 * Adds a component to a normal path: "." and "" stay, ".." goes up. The path
 * needs room for it.
 */
static void step(char *path, const char *part, size_t len)
{
	size_t end = strlen(path);

	if (len == 0 || (len == 1 && part[0] == '.'))
		return;
	if (len == 2 && part[0] == '.' && part[1] == '.') {
		char *slash = strrchr(path, '/');

		if (slash)
			*slash = '\0';
		return;
	}
	path[end] = '/';
	memcpy(path + end + 1, part, len);
	path[end + 1 + len] = '\0';
}

/* One spelling of a path: "/a//b/../c" → "/a/c". The caller frees it; NULL when memory ran out. */
static char *normal(const char *path)
{
	char *result = calloc(1, strlen(path) + 2);

	for (; result && *path; path += strcspn(path, "/"), path += *path == '/')
		step(result, path, strcspn(path, "/"));
	return result;
}

/* Whether a mount of the config shows the directory under a name that is_descriptor knows. */
static bool is_descriptor_through(const char *path, const struct cs_json *mount)
{
	const char *type = cs_json_string(cs_json_member(mount, "type"));
	const char *source = cs_json_string(cs_json_member(mount, "source"));
	const char *given = cs_json_string(cs_json_member(mount, "destination"));
	cs_autofree char *destination = normal(given ? given : "/");
	cs_autofree char *there = NULL;
	const char *rest;

	if (type && strcmp(type, "proc") == 0)
		source = "/proc";
	else if (!cs_spec_mount_is_bind(mount))
		source = NULL;
	rest = source && given && destination ? below(path, destination) : NULL;
	if (!rest || asprintf(&there, "%s/%s", source, rest) < 0) {
		there = NULL;
		return false;
	}
	{
		cs_autofree char *spelt = normal(there);

		return spelt && is_descriptor(spelt);
	}
}

/* Looks at every step of the way; mounts may be NULL. 1 yes, 0 no, -ENOMEM. */
static int reaches_descriptor(const char *cwd, const struct cs_json *mounts)
{
	cs_autofree char *path = calloc(1, strlen(cwd) + 2);

	if (!path)
		return -ENOMEM;
	while (*cwd) {
		size_t len = strcspn(cwd, "/");

		step(path, cwd, len);
		cwd += len + (cwd[len] == '/');
		if (is_descriptor(path))
			return 1;
		for (size_t i = 0; i < cs_json_count(mounts); i++)
			if (is_descriptor_through(path, cs_json_at(mounts, i)))
				return 1;
	}
	return 0;
}

int cs_spec_check_cwd(const char *cwd, struct cs_err *err)
{
	int reaches = reaches_descriptor(cwd, NULL);

	if (reaches < 0)
		return cs_fail(err, CS_LIMIT, -reaches, "cwd");
	if (reaches)
		return cs_fail(err, CS_DENIED, 0,
			       "cwd '%s' lies among a process's descriptors (CVE-2024-21626)", cwd);
	return 0;
}

/* --- rules that look at several places -------------------------------------------------------------- */

static void check_cwd(struct failures *failures, const struct cs_json *config)
{
	const char *cwd = cs_json_string(cs_json_get(config, "process.cwd"));
	int reaches = cwd ? reaches_descriptor(cwd, cs_json_member(config, "mounts")) : 0;

	if (reaches < 0)
		failures->out_of_memory = true;
	else if (reaches)
		report(failures,
		       "process.cwd: '%s' lies among a process's descriptors (CVE-2024-21626)",
		       cwd);
}

/* The member of all rows of an array must differ. */
static void check_unique(struct failures *failures, const struct cs_json *config, const char *path,
			 const char *key)
{
	const struct cs_json *array = cs_json_get(config, path);
	size_t n = CS_MIN(cs_json_count(array), (size_t)CS_SPEC_FAILURES_MAX);

	for (size_t i = 0; i < n; i++) {
		const char *word = cs_json_string(cs_json_member(cs_json_at(array, i), key));

		for (size_t k = 0; word && k < i; k++) {
			const char *other =
				cs_json_string(cs_json_member(cs_json_at(array, k), key));

			if (other && strcmp(word, other) == 0) {
				report(failures, "%s.%zu.%s: '%s' is there twice", path, i, key,
				       word);
				break;
			}
		}
	}
}

static void check_rlimits(struct failures *failures, const struct cs_json *config)
{
	const struct cs_json *array = cs_json_get(config, "process.rlimits");
	uint64_t soft, hard;

	check_unique(failures, config, "process.rlimits", "type");
	for (size_t i = 0; i < cs_json_count(array); i++) {
		const struct cs_json *row = cs_json_at(array, i);

		if (cs_json_get_u64(cs_json_member(row, "soft"), &soft) == 0 &&
		    cs_json_get_u64(cs_json_member(row, "hard"), &hard) == 0 && soft > hard)
			report(failures,
			       "process.rlimits.%zu.soft: must not be above the hard limit", i);
	}
}

static void check_namespaces(struct failures *failures, const struct cs_json *config)
{
	static const char *const mappings[] = { "linux.uidMappings", "linux.gidMappings" };
	const char *hostname = cs_json_string(cs_json_member(config, "hostname"));

	check_unique(failures, config, "linux.namespaces", "type");
	for (size_t i = 0; i < CS_ARRAY_LEN(mappings); i++)
		if (cs_json_count(cs_json_get(config, mappings[i])) > 0 &&
		    !cs_spec_namespace(config, CS_NS_USER))
			report(failures, "%s: needs a namespace of type user", mappings[i]);
	if (hostname && *hostname && !cs_spec_namespace(config, CS_NS_UTS))
		report(failures, "hostname: needs a namespace of type uts");
}

/* A bound that looks applied and is not: a bind mount passes by what is meant for a file system. */
static void check_bind_mounts(struct failures *failures, const struct cs_json *config)
{
	static const char *const limits[] = { "size=", "nr_inodes=", "nr_blocks=" };
	const struct cs_json *mounts = cs_json_member(config, "mounts");

	for (size_t i = 0; i < cs_json_count(mounts); i++) {
		const struct cs_json *mount = cs_json_at(mounts, i);
		const struct cs_json *option;

		if (!cs_spec_mount_is_bind(mount))
			continue;
		cs_json_each (option, cs_json_member(mount, "options")) {
			const char *text = cs_json_string(option);

			for (size_t k = 0; text && k < CS_ARRAY_LEN(limits); k++)
				if (strncmp(text, limits[k], strlen(limits[k])) == 0)
					report(failures,
					       "mounts.%zu.options: '%s' has no effect on a bind "
					       "mount",
					       i, text);
		}
	}
}

/* --- the whole ---------------------------------------------------------------------------------------- */

static void check_config(struct failures *failures, const struct cs_json *config)
{
	const struct cs_spec_rule *rule;

	if (cs_json_kind(config) != CS_JSON_OBJECT) {
		report(failures, "config.json: must be an object");
		return;
	}
	for (size_t i = 0; (rule = cs_spec_rule_at(i)) != NULL; i++)
		walk(failures, rule, rule->path, config, NULL);
	check_cwd(failures, config);
	check_rlimits(failures, config);
	check_namespaces(failures, config);
	check_bind_mounts(failures, config);
}

static int finish(const struct failures *failures, struct cs_err *err)
{
	if (failures->out_of_memory)
		return cs_fail(err, CS_LIMIT, ENOMEM, "checking config.json");
	return failures->n;
}

int cs_spec_check(const struct cs_json *config, struct cs_strv *ret_failures, struct cs_err *err)
{
	struct failures failures = { .lines = ret_failures };

	check_config(&failures, config);
	return finish(&failures, err);
}

static void check_rootfs(struct failures *failures, const struct cs_json *config, int dirfd)
{
	const char *path = cs_json_string(cs_json_get(config, "root.path"));
	struct stat st;

	if (!path || !*path)
		return;
	if (fstatat(dirfd, path, &st, 0) < 0)
		report(failures, "root.path: '%s': %s", path, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		report(failures, "root.path: '%s' is no directory", path);
}

int cs_spec_check_bundle(const char *dir, struct cs_strv *ret_failures, struct cs_err *err)
{
	struct failures failures = { .lines = ret_failures };
	cs_autojson struct cs_json *config = NULL;
	cs_autofd int dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dirfd < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "bundle '%s'", dir);
	if (cs_json_read_file(dirfd, "config.json", &config, err) < 0)
		return cs_wrap(err, "bundle '%s'", dir);
	check_config(&failures, config);
	check_rootfs(&failures, config, dirfd);
	return finish(&failures, err);
}
