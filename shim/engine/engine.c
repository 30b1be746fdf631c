#include "shim/engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/engine/engine_int.h"

void cs_engine_release(struct cs_engine *engine)
{
	free(engine->path);
	cs_strv_release(&engine->global_args);
	*engine = (struct cs_engine){ 0 };
}

/* --- where ------------------------------------------------------------------- */

/* 0 for a file that can be executed, else -errno. */
static int check_binary(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/*
 * Looks for `name` in a list of directories joined by ':'. Only absolute ones
 * count: a daemon's working directory is nobody's choice. 0, -ENOENT, -EACCES.
 */
static int search(const char *list, const char *name, char path[static PATH_MAX])
{
	int r = -ENOENT;

	while (list) {
		size_t len = strcspn(list, ":");
		int n = snprintf(path, PATH_MAX, "%.*s/%s", (int)CS_MIN(len, (size_t)PATH_MAX), list, name);

		if (list[0] == '/' && n < PATH_MAX) {
			int found = check_binary(path);

			if (found == 0)
				return 0;
			if (found == -EACCES)
				r = found;
		}
		list = list[len] == ':' ? list + len + 1 : NULL;
	}
	return r;
}

static int search_all(const char *name, char path[static PATH_MAX])
{
	int r = search(getenv("PATH"), name, path);
	/* a service may have been started with a shorter PATH than root's */
	int again = r == 0 ? 0 : search("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", name, path);

	return again == -ENOENT ? r : again;
}

/* "crun, runc, …": what may be said, from the table. */
static const char *known_names(char *text, size_t size)
{
	const struct cs_engine_kind *kind;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; (kind = cs_engine_kind_at(i)) && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", kind->name);
	return text;
}

static int fail_missing(const char *name, int errnum, struct cs_err *err)
{
	const struct cs_engine_kind *kind = cs_engine_kind_by_name(name);
	char names[128];

	if (errnum == EACCES)
		return cs_fail(err, CS_DENIED, 0, "engine '%s' is there, but may not be executed (chmod +x?)", name);
	if (kind)
		return cs_fail(err, CS_NOT_FOUND, 0, "engine '%s' is not installed: %s", name, kind->install);
	return cs_fail(err, CS_NOT_FOUND, 0,
		       "engine '%s' is not known: give one of %s, or the path of a binary", name,
		       known_names(names, sizeof(names)));
}

static int locate_path(const char *name, char path[static PATH_MAX], struct cs_err *err)
{
	cs_autofree char *cwd = NULL;
	int n, r;

	if (name[0] == '/') {
		n = snprintf(path, PATH_MAX, "%s", name);
	} else {
		cwd = getcwd(NULL, 0);
		if (!cwd)
			return cs_fail(err, cs_err_kind_of_errno(errno), errno, "working directory");
		n = snprintf(path, PATH_MAX, "%s/%s", cwd, name);
	}
	if (n >= PATH_MAX)
		return cs_fail(err, CS_INVALID, ENAMETOOLONG, "engine '%s'", name);
	r = check_binary(path);
	return r < 0 ? cs_fail(err, cs_err_kind_of_errno(-r), -r, "engine '%s'", name) : 0;
}

static int locate(const char *name, char path[static PATH_MAX], struct cs_err *err)
{
	static const char *const preferred[] = { "crun", "runc" };
	int r;

	if (name && strchr(name, '/'))
		return locate_path(name, path, err);
	if (name) {
		r = name[0] != '\0' ? search_all(name, path) : -ENOENT;
		return r < 0 ? fail_missing(name, -r, err) : 0;
	}
	for (size_t i = 0; i < CS_ARRAY_LEN(preferred); i++)
		if (search_all(preferred[i], path) == 0)
			return 0;
	return cs_fail(err, CS_NOT_FOUND, 0, "no engine is installed, neither crun nor runc: %s",
		       cs_engine_kind_by_name(preferred[0])->install);
}

/* --- what ----------------------------------------------------------------------- */

/* Row of "runc", "runc-1.5.3", "crun.old"; NULL when the name tells none. */
static const struct cs_engine_kind *kind_of_path(const char *path)
{
	const char *base = strrchr(path, '/') + 1;
	const struct cs_engine_kind *kind;

	for (size_t i = 0; (kind = cs_engine_kind_at(i)); i++) {
		size_t len = strlen(kind->name);

		if (strncmp(base, kind->name, len) == 0 && strchr("-_.", base[len]))
			return kind; /* strchr finds the end of the name too */
	}
	return NULL;
}

static int find_kind(const char *path, const char *kind_name, const struct cs_engine_kind **ret,
		     struct cs_err *err)
{
	char names[128];

	*ret = kind_name ? cs_engine_kind_by_name(kind_name) : kind_of_path(path);
	if (kind_name && !*ret)
		return cs_fail(err, CS_INVALID, 0,
			       "'%s' is no kind of engine (known: %s)", kind_name,
			       known_names(names, sizeof(names)));
	return 0;
}

/* --- arguments ------------------------------------------------------------------ */

/* An engine that was told to leave cgroups alone would accept every limit and apply none. */
static int check_extra(const struct cs_engine_kind *kind, const struct cs_strv *extra, struct cs_err *err)
{
	for (size_t i = 0; extra && i < extra->n; i++) {
		char name[64];

		if (cs__flag_name(extra->v[i], name, sizeof(name)) == 0 && cs_words_have(kind->refused_args, name))
			return cs_fail(err, CS_INVALID, 0,
				       "engine argument '%s' is not taken for %s: it would undo limits, or caisson gives it itself",
				       extra->v[i], kind->name);
	}
	return 0;
}

static int add_optional(struct cs_strv *args, const struct cs_engine_kind *kind,
			const struct cs__facts *facts)
{
	const char *const *arg = kind->optional_args;
	int r = 0;

	for (; r == 0 && arg && *arg; arg++) {
		char name[64];

		if (cs__flag_name(*arg, name, sizeof(name)) == 0 && cs_strv_has(&facts->flags, name))
			r = cs_strv_add(args, *arg);
	}
	return r;
}

static int fill(struct cs_engine *engine, const char *path, const struct cs__facts *facts,
		const struct cs_strv *extra)
{
	struct cs_err ignored = CS_ERR_INIT;
	int r;

	engine->kind = facts->kind;
	memcpy(engine->version, facts->version, sizeof(engine->version));
	engine->path = strdup(path);
	if (!engine->path)
		return -ENOMEM;
	/* features that cannot be read are features not known */
	if (facts->features.len > 0 &&
	    cs_features_parse(facts->features.data, facts->features.len, &engine->features, &ignored) < 0)
		engine->features = (struct cs_features){ 0 };
	r = cs_strv_add_all(&engine->global_args, engine->kind->global_args);
	if (r == 0)
		r = add_optional(&engine->global_args, engine->kind, facts);
	if (r == 0 && extra)
		r = cs_strv_add_all(&engine->global_args, (const char *const *)extra->v);
	return r;
}

int cs_engine_find(const char *name, const char *kind_name, const struct cs_strv *extra_args,
		   int cache_dirfd, struct cs_engine *ret, struct cs_err *err)
{
	const struct cs_engine_kind *kind;
	struct cs_engine engine = { 0 };
	struct cs__facts facts;
	char path[PATH_MAX];
	int r;

	if (locate(name, path, err) < 0 || find_kind(path, kind_name, &kind, err) < 0)
		return -1;
	r = cs__facts_get(path, kind, cache_dirfd, &facts);
	if (r < 0) {
		cs_fail(err, cs_err_kind_of_errno(-r), -r, "ask '%s' for its version", path);
	} else if (!facts.kind) {
		cs_fail(err, CS_INVALID, 0,
			"'%s' does not tell which kind of engine it is: say so with \"engine\" in the configuration file", path);
	} else if (check_extra(facts.kind, extra_args, err) == 0) {
		r = fill(&engine, path, &facts, extra_args);
		if (r < 0)
			cs_fail(err, CS_LIMIT, -r, "engine '%s'", path);
	}
	cs__facts_release(&facts);
	if (cs_err_is_set(err)) {
		cs_engine_release(&engine);
		return -1;
	}
	*ret = engine;
	return 0;
}
