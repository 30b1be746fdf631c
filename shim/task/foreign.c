#include "shim/task/foreign.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/hash.h"
#include "shim/base/parse.h"
#include "shim/engine/engine_call.h"
#include "shim/sys/path.h"
#include "shim/task/record_int.h"

#define FACTS_FILE "facts.json"
#define RECORD_PREFIX "oci-"
#define STATE_TIMEOUT_NS (5 * CS_NSEC_PER_SEC)

/* --- names -------------------------------------------------------------------- */

static void name_of(const char *root, const char *id, char name[static CS_FOREIGN_KEY_LEN + 1])
{
	uint64_t key = cs_hash(CS_HASH_INIT, root, strlen(root) + 1);

	snprintf(name, CS_FOREIGN_KEY_LEN + 1, "%016" PRIx64, cs_hash(key, id, strlen(id)));
}

static bool is_key(const char *name)
{
	return strspn(name, "0123456789abcdef") == CS_FOREIGN_KEY_LEN && name[CS_FOREIGN_KEY_LEN] == '\0';
}

static int place(struct cs_foreign *foreign, const char *state_dir, const char *name, struct cs_err *err)
{
	int n = snprintf(foreign->path, sizeof(foreign->path), "%s/containers/%s", state_dir, name);

	if (n < 0 || (size_t)n + sizeof("/bundle") > sizeof(foreign->path))
		return cs_fail(err, CS_INVALID, ENAMETOOLONG, "state directory '%.64s'", state_dir);
	snprintf(foreign->bundle, sizeof(foreign->bundle), "%.*s/bundle", n, foreign->path);
	return 0;
}

/* --- facts ---------------------------------------------------------------------- */

void cs_foreign_facts_release(struct cs_foreign_facts *facts)
{
	char **const texts[] = { &facts->root, &facts->id, &facts->engine, &facts->kind,
				 &facts->bundle, &facts->policy, &facts->config, &facts->cgroup };

	for (size_t i = 0; i < CS_ARRAY_LEN(texts); i++)
		cs_free_ptr(texts[i]);
	cs_strv_release(&facts->args);
}

void cs_foreign_release(struct cs_foreign *foreign)
{
	cs_foreign_facts_release(&foreign->facts);
	cs_close_fd(&foreign->dir_fd);
	cs_record_release(&foreign->record);
}

/* The texts of the facts by name. */
#define FACT(field) { #field, offsetof(struct cs_foreign_facts, field) }
static const struct {
	const char *key;
	size_t offset;
} fact_rows[] = {
	FACT(root), FACT(id), FACT(engine), FACT(kind), FACT(bundle), FACT(policy), FACT(config), FACT(cgroup),
};
#undef FACT

static char **fact_at(const struct cs_foreign_facts *facts, size_t i)
{
	return (char **)((uintptr_t)facts + fact_rows[i].offset);
}

static int write_facts(const struct cs_foreign *foreign, struct cs_err *err)
{
	cs_autojson struct cs_json *object = cs_json_new_object();
	int r = object ? 0 : -ENOMEM;

	for (size_t i = 0; i < CS_ARRAY_LEN(fact_rows) && r == 0; i++) {
		const char *text = *fact_at(&foreign->facts, i);

		if (text)
			r = cs_json_put(object, fact_rows[i].key, cs_json_new_string(text));
	}
	if (r == 0)
		r = cs_json_put(object, "args", cs_json_new_strv(&foreign->facts.args));
	if (r < 0)
		return cs_fail(err, CS_LIMIT, -r, "facts of '%s'", foreign->facts.id);
	return cs_json_write_file(object, CS_JSON_INDENTED, foreign->dir_fd, FACTS_FILE, 0600, err);
}

static int read_facts(int dir_fd, struct cs_foreign_facts *ret, struct cs_err *err)
{
	cs_autojson struct cs_json *object = NULL;
	int r = 0;

	if (cs_json_read_file(dir_fd, FACTS_FILE, &object, err) < 0)
		return -1;
	*ret = (struct cs_foreign_facts){ 0 };
	for (size_t i = 0; i < CS_ARRAY_LEN(fact_rows); i++) {
		const char *text = cs_json_string(cs_json_member(object, fact_rows[i].key));

		*fact_at(ret, i) = text ? strdup(text) : NULL;
	}
	r = cs_json_get_strv(cs_json_member(object, "args"), &ret->args);
	if (r < 0 || !ret->root || !ret->id || !ret->engine || !ret->kind || !ret->bundle) {
		cs_foreign_facts_release(ret);
		return cs_fail(err, CS_INVALID, 0, FACTS_FILE ": it is not whole");
	}
	return 0;
}

/* --- finding ------------------------------------------------------------------------ */

int cs_foreign_find(const char *state_dir, const char *root, const char *id, struct cs_foreign *ret,
		    struct cs_err *err)
{
	struct cs_foreign foreign = CS_FOREIGN_INIT;
	char name[CS_FOREIGN_KEY_LEN + 1];

	name_of(root, id, name);
	if (place(&foreign, state_dir, name, err) < 0)
		return -1;
	foreign.dir_fd = open(foreign.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (foreign.dir_fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (foreign.dir_fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "'%s'", foreign.path);
	if (read_facts(foreign.dir_fd, &foreign.facts, err) < 0) {
		cs_foreign_release(&foreign);
		if (err->kind != CS_NOT_FOUND)
			return cs_wrap(err, "'%s'", id);
		cs_err_clear(err); /* its maker died before it had said anything */
		return 0;
	}
	if (strcmp(foreign.facts.root, root) != 0 || strcmp(foreign.facts.id, id) != 0) {
		cs_foreign_release(&foreign);
		return cs_fail(err, CS_EXISTS, 0, "'%s' in '%s' and '%s' have the same key: choose another id", id, root,
			       foreign.path);
	}
	*ret = foreign;
	return 1;
}

bool cs_foreign_any(const char *state_dir)
{
	char path[CS_FOREIGN_PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/containers", CS_STATE_DIR_MAX, state_dir);
	return access(path, F_OK) == 0;
}

char *cs_foreign_bundle_of(const char *state_dir, const char *key)
{
	struct cs_foreign foreign = CS_FOREIGN_INIT;
	struct cs_err err = CS_ERR_INIT;
	char name[CS_FOREIGN_KEY_LEN + 1], *bundle = NULL;

	snprintf(name, sizeof(name), "%.*s", CS_FOREIGN_KEY_LEN, key);
	if (!is_key(name) || place(&foreign, state_dir, name, &err) < 0)
		return NULL;
	foreign.dir_fd = open(foreign.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (foreign.dir_fd >= 0 && read_facts(foreign.dir_fd, &foreign.facts, &err) == 0)
		bundle = cs_take_ptr(&foreign.facts.bundle);
	cs_foreign_release(&foreign);
	return bundle;
}

int cs_foreign_engine(const struct cs_foreign *foreign, struct cs_engine *ret, struct cs_err *err)
{
	const struct cs_foreign_facts *facts = &foreign->facts;
	struct cs_engine engine = { .kind = cs_engine_kind_by_name(facts->kind) };

	if (!engine.kind)
		return cs_fail(err, CS_INVALID, 0, "engine kind '%.64s' is not known to this version", facts->kind);
	engine.path = strdup(facts->engine);
	if (!engine.path || cs_strv_copy(&engine.global_args, &facts->args) < 0) {
		cs_engine_release(&engine);
		return cs_fail(err, CS_LIMIT, ENOMEM, "engine of '%s'", facts->id);
	}
	*ret = engine;
	return 0;
}

/* Runs a verb of its engine on it, output thrown away. 0 when the engine exited with 0, else -1 with err. */
static int ask_engine(const struct cs_foreign *foreign, enum cs_verb verb, int64_t timeout_ns, struct cs_err *err)
{
	struct cs_engine engine;
	struct cs_engine_args args = { .root = foreign->facts.root, .id = foreign->facts.id, .force = true };
	struct cs_engine_call call = { .engine = &engine, .verb = verb, .args = &args, .timeout_ns = timeout_ns };
	struct cs_loop *loop;
	int r;

	if (cs_foreign_engine(foreign, &engine, err) < 0)
		return -1;
	loop = cs_loop_new();
	r = loop ? cs_engine_call(loop, &call, NULL, err) : cs_fail(err, CS_IO, errno, "event loop");
	cs_loop_free(loop);
	cs_engine_release(&engine);
	return r;
}

/* Does its engine know it? 1, 0, -1 with err when it does not say. */
static int is_known(const struct cs_foreign *foreign, struct cs_err *err)
{
	if (ask_engine(foreign, CS_VERB_STATE, STATE_TIMEOUT_NS, err) == 0)
		return 1;
	if (err->kind != CS_ENGINE || (!strstr(err->text, "does not exist") && !strstr(err->text, "No such file")))
		return -1;
	cs_err_clear(err);
	return 0;
}

/* --- removing ------------------------------------------------------------------------ */

static int remove_dir(const char *path)
{
	char parent[CS_FOREIGN_PATH_MAX];
	const char *name = strrchr(path, '/') + 1;
	cs_autofd int parent_fd = -1;

	snprintf(parent, sizeof(parent), "%.*s", (int)(name - path), path);
	parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return cs_path_remove_tree(parent_fd, name);
}

int cs_foreign_remove(const struct cs_foreign *foreign)
{
	return remove_dir(foreign->path);
}

int cs__foreign_undo(const char *path, int64_t deadline_ns, char *why, size_t why_size)
{
	struct cs_foreign foreign = CS_FOREIGN_INIT;
	struct cs_err err = CS_ERR_INIT;
	int64_t left_ns = CS_MAX(cs_clock_left_ns(deadline_ns), 100 * CS_NSEC_PER_MSEC);
	int r = 0;

	foreign.dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	/* without facts the engine was not asked for anything yet */
	if (foreign.dir_fd >= 0 && read_facts(foreign.dir_fd, &foreign.facts, &err) == 0)
		r = ask_engine(&foreign, CS_VERB_DELETE, CS_MIN(left_ns, 2 * CS_ENGINE_TIMEOUT_NS), &err);
	cs_foreign_release(&foreign);
	if (r < 0) {
		snprintf(why, why_size, "container '%s': %.300s", path, err.text);
		return -1;
	}
	r = remove_dir(path);
	if (r < 0)
		snprintf(why, why_size, "'%s': %s", path, strerror(-r));
	return r < 0 ? -1 : 0;
}

static void record_id(const char *name, char ret[static 32])
{
	snprintf(ret, 32, RECORD_PREFIX "%s", name);
}

int cs_foreign_clean_up(const char *state_dir, const char *root, const char *id, int64_t deadline_ns,
			struct cs_strv *leftovers)
{
	struct cs_record record = CS_RECORD_INIT;
	struct stat st;
	char name[CS_FOREIGN_KEY_LEN + 1];
	int held = 0;

	record.runs_fd = cs__record_open_runs(state_dir, false);
	if (record.runs_fd < 0)
		return 0;
	name_of(root, id, name);
	record_id(name, record.id);
	if (fstatat(record.runs_fd, record.id, &st, AT_SYMLINK_NOFOLLOW) == 0)
		held = cs_record_clean_up(&record, deadline_ns, leftovers);
	cs_record_release(&record);
	return held;
}

/* --- making --------------------------------------------------------------------------- */

/* One of that root and id from before. Its engine may still know it. */
static int clear_earlier(const char *state_dir, const struct cs_foreign_facts *facts, struct cs_err *err)
{
	struct cs_foreign earlier;
	int r = cs_foreign_find(state_dir, facts->root, facts->id, &earlier, err);

	if (r <= 0)
		return r;
	r = is_known(&earlier, err);
	if (r > 0)
		r = cs_fail(err, CS_EXISTS, 0, "container with given ID already exists");
	else if (r == 0)
		r = cs_foreign_remove(&earlier);
	if (r < 0 && !cs_err_is_set(err))
		cs_fail(err, cs_err_kind_of_errno(-r), -r, "'%s'", earlier.path);
	cs_foreign_release(&earlier);
	return r;
}

/* A file of the engine's for that id, where it keeps them side by side: ROOT/ID<mark>….state. */
static bool has_marked(const char *root, const char *id, const char *mark)
{
	static const char suffix[] = ".state";
	DIR *dir = opendir(root);
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name), id_len = strlen(id);

		found = strncmp(entry->d_name, id, id_len) == 0 &&
			strncmp(entry->d_name + id_len, mark, strlen(mark)) == 0 && len >= strlen(suffix) &&
			strcmp(entry->d_name + len - strlen(suffix), suffix) == 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

/*
 * One that was made without us: the engine is going to refuse, and what is
 * undone then would be the other one. By its directory alone, also without a state yet: engines look no further.
 */
static int refuse_taken(const struct cs_foreign_facts *facts, struct cs_err *err)
{
	const struct cs_engine_kind *kind = cs_engine_kind_by_name(facts->kind);
	cs_autofree char *path = NULL;
	bool taken;

	if (!kind || !cs_id_valid(facts->id)) /* no engine makes such a one */
		return 0;
	if (asprintf(&path, "%s/%s", facts->root, facts->id) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "container '%s'", facts->id);
	taken = kind->state_mark ? has_marked(facts->root, facts->id, kind->state_mark) : faccessat(AT_FDCWD, path, F_OK, 0) == 0;
	return taken ? cs_fail(err, CS_EXISTS, 0, "container with given ID already exists") : 0;
}

static int push(struct cs_foreign *foreign, enum cs_undo_kind kind, const char *argument, struct cs_err *err)
{
	if (cs_undo_push(&foreign->record, kind, argument, &foreign->steps[foreign->n_steps], err) < 0)
		return -1;
	foreign->n_steps++;
	return 0;
}

/*
 * A group that is there already is not the container's to remove. With
 * somebody in it, it is not the container's at all: what a limit ends would be them too.
 */
static int push_cgroup(struct cs_foreign *foreign, struct cs_err *err)
{
	const char *path = foreign->facts.cgroup;
	struct cs_cgroup_host host;
	struct cs_cgroup *cgroup;
	struct cs_err none = CS_ERR_INIT;
	int empty;

	if (!path || cs_cgroup_host_read(&host, &none) < 0)
		return 0;
	if (cs_cgroup_open(&host, path, &cgroup, &none) < 0)
		return none.kind == CS_NOT_FOUND ? push(foreign, CS_UNDO_CGROUP, path, err) : 0;
	empty = cs_cgroup_is_empty(cgroup);
	cs_cgroup_free(cgroup);
	if (empty < 0)
		return cs_fail(err, CS_IO, -empty, "cgroup '%s'", path);
	if (!empty)
		return cs_fail(err, CS_EXISTS, 0, "cgroup '%s': others are in it; under a policy a container has one of its own", path);
	foreign->cgroup_was_there = true;
	return 0;
}

static int make_record(const char *state_dir, const char *name, struct cs_foreign *foreign, struct cs_err *err)
{
	char id[32], pid[32];

	record_id(name, id);
	if (cs_record_open(state_dir, id, NULL, &foreign->record, err) < 0)
		return -1;
	/* somebody else makes it just now, or left what cannot be removed */
	if (cs_record_make(&foreign->record, err) < 0)
		return cs_wrap(err, "container '%s'", foreign->facts.id);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	cs_record_note(&foreign->record, "pid", pid);
	cs_record_note(&foreign->record, "engine", foreign->facts.kind);
	cs_record_note(&foreign->record, "command", foreign->facts.id);
	return 0;
}

static int make_dir(const char *state_dir, struct cs_foreign *foreign, struct cs_err *err)
{
	char all[CS_FOREIGN_PATH_MAX];
	int r;

	snprintf(all, sizeof(all), "%.*s/containers", CS_STATE_DIR_MAX, state_dir);
	r = cs_file_mkdirs(all, 0700);
	if (r == 0 && mkdir(foreign->path, 0700) < 0 && errno != EEXIST)
		r = -errno;
	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "'%s'", foreign->path);
	foreign->dir_fd = open(foreign->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (foreign->dir_fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "'%s'", foreign->path);
	return write_facts(foreign, err);
}

int cs_foreign_begin(const char *state_dir, struct cs_foreign_facts *facts_consume, struct cs_foreign *ret,
		     struct cs_err *err)
{
	struct cs_foreign foreign = CS_FOREIGN_INIT;
	struct cs_strv leftovers = CS_STRV_INIT;
	char name[CS_FOREIGN_KEY_LEN + 1];

	foreign.facts = *facts_consume;
	*facts_consume = (struct cs_foreign_facts){ 0 };
	name_of(foreign.facts.root, foreign.facts.id, name);
	/* the cgroup is played back last: nothing is left of the engine then that could make it again */
	if (place(&foreign, state_dir, name, err) < 0 || make_record(state_dir, name, &foreign, err) < 0)
		goto failed;
	if (clear_earlier(state_dir, &foreign.facts, err) < 0 || refuse_taken(&foreign.facts, err) < 0 || push_cgroup(&foreign, err) < 0 ||
	    push(&foreign, CS_UNDO_CONTAINER, foreign.path, err) < 0 || make_dir(state_dir, &foreign, err) < 0) {
		cs_foreign_abort(&foreign, cs_clock_deadline_ns(CS_NSEC_PER_SEC), &leftovers);
		cs_strv_release(&leftovers);
		goto failed;
	}
	*ret = foreign;
	return 0;
failed:
	cs_foreign_release(&foreign);
	return -1;
}

int cs_foreign_set_cgroup(struct cs_foreign *foreign, const char *path, struct cs_err *err)
{
	char *copy = strdup(path);

	if (!copy)
		return cs_fail(err, CS_LIMIT, ENOMEM, "cgroup of '%s'", foreign->facts.id);
	free(foreign->facts.cgroup);
	foreign->facts.cgroup = copy;
	return write_facts(foreign, err);
}

/* Some hooks look for the root beside the config.json that their state names. */
static void link_rootfs(const struct cs_foreign *foreign, int bundle_fd)
{
	cs_autofree char *rootfs = NULL;

	if (asprintf(&rootfs, "%s/rootfs", foreign->facts.bundle) < 0)
		return;
	if (faccessat(AT_FDCWD, rootfs, F_OK, 0) == 0 && symlinkat(rootfs, bundle_fd, "rootfs") < 0)
		return;
}

int cs_foreign_write_bundle(struct cs_foreign *foreign, const struct cs_json *config, struct cs_err *err)
{
	cs_autofd int bundle_fd = -1;

	if (mkdirat(foreign->dir_fd, "bundle", 0711) < 0 && errno != EEXIST)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "'%s'", foreign->bundle);
	bundle_fd = openat(foreign->dir_fd, "bundle", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (bundle_fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "'%s'", foreign->bundle);
	link_rootfs(foreign, bundle_fd);
	return cs_json_write_file(config, CS_JSON_COMPACT, bundle_fd, "config.json", 0600, err);
}

int cs_foreign_read_config(const struct cs_foreign *foreign, struct cs_json **ret, struct cs_err *err)
{
	return cs_json_read_file(foreign->dir_fd, "bundle/config.json", ret, err);
}

void cs_foreign_commit(struct cs_foreign *foreign)
{
	cs_auto(strv) none = CS_STRV_INIT;

	while (foreign->n_steps > 0)
		cs_undo_strike(&foreign->record, foreign->steps[--foreign->n_steps]);
	cs_undo_replay(&foreign->record, cs_clock_deadline_ns(CS_NSEC_PER_SEC), &none);
}

int cs_foreign_abort(struct cs_foreign *foreign, int64_t deadline_ns, struct cs_strv *leftovers)
{
	return cs_undo_replay(&foreign->record, deadline_ns, leftovers);
}

/* --- gc ------------------------------------------------------------------------------- */

/*
 * Made whole, and given up: whoever asked for it has taken its bundle away.
 * runsc of 2022 fails in some deletes, and callers go on as if it had not.
 */
static bool is_given_up(const struct cs_foreign *foreign)
{
	return access(foreign->facts.bundle, F_OK) < 0 && errno == ENOENT;
}

/* Under the record of its key, so that nobody makes it meanwhile. */
static bool collect(const char *state_dir, const char *name, struct cs_strv *leftovers)
{
	struct cs_foreign foreign = CS_FOREIGN_INIT;
	struct cs_err err = CS_ERR_INIT;
	bool removed = false, whole;
	char id[32], why[512];

	record_id(name, id);
	if (place(&foreign, state_dir, name, &err) < 0 || cs_record_open(state_dir, id, NULL, &foreign.record, &err) < 0)
		return false;
	if (cs_record_make(&foreign.record, &err) == 0) {
		foreign.dir_fd = open(foreign.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		whole = foreign.dir_fd >= 0 && read_facts(foreign.dir_fd, &foreign.facts, &err) == 0;
		if (!whole || is_known(&foreign, &err) == 0)
			removed = remove_dir(foreign.path) == 0;
		else if (is_given_up(&foreign))
			removed = cs__foreign_undo(foreign.path, cs_clock_deadline_ns(CS_ENGINE_TIMEOUT_NS), why, sizeof(why)) == 0;
		cs_undo_replay(&foreign.record, cs_clock_deadline_ns(CS_NSEC_PER_SEC), leftovers);
	}
	cs_foreign_release(&foreign);
	return removed;
}

unsigned cs_foreign_gc(const char *state_dir, int64_t deadline_ns, struct cs_strv *leftovers)
{
	cs_autofree char *path = NULL;
	unsigned removed = 0;
	struct dirent *entry;
	DIR *dir;

	if (asprintf(&path, "%s/containers", state_dir) < 0)
		return 0;
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && cs_clock_left_ns(deadline_ns) > 0)
		if (is_key(entry->d_name))
			removed += collect(state_dir, entry->d_name, leftovers);
	if (dir)
		closedir(dir);
	rmdir(path);
	return removed;
}
