#include "shim/files/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/files/resolve_int.h"

#define SCRIPTS_MAX 5 /* #! in a row: the sixth is ELOOP (fs/exec.c exec_binprm) */
#define NAME_SHOWN 250 /* of a path in a message: the reason must still fit behind it */
#define BINFMT_DIR "/proc/sys/fs/binfmt_misc"

/* What may be wrong with a file that is to be executed. */
enum flaw {
	FLAW_NONE,
	FLAW_UNTOLD,
	FLAW_MISSING,
	FLAW_NOT_DIRECTORY,
	FLAW_LOOP,
	FLAW_TOO_LONG,
	FLAW_NO_SEARCH,
	FLAW_DIRECTORY,
	FLAW_SPECIAL,
	FLAW_NO_X,
	FLAW_NOEXEC,
	FLAW_FORMAT,
	FLAW_FOREIGN,
	FLAW_DAMAGED,
	FLAW_SCRIPTS,
	FLAWS
};

static const struct {
	enum cs_resolve verdict;
	const char *text; /* after "'NAME' " */
} flaw_rows[] = {
	[FLAW_NONE]          = { CS_RESOLVE_OK, "is fine" },
	[FLAW_UNTOLD]        = { CS_RESOLVE_UNKNOWN, "cannot be told from outside" },
	[FLAW_MISSING]       = { CS_RESOLVE_NOT_FOUND, "does not exist inside" },
	[FLAW_NOT_DIRECTORY] = { CS_RESOLVE_NOT_FOUND, "leads through something that is no directory" },
	[FLAW_LOOP]          = { CS_RESOLVE_NOT_FOUND, "leads through too many links" },
	[FLAW_TOO_LONG]      = { CS_RESOLVE_NOT_FOUND, "is too long a path" },
	[FLAW_NO_SEARCH]     = { CS_RESOLVE_NOT_EXECUTABLE,
				 "leads through a directory that the user may not search" },
	[FLAW_DIRECTORY]     = { CS_RESOLVE_NOT_EXECUTABLE, "is a directory" },
	[FLAW_SPECIAL]       = { CS_RESOLVE_NOT_EXECUTABLE, "is no regular file" },
	[FLAW_NO_X]          = { CS_RESOLVE_NOT_EXECUTABLE, "is not executable for the user" },
	[FLAW_NOEXEC]        = { CS_RESOLVE_NOT_EXECUTABLE, "lies on a mount with noexec" },
	[FLAW_FORMAT]        = { CS_RESOLVE_NOT_EXECUTABLE, "is neither a program nor a script with #!" },
	[FLAW_FOREIGN]       = { CS_RESOLVE_NOT_EXECUTABLE, "is a program for another machine" },
	[FLAW_DAMAGED]       = { CS_RESOLVE_NOT_EXECUTABLE, "is a damaged program file" },
	[FLAW_SCRIPTS]       = { CS_RESOLVE_NOT_EXECUTABLE, "is a script run by too many scripts in a row" },
};
_Static_assert(CS_ARRAY_LEN(flaw_rows) == FLAWS, "a row for every flaw");

static enum flaw flaw_of_walk(int r)
{
	switch (r) {
	case 0:
		return FLAW_NONE;
	case -ENOENT:
		return FLAW_MISSING;
	case -ENOTDIR:
		return FLAW_NOT_DIRECTORY;
	case -ELOOP:
		return FLAW_LOOP;
	case -ENAMETOOLONG:
		return FLAW_TOO_LONG;
	case -EACCES:
		return FLAW_NO_SEARCH;
	default:
		return FLAW_UNTOLD;
	}
}

/* All that can be said of a path without reading the file; *ret is the caller's, fd -1 on a flaw. */
static enum flaw find(const struct cs__world *world, const char *path, struct cs__node *ret)
{
	struct cs__node node = { .fd = -1 };
	enum flaw flaw = flaw_of_walk(cs__world_walk(world, path, &node));
	int r = 0;

	if (flaw != FLAW_NONE)
		return flaw;
	if (node.kind == CS__OPAQUE)
		flaw = FLAW_UNTOLD;
	else if (node.kind == CS__EMPTY || S_ISDIR(node.mode))
		flaw = FLAW_DIRECTORY;
	else if (!S_ISREG(node.mode))
		flaw = FLAW_SPECIAL;
	else if ((r = cs__world_may_exec(world, &node)) != 0)
		flaw = r < 0 ? FLAW_NO_X : FLAW_UNTOLD;
	else if ((r = cs__world_mount_may_exec(world, &node)) != 0)
		flaw = r < 0 ? FLAW_NOEXEC : FLAW_UNTOLD;
	if (flaw == FLAW_NONE)
		*ret = node;
	else
		cs__node_release(&node);
	return flaw;
}

/* A regular file, open for reading; -1 when that cannot be had or may block. */
static int open_to_read(const struct cs__node *node)
{
	char name[64];
	struct statfs fs;

	if (fstatfs(node->fd, &fs) < 0 || fs.f_type == FUSE_SUPER_MAGIC)
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", node->fd);
	return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static enum flaw flaw_of_format(enum cs__format format)
{
	switch (format) {
	case CS__FORMAT_NONE:
		return FLAW_FORMAT;
	case CS__FORMAT_FOREIGN:
		return FLAW_FOREIGN;
	case CS__FORMAT_DAMAGED:
		return FLAW_DAMAGED;
	default:
		return FLAW_NONE;
	}
}

/* A chain of files that run each other, from the command to what the kernel loads. */
struct chain {
	char path[PATH_MAX];        /* the one looked at */
	char interpreter[PATH_MAX]; /* what it asks for */
	unsigned scripts;
	bool loader;                /* path is the PT_INTERP of an ELF file: the end */
};

/*
 * Looks at the content of chain->path. FLAW_NONE with *ret_more: goes on at
 * chain->interpreter.
 */
static enum flaw examine(struct chain *chain, const struct cs__node *node, bool *ret_more)
{
	cs_autofd int fd = open_to_read(node);
	const char *slash = strrchr(chain->path, '/');
	enum cs__format format;
	enum flaw flaw;

	*ret_more = false;
	if (fd < 0 || cs__format_read(fd, &format, chain->interpreter) < 0)
		return FLAW_UNTOLD;
	flaw = flaw_of_format(format);
	if (chain->loader) /* load_elf_binary loads it itself and asks no handler */
		return format == CS__FORMAT_SCRIPT ? FLAW_FORMAT : flaw;
	if (format == CS__FORMAT_SCRIPT && ++chain->scripts > SCRIPTS_MAX)
		return FLAW_SCRIPTS;
	*ret_more = format == CS__FORMAT_SCRIPT || format == CS__FORMAT_ELF;
	chain->loader = format == CS__FORMAT_ELF;
	if (flaw != FLAW_NONE && cs__binfmt_takes(BINFMT_DIR, slash ? slash + 1 : chain->path, fd))
		return FLAW_UNTOLD;
	return flaw;
}

static enum cs_resolve fail(enum flaw flaw, const char *path, struct cs_err *err)
{
	enum cs_resolve verdict = flaw_rows[flaw].verdict;

	if (verdict == CS_RESOLVE_NOT_FOUND || verdict == CS_RESOLVE_NOT_EXECUTABLE)
		cs_fail(err, verdict == CS_RESOLVE_NOT_FOUND ? CS_NOT_FOUND : CS_DENIED, 0,
			"'%.*s%s' %s", NAME_SHOWN, path, strlen(path) > NAME_SHOWN ? "…" : "",
			flaw_rows[flaw].text);
	return verdict;
}

/* The verdict on an interpreter that chain->path asks for. */
static enum cs_resolve fail_interpreter(const struct chain *chain, enum flaw flaw,
					struct cs_err *err)
{
	size_t len = strlen(chain->interpreter);
	bool carriage = len > 0 && chain->interpreter[len - 1] == '\r';
	char name[PATH_MAX];
	enum cs_resolve verdict;

	/* nobody sees it on a terminal, and it is why half of such names are missing */
	snprintf(name, sizeof(name), "%.*s", (int)(len - carriage), chain->interpreter);
	verdict = fail(flaw, name, err);
	if (cs_err_is_set(err))
		cs_wrap(err, "'%.*s': its interpreter%s", NAME_SHOWN, chain->path,
			carriage ? " (behind it a carriage return: the line ends in CR LF)" : "");
	return verdict;
}

/* Judges a file that was found, and what it needs to run; takes node. */
static enum cs_resolve judge(const struct cs__world *world, const char *path, struct cs__node *node,
			     struct cs_err *err)
{
	struct chain chain = { 0 };
	bool more = true;

	snprintf(chain.path, sizeof(chain.path), "%s", path);
	for (;;) {
		enum flaw flaw = examine(&chain, node, &more);

		cs__node_release(node);
		if (flaw != FLAW_NONE) {
			enum cs_resolve verdict = fail(flaw, chain.path, err);

			if (cs_err_is_set(err) && strcmp(chain.path, path) != 0)
				cs_wrap(err, "'%.*s': its interpreter", NAME_SHOWN, path);
			return verdict;
		}
		if (!more)
			return CS_RESOLVE_OK;
		flaw = find(world, chain.interpreter, node);
		if (flaw != FLAW_NONE)
			return fail_interpreter(&chain, flaw, err);
		memcpy(chain.path, chain.interpreter, sizeof(chain.path));
	}
}

/* A command with a slash in it. */
static enum cs_resolve resolve_path(const struct cs__world *world, const char *path,
				    struct cs_err *err)
{
	struct cs__node node;
	enum flaw flaw = find(world, path, &node);

	return flaw == FLAW_NONE ? judge(world, path, &node, err) : fail(flaw, path, err);
}

/* A command without one: each element of PATH in turn. */
static enum cs_resolve resolve_in_path(const struct cs__world *world, const char *search,
				       const char *name, struct cs_err *err)
{
	struct cs_err denied = CS_ERR_INIT;
	bool untold = false;

	for (const char *element = search; element;) {
		const char *end = strchrnul(element, ':');
		int len = (int)(end - element);
		char path[PATH_MAX];
		struct cs__node node;
		enum flaw flaw = FLAW_TOO_LONG;

		if (snprintf(path, sizeof(path), "%.*s/%s", len ? len : 1, len ? element : ".", name) <
		    (int)sizeof(path))
			flaw = find(world, path, &node);
		if (flaw == FLAW_NONE) /* the first that has its x bit is it, whatever it holds */
			return judge(world, path, &node, err);
		untold |= flaw_rows[flaw].verdict == CS_RESOLVE_UNKNOWN;
		if (flaw_rows[flaw].verdict == CS_RESOLVE_NOT_EXECUTABLE && !cs_err_is_set(&denied))
			fail(flaw, path, &denied);
		element = *end ? end + 1 : NULL;
	}
	if (untold)
		return CS_RESOLVE_UNKNOWN;
	if (cs_err_is_set(&denied)) {
		*err = denied;
		return CS_RESOLVE_NOT_EXECUTABLE;
	}
	cs_fail(err, CS_NOT_FOUND, 0, "'%.*s' is not in PATH (%.*s)", NAME_SHOWN, name,
		2 * NAME_SHOWN, search);
	return CS_RESOLVE_NOT_FOUND;
}

/* The last PATH of the environment; NULL when there is none. */
static const char *search_path(const struct cs_json *process)
{
	const char *found = NULL;
	struct cs_json *item;

	cs_json_each(item, cs_json_member(process, "env")) {
		const char *text = cs_json_string(item);

		if (text && strncmp(text, "PATH=", 5) == 0)
			found = text + 5;
	}
	return found;
}

enum cs_resolve cs_resolve_command(const struct cs_json *config, const char *bundle_dir,
				   struct cs_err *err)
{
	const struct cs_json *process = cs_json_member(config, "process");
	const char *name = cs_json_string(cs_json_at(cs_json_member(process, "args"), 0));
	const char *search = search_path(process);
	enum cs_resolve verdict = CS_RESOLVE_UNKNOWN;
	struct cs__world world;

	if (cs__world_init(&world, config, bundle_dir) == 0 && name) {
		if (strchr(name, '/'))
			verdict = resolve_path(&world, name, err);
		else if (name[0] == '\0')
			verdict = fail(FLAW_MISSING, name, err);
		else if (search) /* without one, engines differ in where they look */
			verdict = resolve_in_path(&world, search, name, err);
	}
	cs__world_release(&world);
	if (verdict == CS_RESOLVE_UNKNOWN)
		cs_log_debug("resolve: '%s': left to the engine", name ? name : "");
	return verdict;
}
