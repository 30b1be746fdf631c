#include "shim/oci/face.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/parse.h"
#include "shim/oci/child.h"
#include "shim/oci/say.h"
#include "shim/task/job.h"

void cs_oci_face_release(struct cs_oci_face *face)
{
	if (face->has_settings) {
		cs_settings_release(&face->tree);
		cs_config_release(&face->config);
	}
	cs_engine_release(&face->engine);
	free(face->root);
	cs_oci_call_release(&face->call);
	*face = (struct cs_oci_face){ 0 };
}

/* --- settings and engine ---------------------------------------------------------- */

/* Our own global flags, as cs_config_load takes them. */
static int load_settings(struct cs_oci_face *face, struct cs_err *err)
{
	static const char *const ours[] = { "policy", "runtime", "config", "state-dir" };
	cs_auto(strv) argv = CS_STRV_INIT;
	int operand, r = cs_strv_add(&argv, "caisson-runtime");

	for (size_t i = 0; i < CS_ARRAY_LEN(ours) && r == 0; i++) {
		const char *value = cs_oci_global(&face->call, ours[i]);

		if (value)
			r = cs_strv_addf(&argv, "--%s=%s", ours[i], value);
	}
	if (r < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "settings");
	if (cs_config_load_for("default", (int)argv.n, argv.v, 0, NULL, &face->config, &face->tree, &operand, err) < 0)
		return -1;
	face->has_settings = true;
	return 0;
}

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

static char *default_root(const struct cs_engine_kind *kind)
{
	const char *xdg = kind->xdg_root ? getenv("XDG_RUNTIME_DIR") : NULL;
	char *root = NULL;

	if (xdg && xdg[0])
		return asprintf(&root, "%s/%s", xdg, kind->xdg_root) < 0 ? NULL : root;
	return strdup(kind->default_root);
}

int cs_oci_face_open(struct cs_oci_face *face, struct cs_err *err)
{
	const char *root = cs_oci_global(&face->call, "root");

	if (load_settings(face, err) < 0 ||
	    cs_job_find_engine(&face->tree.values, &face->config, &face->engine, err) < 0 ||
	    refuse_ourselves(&face->engine, err) < 0)
		return -1;
	face->root = root ? strdup(root) : default_root(face->engine.kind);
	return face->root ? 0 : cs_fail(err, CS_LIMIT, ENOMEM, "root");
}

/* --- calling it ------------------------------------------------------------------- */

/* Flags of runc that mean nothing to this engine, and that it would refuse. */
static bool is_lacking(const char *name, const struct cs_oci_flag *row CS_UNUSED, void *arg)
{
	const struct cs_engine_kind *kind = ((const struct cs_oci_face *)arg)->engine.kind;

	for (size_t i = 0; kind->lacks_args && kind->lacks_args[i]; i++)
		if (strcmp(kind->lacks_args[i], name) == 0)
			return true;
	return false;
}

int cs_oci_face_argv(const struct cs_oci_face *face, struct cs_strv *ret, struct cs_err *err)
{
	int r = cs_strv_add(ret, face->engine.path);

	if (r == 0)
		r = cs_strv_add_all(ret, (const char *const *)cs_strv_v(&face->engine.global_args));
	if (r == 0)
		r = cs_oci_add_globals(&face->call, NULL, NULL, ret);
	if (r == 0)
		r = cs_oci_add_verb(&face->call, is_lacking, (void *)(uintptr_t)face, ret);
	return r < 0 ? cs_fail(err, CS_LIMIT, -r, "arguments of '%s'", face->engine.path) : 0;
}

int cs_oci_face_exec(struct cs_oci_face *face, struct cs_err *err)
{
	cs_auto(strv) argv = CS_STRV_INIT;

	if (cs_oci_face_argv(face, &argv, err) < 0)
		return -1;
	execv(face->engine.path, argv.v);
	return cs_fail(err, cs_err_kind_of_errno(errno), errno, "exec '%s'", face->engine.path);
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

static int complete_log(const struct cs_oci_face *face, off_t from, int code)
{
	cs_auto(buf) text = CS_BUF_INIT(4096);

	cs_buf_addf(&text, "%s %s: exit status %d", face->engine.kind->name,
		    face->call.verb_word ? face->call.verb_word : "", code);
	add_odd_words(&face->call, &text);
	cs_oci_log_complete(&face->call, from, text.data ? text.data : "out of memory");
	return code;
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

int cs_oci_face_run(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	cs_auto(strv) argv = CS_STRV_INIT;
	struct cs_oci_child child = { .timeout_ns = CS_NEVER, .preserve_fds = preserved(face) };
	off_t from = cs_oci_log_end(&face->call);
	int status;

	if (cs_oci_face_argv(face, &argv, err) < 0)
		return -1;
	child.argv = argv.v;
	if (cs_oci_child_run(&child, &status, err) < 0)
		return -1;
	*ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return *ret_code == 0 ? 0 : (complete_log(face, from, *ret_code), 0);
}
