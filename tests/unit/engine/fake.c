#include "tests/unit/engine/fake.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/file.h"
#include "shim/base/parse.h"
#include "shim/sys/reaper.h"
#include "tests/unit/unit.h"

const char *fake_path(const struct fake *fake, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", fake->dir, name);
	return path;
}

void fake_tell(const struct fake *fake, const char *name, const char *script)
{
	char file[64];

	snprintf(file, sizeof(file), "%s.script", name);
	ck_assert_int_eq(cs_file_write_atomic(AT_FDCWD, fake_path(fake, file), script, strlen(script), 0600, false), 0);
}

static void write_config(const struct fake *fake, const char *script)
{
	cs_auto(buf) text = CS_BUF_INIT(4096);

	cs_buf_adds(&text, "{\"ociVersion\":\"1.0.2\",\"root\":{\"path\":\"/\"},\"process\":{\"cwd\":\"/\",\"user\":{\"uid\":0,\"gid\":0},"
			   "\"env\":[\"PATH=/usr/bin:/bin\"],\"args\":[\"/bin/sh\",\"-c\",\"");
	cs_buf_add_json_escaped(&text, script, strlen(script));
	cs_buf_adds(&text, "\"]}}\n");
	ck_assert_int_eq(cs_file_write_atomic(AT_FDCWD, fake_path(fake, "config.json"), text.data, text.len, 0600, false), 0);
}

void fake_set_up(struct fake *fake, const char *name, const char *script)
{
	const char *build = getenv("BUILDDIR");
	struct cs_err err = CS_ERR_INIT;
	char target[4096], here[4096];

	*fake = (struct fake){ .dir = "/tmp/caisson-fake-XXXXXX" };
	ck_assert_ptr_nonnull(mkdtemp(fake->dir));
	ck_assert_ptr_nonnull(realpath(build ? build : ".", here));
	snprintf(target, sizeof(target), "%.4000s/tests/fake/fakerun", here);
	ck_assert_int_eq(symlink(target, fake_path(fake, name)), 0);
	ck_ok(cs_engine_find(fake_path(fake, name), NULL, NULL, -1, &fake->engine, &err), err);
	ck_assert_int_eq(cs_reaper_become(), 0);
	fake->loop = cs_loop_new();
	ck_assert_ptr_nonnull(fake->loop);
	write_config(fake, script);
	snprintf(fake->root, sizeof(fake->root), "%s/root", fake->dir);
	snprintf(fake->log, sizeof(fake->log), "%s/log", fake->dir);
	snprintf(fake->pid_file, sizeof(fake->pid_file), "%s/pid", fake->dir);
	fake->args = (struct cs_engine_args){
		.root = fake->root, .log = fake->log, .bundle = fake->dir, .pid_file = fake->pid_file,
		.id = "c1", .signal = "9", .force = true,
	};
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

pid_t fake_pid(const struct fake *fake)
{
	cs_auto(buf) text = CS_BUF_INIT(32);
	uint32_t pid = 0;

	if (cs_file_read(AT_FDCWD, fake->pid_file, &text) < 0 || !text.data || cs_parse_u32(text.data, &pid) < 0)
		return 0;
	return (pid_t)pid;
}

void fake_tear_down(struct fake *fake)
{
	/* whoever is left is a child of ours by now: subreaper */
	for (;;) {
		siginfo_t info = { 0 };

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0)
			break;
		if (info.si_pid == 0) {
			pid_t pid = fake_pid(fake);

			if (pid > 0)
				kill(pid, SIGKILL);
			if (waitid(P_ALL, 0, &info, WEXITED) < 0)
				break;
		}
	}
	cs_loop_free(fake->loop);
	cs_engine_release(&fake->engine);
	ck_assert_int_eq(nftw(fake->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int fake_call(struct fake *fake, enum cs_verb verb, struct cs_engine_result *ret, struct cs_err *err)
{
	struct cs_engine_call call = { .engine = &fake->engine, .verb = verb, .args = &fake->args };

	return cs_engine_call(fake->loop, &call, ret, err);
}
