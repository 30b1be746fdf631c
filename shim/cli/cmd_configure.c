/* caisson configure: our runtimes in the configuration of Docker and Podman. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/file.h"
#include "shim/cli/cmd.h"
#include "shim/task/configure.h"

#define TEXT_MAX (1 << 20)

struct configure {
	bool dry_run, remove;
	char *file, *runtime;
};

static const struct cs_opt rows[] = {
	{ "dry-run", 'n', CS_OPT_SWITCH, offsetof(struct configure, dry_run), .help = "show what would change, and change nothing" },
	{ "remove", 0, CS_OPT_SWITCH, offsetof(struct configure, remove), .help = "take our part out again" },
	{ "file", 0, CS_OPT_TEXT, offsetof(struct configure, file), .arg = "FILE",
	  .help = "configuration file, if not /etc/docker/daemon.json or /etc/containers/containers.conf.d/50-caisson.conf" },
	{ "path", 0, CS_OPT_TEXT, offsetof(struct configure, runtime), .arg = "FILE",
	  .help = "caisson-runtime, if not the one beside this program or in PATH" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

/* What the file is and what becomes of it. */
struct change {
	const struct cs_configure_tool *tool;
	char path[PATH_MAX];   /* links followed, so that the file itself is replaced and not the link */
	char backup[PATH_MAX];
	bool exists;
	struct stat st;
	struct cs_buf text, kept, now; /* present content, the backup's, the new one */
	bool has_backup;
};

/* --- where things are --------------------------------------------------------------- */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* dir/tail, when it is a program; into ret. */
static bool program_at(const char *dir, size_t len, const char *tail, char ret[static PATH_MAX])
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, tail) < (int)sizeof(path) && is_program(path) &&
	       realpath(path, ret) != NULL;
}

/* Beside this program as it was built or installed, else in PATH. */
static int find_runtime(const char *given, char ret[static PATH_MAX], struct cs_err *err)
{
	static const char *const tails[] = { "caisson-runtime", "../sbin/caisson-runtime" };
	const char *path = getenv("PATH");
	char own[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (given) {
		if (!is_program(given) || !realpath(given, ret))
			return cs_fail(err, CS_NOT_FOUND, 0, "--path '%s' is no program", given);
		return 0;
	}
	own[CS_MAX(len, 0)] = '\0';
	for (size_t i = 0; i < CS_ARRAY_LEN(tails); i++)
		if (strrchr(own, '/') && program_at(own, (size_t)(strrchr(own, '/') - own), tails[i], ret))
			return 0;
	for (const char *p = path; p && *p; p += strcspn(p, ":"), p += *p == ':')
		if (program_at(p, strcspn(p, ":"), tails[0], ret))
			return 0;
	return cs_fail(err, CS_NOT_FOUND, 0, "caisson-runtime is neither beside caisson nor in PATH: name it with --path FILE");
}

/* A file that does not exist is an empty one. */
static int read_text(const char *path, struct cs_buf *ret, bool *ret_exists, struct cs_err *err)
{
	int r = cs_file_read(AT_FDCWD, path, ret);

	*ret_exists = r != -ENOENT;
	if (r < 0 && r != -ENOENT)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "'%s'", path);
	if (ret->data && strlen(ret->data) != ret->len)
		return cs_fail(err, CS_INVALID, 0, "'%s' holds a NUL byte: that is no text", path);
	return ret->data || cs_buf_adds(ret, "") == 0 ? 0 : cs_fail(err, CS_LIMIT, ENOMEM, "'%s'", path);
}

static int look(struct change *c, const char *file, struct cs_err *err)
{
	if (!realpath(file, c->path) && snprintf(c->path, sizeof(c->path), "%s", file) >= (int)sizeof(c->path))
		return cs_fail(err, CS_INVALID, 0, "--file: a path of at most %d bytes is wanted", PATH_MAX - 1);
	if (snprintf(c->backup, sizeof(c->backup), "%s.caisson-backup", c->path) >= (int)sizeof(c->backup))
		return cs_fail(err, CS_INVALID, 0, "--file: the path is too long for a backup beside it");
	if (read_text(c->path, &c->text, &c->exists, err) < 0 || read_text(c->backup, &c->kept, &c->has_backup, err) < 0)
		return -1;
	if (c->exists && stat(c->path, &c->st) < 0)
		return cs_fail(err, CS_IO, errno, "'%s'", c->path);
	return 0;
}

/* --- writing ---------------------------------------------------------------------------- */

static int write_text(const struct change *c, const char *path, const struct cs_buf *text, struct cs_err *err)
{
	mode_t mode = c->exists ? c->st.st_mode & 07777 : 0644;
	int r = cs_file_write_atomic(AT_FDCWD, path, text->data, text->len, mode, true);

	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "write '%s'", path);
	if (c->exists && (c->st.st_uid != geteuid() || c->st.st_gid != getegid()) &&
	    chown(path, c->st.st_uid, c->st.st_gid) < 0)
		return cs_fail(err, CS_IO, errno, "owner of '%s'", path);
	return 0;
}

/* Kept is the file as it was before us: where our part is in already, that one is on record, if any. */
static int keep(const struct change *c, struct cs_err *err)
{
	if (!c->exists || (c->tool->has(c->text.data) && c->has_backup))
		return 0;
	return write_text(c, c->backup, &c->text, err);
}

static int make_parent(const char *path, struct cs_err *err)
{
	char parent[PATH_MAX];
	char *slash;
	int r;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		return 0;
	*slash = '\0';
	r = cs_file_mkdirs(parent, 0755);
	return r < 0 ? cs_fail(err, cs_err_kind_of_errno(-r), -r, "'%s'", parent) : 0;
}

static int apply(const struct change *c, bool goes, struct cs_err *err)
{
	if (goes)
		return unlink(c->path) < 0 ? cs_fail(err, cs_err_kind_of_errno(errno), errno, "'%s'", c->path) : 0;
	if (!c->exists && make_parent(c->path, err) < 0)
		return -1;
	return keep(c, err) < 0 ? -1 : write_text(c, c->path, &c->now, err);
}

/* --- the command --------------------------------------------------------------------------- */

static int say(const struct change *c, const struct configure *o, bool goes, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(4 * TEXT_MAX);

	if (!goes && strcmp(c->text.data, c->now.data) == 0) {
		cs_buf_addf(&text, "%s %s: nothing to change\n", c->path, o->remove ? "has nothing of ours" : "has it all");
		return cs_cmd_print(&text, err);
	}
	cs_configure_diff(c->path, c->text.data, c->now.data, &text);
	if (o->dry_run)
		cs_buf_adds(&text, "dry run: nothing was written\n");
	else if (goes)
		cs_buf_addf(&text, "%s is removed: it was ours alone\n", c->path);
	else if (c->exists)
		cs_buf_addf(&text, "%s is written; a copy of what it was before us is kept in %s\n", c->path, c->backup);
	else
		cs_buf_addf(&text, "%s is written\n", c->path);
	if (!o->dry_run && c->tool->then)
		cs_buf_addf(&text, "for %s to notice: %s\n", c->tool->name, c->tool->then);
	return cs_cmd_print(&text, err);
}

static int change_file(struct change *c, const struct configure *o, struct cs_err *err)
{
	char runtime[PATH_MAX];
	bool goes;

	if (look(c, o->file ? o->file : c->tool->file, err) < 0)
		return -1;
	if (o->remove ? c->tool->remove(c->text.data, c->path, c->has_backup ? c->kept.data : NULL, &c->now, err) < 0
		      : find_runtime(o->runtime, runtime, err) < 0 ||
				c->tool->add(c->text.data, c->path, runtime, &c->now, err) < 0)
		return -1;
	/* an empty file that was there before us is given back */
	goes = o->remove && c->exists && c->now.len == 0 && c->text.len > 0 && !(c->has_backup && c->kept.len == 0);
	if (!c->now.data)
		cs_buf_adds(&c->now, "");
	if (!o->dry_run && (goes || strcmp(c->text.data, c->now.data) != 0) && apply(c, goes, err) < 0)
		return -1;
	return say(c, o, goes, err);
}

static int configure(struct cs_cmd_call *call, struct cs_err *err)
{
	struct change change = {
		.tool = cs_configure_tool(call->argv[0]),
		.text = CS_BUF_INIT(TEXT_MAX),
		.kept = CS_BUF_INIT(TEXT_MAX),
		.now = CS_BUF_INIT(TEXT_MAX),
	};
	int r;

	if (!change.tool)
		return cs_fail(err, CS_INVALID, 0, "'%.64s' cannot be configured: give one of %s", call->argv[0],
			       cs_configure_tools());
	r = change_file(&change, call->own, err);
	cs_buf_release(&change.text);
	cs_buf_release(&change.kept);
	cs_buf_release(&change.now);
	return r;
}

const struct cs_cmd cs_cmd_configure = {
	.name = "configure",
	.summary = "make Docker or Podman know caisson-runtime",
	.usage = "docker|podman [FLAGS]",
	.rows = rows,
	.n_rows = &n_rows,
	.own_size = sizeof(struct configure),
	.operands_min = 1,
	.operands_max = 1,
	.operand = "docker or podman",
	.flags_behind = true,
	.act = configure,
};
