/* What a binary says of itself, and the cache of it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/base/file.h"
#include "shim/base/hash.h"
#include "shim/engine/engine_argv.h"
#include "shim/engine/engine_int.h"

#define ASK_TIMEOUT_NS (2 * CS_NSEC_PER_SEC)
#define FLAGS_MAX 256
#define CACHE_VERSION 1
#define CACHE_BYTES_MAX (256 * 1024)

void cs__facts_release(struct cs__facts *facts)
{
	cs_strv_release(&facts->flags);
	cs_buf_release(&facts->features);
	*facts = (struct cs__facts){ 0 };
}

/* --- asking ------------------------------------------------------------------- */

/* stdout (help: or stderr) of `path arg`; left empty when it fails or does not answer in time. */
static int ask(struct cs_loop *loop, const char *path, const char *arg, struct cs_buf *ret)
{
	cs_auto(strv) argv = CS_STRV_INIT;
	struct cs__run run = { .timeout_ns = ASK_TIMEOUT_NS };
	struct cs__run_result result;
	struct cs_err err = CS_ERR_INIT;

	*ret = (struct cs_buf){ 0 };
	if (cs_strv_add(&argv, path) < 0 || cs_strv_add(&argv, arg) < 0)
		return -ENOMEM;
	run.argv = cs_strv_v(&argv);
	if (cs__run(loop, &run, &result, &err) < 0)
		return 0; /* a binary of another machine, say: it says nothing */
	if (result.end == CS__RUN_EXITED && !result.stuck && result.status == 0) {
		struct cs_buf *said = result.output.len > 0 ? &result.output : &result.errors;

		*ret = *said;
		*said = (struct cs_buf){ 0 };
	}
	cs__run_result_release(&result);
	return 0;
}

/* The word behind `prefix`, when text starts with that: "runc version 1.1.5", "youki version: 0.5.5", "kata-runtime  : 1.12". */
static bool version_of(const char *text, const char *prefix, char *ret, size_t size)
{
	size_t n = 0;

	if (!text || strncmp(text, prefix, strlen(prefix)) != 0)
		return false;
	text += strlen(prefix);
	text += strspn(text, " :");
	while (n + 1 < size && text[n] > ' ' && text[n] < 0x7f) {
		ret[n] = text[n];
		n++;
	}
	ret[n] = '\0';
	return n > 0;
}

static void read_version(const char *text, struct cs__facts *facts)
{
	const struct cs_engine_kind *kind;

	if (facts->kind) {
		version_of(text, facts->kind->version_prefix, facts->version, sizeof(facts->version));
		return;
	}
	for (size_t i = 0; (kind = cs_engine_kind_at(i)); i++)
		if (version_of(text, kind->version_prefix, facts->version, sizeof(facts->version))) {
			facts->kind = kind;
			return;
		}
}

int cs__flag_name(const char *arg, char *name, size_t size)
{
	size_t dashes = strspn(arg, "-"), n = strcspn(arg + dashes, "= ,\t\n");

	if (dashes < 1 || dashes > 2 || n == 0 || n >= size)
		return -EINVAL;
	memcpy(name, arg + dashes, n);
	name[n] = '\0';
	return 0;
}

/* Flags at the beginning of a line of a help text: "-v, --version", "  -root string", "--log=FILE". */
static int read_flags(const char *help, struct cs_strv *flags)
{
	while (help && *help != '\0' && flags->n < FLAGS_MAX) {
		const char *at = help + strspn(help, " \t");
		char name[64];
		int r = 0;

		while (r == 0 && cs__flag_name(at, name, sizeof(name)) == 0) {
			r = cs_strv_add(flags, name);
			at += strcspn(at, ",\n");
			at += *at == ',' ? 1 + strspn(at + 1, " ") : 0;
		}
		if (r < 0)
			return r;
		help = strchr(at, '\n');
		help = help ? help + 1 : NULL;
	}
	return 0;
}

static int ask_all(const char *path, struct cs__facts *facts)
{
	cs_auto(buf) version = CS_BUF_INIT(0), help = CS_BUF_INIT(0);
	struct cs_loop *loop = cs_loop_new();
	int r;

	if (!loop)
		return -errno;
	r = ask(loop, path, cs_verb_word(CS_VERB_VERSION), &version);
	if (r == 0)
		read_version(version.data, facts);
	/* one that does not even tell its version would only cost another deadline */
	if (r == 0 && facts->version[0] != '\0' && facts->kind->optional_args) {
		r = ask(loop, path, facts->kind->help_arg, &help);
		if (r == 0)
			r = read_flags(help.data, &facts->flags);
	}
	if (r == 0 && facts->version[0] != '\0' && facts->kind->has_features_verb)
		r = ask(loop, path, cs_verb_word(CS_VERB_FEATURES), &facts->features);
	cs_loop_free(loop);
	return r;
}

/* --- the cache ------------------------------------------------------------------- */

/* What makes a binary another one. */
struct identity {
	const char *path;
	struct stat st;
};

static int64_t mtime_ns(const struct stat *st)
{
	return st->st_mtim.tv_sec * CS_NSEC_PER_SEC + st->st_mtim.tv_nsec;
}

/* Only a file name; whose the content is, the content says. */
static void cache_name(const struct identity *identity, char *name, size_t size)
{
	const uint64_t numbers[] = { identity->st.st_dev, identity->st.st_ino,
				     (uint64_t)identity->st.st_size, (uint64_t)mtime_ns(&identity->st) };
	uint64_t hash = cs_hash(CS_HASH_INIT, identity->path, strlen(identity->path));

	for (size_t i = 0; i < CS_ARRAY_LEN(numbers); i++)
		hash = cs_hash_u64(hash, numbers[i]);
	snprintf(name, size, "engine-%016" PRIx64 ".json", hash);
}

static bool is_u64(const struct cs_json *json, const char *key, uint64_t want)
{
	uint64_t value;

	return cs_json_get_u64(cs_json_member(json, key), &value) == 0 && value == want;
}

static bool is_text(const struct cs_json *json, const char *key, const char *want)
{
	const char *text = cs_json_string(cs_json_member(json, key));

	return text && strcmp(text, want) == 0;
}

static bool is_about(const struct cs_json *json, const struct identity *identity)
{
	return is_u64(json, "version", CACHE_VERSION) && is_text(json, "caisson", PACKAGE_VERSION) &&
	       is_text(json, "path", identity->path) && is_u64(json, "device", identity->st.st_dev) &&
	       is_u64(json, "inode", identity->st.st_ino) &&
	       is_u64(json, "size", (uint64_t)identity->st.st_size) &&
	       is_u64(json, "mtimeNs", (uint64_t)mtime_ns(&identity->st));
}

/* True when the cache knows this very binary; facts are as they were otherwise. */
static bool cache_read(int dirfd, const struct identity *identity, struct cs__facts *facts)
{
	cs_autojson struct cs_json *json = NULL;
	cs_auto(buf) text = CS_BUF_INIT(CACHE_BYTES_MAX);
	struct cs__facts found = { .features = CS_BUF_INIT(CS_JSON_BYTES_MAX) };
	struct cs_err err = CS_ERR_INIT;
	const char *kind, *version, *features;
	char name[64];

	cache_name(identity, name, sizeof(name));
	if (cs_file_read(dirfd, name, &text) < 0 || text.len == 0 ||
	    cs_json_parse(text.data, text.len, name, &json, &err) < 0 || !is_about(json, identity))
		return false;
	kind = cs_json_string(cs_json_member(json, "kind"));
	version = cs_json_string(cs_json_member(json, "engineVersion"));
	features = cs_json_string(cs_json_member(json, "features"));
	if (!kind || !version || !features || strlen(version) >= sizeof(found.version))
		return false;
	found.kind = cs_engine_kind_by_name(kind);
	if (!found.kind || (facts->kind && facts->kind != found.kind))
		return false;
	memcpy(found.version, version, strlen(version) + 1);
	if (cs_json_get_strv(cs_json_member(json, "flags"), &found.flags) < 0 ||
	    cs_buf_adds(&found.features, features) < 0) {
		cs__facts_release(&found);
		return false;
	}
	*facts = found;
	return true;
}

static void cache_write(int dirfd, const struct identity *identity, const struct cs__facts *facts)
{
	cs_autojson struct cs_json *json = cs_json_new_object();
	struct cs_err err = CS_ERR_INIT;
	char name[64];
	int r = json ? 0 : -ENOMEM;

	if (r < 0)
		return;
	r |= cs_json_put(json, "version", cs_json_new_u64(CACHE_VERSION));
	r |= cs_json_put(json, "caisson", cs_json_new_string(PACKAGE_VERSION));
	r |= cs_json_put(json, "path", cs_json_new_string(identity->path));
	r |= cs_json_put(json, "device", cs_json_new_u64(identity->st.st_dev));
	r |= cs_json_put(json, "inode", cs_json_new_u64(identity->st.st_ino));
	r |= cs_json_put(json, "size", cs_json_new_u64((uint64_t)identity->st.st_size));
	r |= cs_json_put(json, "mtimeNs", cs_json_new_u64((uint64_t)mtime_ns(&identity->st)));
	r |= cs_json_put(json, "kind", cs_json_new_string(facts->kind->name));
	r |= cs_json_put(json, "engineVersion", cs_json_new_string(facts->version));
	r |= cs_json_put(json, "flags", cs_json_new_strv(&facts->flags));
	/* as a string: a text that is no JSON must not spoil the file */
	r |= cs_json_put(json, "features", cs_json_new_string(facts->features.len > 0 ? facts->features.data : ""));
	cache_name(identity, name, sizeof(name));
	/* a cache that cannot be written costs time only */
	if (r == 0)
		(void)cs_json_write_file(json, CS_JSON_COMPACT, dirfd, name, 0600, &err);
}

int cs__facts_get(const char *path, const struct cs_engine_kind *kind, int cache_dirfd,
		  struct cs__facts *ret)
{
	struct identity identity = { .path = path };
	int r;

	*ret = (struct cs__facts){ .kind = kind };
	if (stat(path, &identity.st) < 0)
		return -errno;
	if (cache_dirfd >= 0 && cache_read(cache_dirfd, &identity, ret))
		return 0;
	r = ask_all(path, ret);
	/* silence may have been a busy moment: the next one asks again */
	if (r == 0 && cache_dirfd >= 0 && ret->kind && ret->version[0] != '\0')
		cache_write(cache_dirfd, &identity, ret);
	return r;
}
