#include "shim/oci/face.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/parse.h"
#include "shim/engine/engine_log.h"
#include "shim/oci/child.h"
#include "shim/oci/say.h"
#include "shim/task/job.h"

/* What callers are told when there is nothing else to tell, at most. */
#define MESSAGE_MAX 4096

static void release_settings(struct cs_oci_face *face)
{
	if (!face->has_settings)
		return;
	cs_settings_release(&face->tree);
	cs_config_release(&face->config);
	face->has_settings = false;
}

void cs_oci_face_release(struct cs_oci_face *face)
{
	release_settings(face);
	cs_engine_release(&face->engine);
	free(face->root);
	cs_foreign_release(&face->foreign);
	cs_oci_call_release(&face->call);
	*face = CS_OCI_FACE_INIT;
}

/* --- settings ----------------------------------------------------------------- */

static int add_flag(struct cs_strv *argv, const char *name, const char *value)
{
	return value ? cs_strv_addf(argv, "--%s=%s", name, value) : 0;
}

/* Of the flags of this call; policy and file as they are named. */
static int load_settings(struct cs_oci_face *face, const char *policy, const char *file, struct cs_err *err)
{
	cs_auto(strv) argv = CS_STRV_INIT;
	int operand;

	release_settings(face);
	if (cs_strv_add(&argv, "caisson-runtime") < 0 || add_flag(&argv, "policy", policy) < 0 ||
	    add_flag(&argv, "config", file) < 0 ||
	    add_flag(&argv, "runtime", cs_oci_global(&face->call, "runtime")) < 0 ||
	    add_flag(&argv, "state-dir", cs_oci_global(&face->call, "state-dir")) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "settings");
	if (cs_config_load_for("default", (int)argv.n, argv.v, CS_FOR_DAEMON, NULL, &face->config, &face->tree, &operand,
			       err) < 0)
		return -1;
	face->has_settings = true;
	face->passive = cs_tighten_is_none(&face->tree.values);
	return 0;
}

/* Built-in values and the flags of this call alone. */
static int load_without_file(struct cs_oci_face *face, struct cs_err *err)
{
	static const char *const names[] = { "runtime", "state-dir" };
	struct cs_opt_set set;

	if (cs_settings_init(&face->tree, err) < 0)
		return -1;
	face->has_settings = true;
	face->config = (struct cs_config){ 0 };
	face->passive = true;
	set = cs_settings_set(&face->tree);
	for (size_t i = 0; i < CS_ARRAY_LEN(names); i++) {
		const char *value = cs_oci_global(&face->call, names[i]);

		if (value && cs_opt_put(&set, cs_opt_by_name(&set, names[i]), names[i], value, CS_ORIGIN_FLAG, err) < 0)
			return -1;
	}
	return 0;
}

/* Verbs whose input a policy is laid over. */
static bool is_bounded(enum cs_oci_verb verb)
{
	static const enum cs_oci_verb verbs[] = { CS_OCI_CREATE, CS_OCI_RUN, CS_OCI_RESTORE, CS_OCI_EXEC, CS_OCI_UPDATE };

	for (size_t i = 0; i < CS_ARRAY_LEN(verbs); i++)
		if (verbs[i] == verb)
			return true;
	return false;
}

static int open_settings(struct cs_oci_face *face, struct cs_err *err)
{
	struct cs_err broken = CS_ERR_INIT;

	if (load_settings(face, cs_oci_global(&face->call, "policy"), cs_oci_global(&face->call, "config"), &broken) == 0)
		return 0;
	/* a mistake in the file must not keep containers from being stopped and removed */
	if (!is_bounded(face->call.verb) && load_without_file(face, err) == 0)
		return 0;
	*err = broken;
	return -1;
}

/* --- engine and container ---------------------------------------------------------- */

/* An engine that is ourselves would call us for ever: caisson-runtime installed in runc's place, say. */
static int refuse_ourselves(const struct cs_engine *engine, struct cs_err *err)
{
	struct stat us, it;

	if (stat("/proc/self/exe", &us) == 0 && stat(engine->path, &it) == 0 && us.st_dev == it.st_dev &&
	    us.st_ino == it.st_ino)
		return cs_fail(err, CS_INVALID, 0, "engine '%s' is caisson-runtime itself: name the engine behind it with --runtime",
			       engine->path);
	return 0;
}

/* Under a policy that bounds nothing it gets what the operator gave it, and nothing of ours. */
static int keep_given_args(struct cs_oci_face *face, struct cs_err *err)
{
	struct cs_strv *args = &face->engine.global_args;
	struct cs_runtime_def def = { 0 };
	const char *name = face->tree.values.runtime;

	cs_strv_release(args);
	*args = (struct cs_strv)CS_STRV_INIT;
	if (name && cs_config_runtime(&face->config, name, &def) && def.args && cs_json_get_strv(def.args, args) < 0)
		return cs_fail(err, CS_INVALID, 0, "runtime '%s': args must be strings", name);
	return cs_strv_add_all(args, (const char *const *)cs_strv_v(&face->tree.values.runtime_args)) < 0
		       ? cs_fail(err, CS_LIMIT, ENOMEM, "engine '%s'", face->engine.path)
		       : 0;
}

static int find_engine(struct cs_oci_face *face, struct cs_err *err)
{
	if (cs_job_find_engine(&face->tree.values, &face->config, &face->engine, err) < 0 ||
	    refuse_ourselves(&face->engine, err) < 0)
		return -1;
	return face->passive ? keep_given_args(face, err) : 0;
}

static char *default_root(const struct cs_engine_kind *kind)
{
	const char *xdg = kind->xdg_root ? getenv("XDG_RUNTIME_DIR") : NULL;
	char *root = NULL;

	if (xdg && xdg[0])
		return asprintf(&root, "%s/%s", xdg, kind->xdg_root) < 0 ? NULL : root;
	return strdup(kind->default_root);
}

/* The container that the call is about, when it was made under a policy. */
static int find_container(struct cs_oci_face *face, struct cs_err *err)
{
	const char *id = cs_oci_id(&face->call);
	const struct cs_foreign_facts *facts = &face->foreign.facts;
	int r;

	if (!id || face->call.verb == CS_OCI_CREATE || face->call.verb == CS_OCI_RUN || face->call.verb == CS_OCI_RESTORE)
		return 0;
	r = cs_foreign_find(face->tree.values.state_dir, face->root, id, &face->foreign, err);
	if (r <= 0)
		return r;
	face->kept = true;
	cs_engine_release(&face->engine);
	if (cs_foreign_engine(&face->foreign, &face->engine, err) < 0)
		return -1;
	return is_bounded(face->call.verb) ? load_settings(face, facts->policy, facts->config, err) : 0;
}

int cs_oci_face_open(struct cs_oci_face *face, struct cs_err *err)
{
	const char *root = cs_oci_global(&face->call, "root");

	if (open_settings(face, err) < 0)
		return -1;
	/* the engine of a container that is kept may be gone from the configuration by now */
	if (root) {
		face->root = strdup(root);
		if (!face->root)
			return cs_fail(err, CS_LIMIT, ENOMEM, "root");
		if (find_container(face, err) < 0)
			return -1;
	}
	if (!face->kept && find_engine(face, err) < 0)
		return -1;
	if (root)
		return 0;
	face->root = default_root(face->engine.kind);
	return face->root ? find_container(face, err) : cs_fail(err, CS_LIMIT, ENOMEM, "root");
}

/* --- arguments ------------------------------------------------------------------- */

static bool is_per_call(const struct cs_oci_given *given)
{
	return given->row && (given->row->traits & CS_OCI_PER_CALL);
}

static bool skip_per_call(const struct cs_oci_given *given, const void *arg CS_UNUSED)
{
	return is_per_call(given);
}

static bool skip_lasting(const struct cs_oci_given *given, const void *arg CS_UNUSED)
{
	return !is_per_call(given);
}

int cs_oci_face_lasting_args(const struct cs_oci_face *face, struct cs_strv *ret)
{
	int r = cs_strv_add_all(ret, (const char *const *)cs_strv_v(&face->engine.global_args));

	/* those of a container that is kept are complete */
	return r < 0 || face->kept ? r : cs_oci_add_globals(&face->call, skip_per_call, NULL, ret);
}

bool cs_oci_face_systemd(const struct cs_oci_face *face)
{
	cs_auto(strv) args = CS_STRV_INIT;
	bool systemd = false;

	if (cs_oci_face_lasting_args(face, &args) < 0)
		return false;
	/* crun: the last one counts */
	for (size_t i = 0; i < args.n; i++) {
		const char *word = args.v[i] + strspn(args.v[i], "-");

		if (strcmp(word, "systemd-cgroup") == 0 || strcmp(word, "systemd-cgroup=true") == 0)
			systemd = true;
		else if (strncmp(word, "cgroup-manager=", 15) == 0)
			systemd = strcmp(word + 15, "systemd") == 0;
	}
	return systemd;
}

/* Flags of runc that mean nothing to this engine, and that it would refuse. */
static bool is_lacking(const struct cs_oci_given *given, const void *arg)
{
	const struct cs_engine_kind *kind = ((const struct cs_oci_face *)arg)->engine.kind;

	for (size_t i = 0; given->row && kind->lacks_args && kind->lacks_args[i]; i++)
		if (strcmp(kind->lacks_args[i], given->row->name) == 0)
			return true;
	return false;
}

int cs_oci_face_argv(const struct cs_oci_face *face, struct cs_strv *ret, struct cs_err *err)
{
	int r = cs_strv_add(ret, face->engine.path);

	if (r == 0)
		r = cs_oci_face_lasting_args(face, ret);
	if (r == 0)
		r = cs_oci_add_globals(&face->call, skip_lasting, NULL, ret);
	if (r == 0)
		r = cs_oci_add_verb(&face->call, is_lacking, face, ret);
	return r < 0 ? cs_fail(err, CS_LIMIT, -r, "arguments of '%s'", face->engine.path) : 0;
}

/* --- calling it ------------------------------------------------------------------- */

int cs_oci_face_exec(struct cs_oci_face *face, struct cs_err *err)
{
	cs_auto(strv) argv = CS_STRV_INIT;

	if (cs_oci_face_argv(face, &argv, err) < 0)
		return -1;
	execv(face->engine.path, argv.v);
	return cs_fail(err, cs_err_kind_of_errno(errno), errno, "exec '%s'", face->engine.path);
}

static unsigned preserved(const struct cs_oci_face *face)
{
	const char *given = cs_oci_flag(&face->call, "preserve-fds");
	const char *pid = getenv("LISTEN_PID"), *listen = getenv("LISTEN_FDS");
	uint32_t n = 0, more = 0, owner;

	if (given && cs_parse_u32(given, &n) < 0)
		n = 0;
	/* sd_listen_fds(3): only where they are meant for us */
	if (pid && listen && cs_parse_u32(pid, &owner) == 0 && owner == (uint32_t)getpid() &&
	    cs_parse_u32(listen, &more) < 0)
		more = 0;
	return n + more;
}

int cs_oci_face_run(const struct cs_oci_face *face, const struct cs_oci_run *run, int *ret_code, struct cs_err *err)
{
	cs_auto(strv) argv = CS_STRV_INIT;
	struct cs_oci_child child = {
		.stdio = run->stdio,
		.own_group = run->own_group,
		.timeout_ns = run->timeout_ns ? run->timeout_ns : CS_NEVER,
		.preserve_fds = preserved(face),
	};
	int status;

	if (cs_oci_face_argv(face, &argv, err) < 0)
		return -1;
	child.argv = argv.v;
	if (cs_oci_child_run(&child, &status, err) < 0)
		return -1;
	*ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

/* Words that stand in no table, for whoever wonders what the engine did not like. */
static void add_odd_words(const struct cs_oci_call *call, struct cs_buf *text)
{
	const char *before = ": not known to caisson: ";

	for (size_t list = 0; list < 2; list++) {
		const struct cs_oci_given *given = list == 0 ? call->globals : call->flags;
		size_t n = list == 0 ? call->n_globals : call->n_flags;

		for (size_t i = 0; i < n; i++) {
			if (given[i].row)
				continue;
			cs_buf_addf(text, "%s'%.128s'", before, given[i].word);
			before = ", ";
		}
	}
}

void cs_oci_face_complete(const struct cs_oci_face *face, off_t from, int code, const struct cs_buf *words)
{
	cs_auto(buf) text = CS_BUF_INIT(MESSAGE_MAX);

	if (!words || words->len == 0 || cs_engine_log_message(words->data, words->len, &text) < 0) {
		cs_buf_reset(&text);
		cs_buf_addf(&text, "%s %s: exit status %d", face->engine.kind->name,
			    face->call.verb_word ? face->call.verb_word : "", code);
		add_odd_words(&face->call, &text);
	}
	cs_oci_log_complete(&face->call, from, text.data ? text.data : "out of memory");
	if (words && words->len > 0)
		cs_oci_say_words(words->data, words->len);
}
