#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/files/resolve.h"
#include "tests/unit/files/program.h"
#include "tests/unit/unit.h"

/* A config.json in the making; what is NULL or 0 has the default of the fixture. */
struct run {
	const char *args0;
	const char *path;         /* PATH; "-" for none at all */
	const char *cwd;
	unsigned uid, gid;        /* 0: somebody who owns nothing; ROOT: 0 */
	const char *groups;       /* JSON array */
	const char *capabilities; /* JSON array */
	const char *mounts;       /* JSON array */
	const char *linux_part;   /* JSON object */
};

#define STRANGER 4000000
#define ROOT 4000001

static struct cs_tree tree; /* the bundle; its rootfs is tree/rootfs */
static struct cs_err err;

static unsigned id_of(unsigned id)
{
	return id == 0 ? STRANGER : id == ROOT ? 0 : id;
}

static enum cs_resolve resolve(struct run run)
{
	cs_autojson struct cs_json *config = NULL;
	cs_auto(buf) text = CS_BUF_INIT(64 << 10);
	enum cs_resolve verdict;

	cs_buf_adds(&text, "{\"root\":{\"path\":\"rootfs\"},\"process\":{\"args\":[\"");
	cs_buf_add_json_escaped(&text, run.args0, strlen(run.args0));
	cs_buf_addf(&text, "\"],\"env\":[\"A=b\"");
	if (!run.path || strcmp(run.path, "-") != 0)
		cs_buf_addf(&text, ",\"PATH=%s\"", run.path ? run.path : "/bin");
	cs_buf_addf(&text,
		    "],\"cwd\":\"%s\",\"user\":{\"uid\":%u,\"gid\":%u,\"additionalGids\":%s},"
		    "\"capabilities\":{\"effective\":%s}},\"mounts\":%s,\"linux\":%s}",
		    run.cwd ? run.cwd : "/", id_of(run.uid), id_of(run.gid),
		    run.groups ? run.groups : "[]", run.capabilities ? run.capabilities : "[]",
		    run.mounts ? run.mounts : "[]", run.linux_part ? run.linux_part : "{}");
	cs_err_clear(&err);
	ck_ok(cs_json_parse(text.data, text.len, "test", &config, &err), err);
	verdict = cs_resolve_command(config, tree.path, &err);
	ck_assert_int_eq(cs_err_is_set(&err), verdict == CS_RESOLVE_NOT_FOUND ||
						      verdict == CS_RESOLVE_NOT_EXECUTABLE);
	return verdict;
}

/* The verdict, a part of the message, args[0] and further fields of struct run. */
#define expect(verdict, part, ...) \
	do { \
		ck_assert_int_eq(resolve((struct run){ .args0 = __VA_ARGS__ }), CS_RESOLVE_##verdict); \
		ck_assert_msg(strstr(err.text, part) != NULL, "'%s' lacks '%s'", err.text, part); \
	} while (0)

static unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static unsigned fds_before;

static void setup(void)
{
	cs_tree_init(&tree);
	cs_tree_dir(&tree, "rootfs", 0755);
	cs_tree_file(&tree, "rootfs/lib/ld.so", "", 0755);
	unlinkat(tree.fd, "rootfs/lib/ld.so", 0);
	cs_program(&tree, "rootfs/lib/ld.so", NULL);
	cs_program(&tree, "rootfs/bin/prog", "/lib/ld.so");
	fds_before = count_fds();
}

static void teardown(void)
{
	ck_assert_uint_eq(count_fds(), fds_before);
	cs_tree_release(&tree);
}

START_TEST(names_are_looked_for_in_path)
{
	setup();
	cs_tree_dir(&tree, "rootfs/a/prog", 0755);
	cs_tree_file(&tree, "rootfs/b/prog", "#!/bin/prog\n", 0644);
	cs_tree_link(&tree, "rootfs/c/prog", "gone");
	cs_tree_dir(&tree, "rootfs/work", 0755);
	cs_program(&tree, "rootfs/work/here", NULL);
	cs_program(&tree, "rootfs/work/sub/there", NULL);

	expect(OK, "", "prog");
	expect(OK, "", "prog", .path = "/a:/b:/c:/not:/bin/prog:/bin");
	expect(NOT_FOUND, "'python4' is not in PATH (/usr/bin:/bin)", "python4",
	       .path = "/usr/bin:/bin");
	expect(NOT_EXECUTABLE, "'/a/prog' is a directory", "prog", .path = "/not:/a:/b");
	expect(NOT_EXECUTABLE, "'/b/prog' is not executable", "prog", .path = "/c:/b");
	expect(NOT_FOUND, "not in PATH", "prog", .path = "/c:/not");

	/* an empty element is the working directory, a relative one is below it */
	expect(OK, "", "here", .cwd = "/work", .path = "/not:");
	expect(OK, "", "here", .cwd = "/work", .path = "");
	expect(OK, "", "here", .cwd = "/work", .path = "::/not");
	expect(NOT_FOUND, "", "here", .cwd = "/", .path = ":/not");
	expect(OK, "", "there", .cwd = "/work", .path = "sub");
	expect(NOT_FOUND, "", "", .path = "/bin");
	expect(UNKNOWN, "", "prog", .path = "-");

	/* the first with its x bit is it, whatever it holds */
	cs_tree_file(&tree, "rootfs/d/prog", "text", 0755);
	expect(NOT_EXECUTABLE, "'/d/prog' is neither", "prog", .path = "/d:/bin");
	teardown();
}
END_TEST

START_TEST(paths_are_relative_to_the_working_directory)
{
	setup();
	cs_tree_file(&tree, "rootfs/etc/passwd", "", 0644);
	cs_tree_fifo(&tree, "rootfs/fifo");
	expect(OK, "", "/bin/prog");
	expect(OK, "", "//bin/./../bin//prog");
	expect(OK, "", "bin/prog");
	expect(OK, "", "./prog", .cwd = "/bin");
	expect(OK, "", "../../../bin/prog", .cwd = "/bin");
	expect(NOT_FOUND, "'/no/such/cmd' does not exist", "/no/such/cmd");
	expect(NOT_FOUND, "does not exist", "./prog", .cwd = "/gone");
	expect(NOT_FOUND, "no directory", "/bin/prog/");
	expect(NOT_FOUND, "no directory", "/bin/prog/x");
	expect(NOT_FOUND, "no directory", "/bin/prog/..");
	expect(NOT_EXECUTABLE, "is a directory", "/etc");
	expect(NOT_EXECUTABLE, "is a directory", "/");
	expect(NOT_EXECUTABLE, "is a directory", "/etc/.");
	expect(NOT_EXECUTABLE, "not executable for the user", "/etc/passwd");
	expect(NOT_EXECUTABLE, "no regular file", "/fifo"); /* and does not hang */
	teardown();
}
END_TEST

START_TEST(long_names_end_the_search)
{
	static char name[PATH_MAX + 8];

	setup();
	memset(name, 'n', 300);
	name[0] = '/';
	expect(NOT_FOUND, "too long", name);
	memset(name, '/', sizeof(name) - 1);
	expect(NOT_FOUND, "too long", name);
	teardown();
}
END_TEST

START_TEST(links_stay_inside)
{
	char name[32], target[32];

	setup();
	cs_program(&tree, "outside", NULL);
	cs_tree_link(&tree, "rootfs/absolute", "/bin/prog");
	cs_tree_link(&tree, "rootfs/sbin", "bin");
	cs_tree_link(&tree, "rootfs/x/up", "../../../bin/prog");
	cs_tree_link(&tree, "rootfs/out", "../outside");
	cs_tree_link(&tree, "rootfs/slash", "/bin/prog/");
	cs_tree_link(&tree, "rootfs/loop", "loop");
	cs_tree_link(&tree, "rootfs/l0", "/bin/prog");
	for (int i = 1; i <= 40; i++) {
		snprintf(name, sizeof(name), "rootfs/l%d", i);
		snprintf(target, sizeof(target), "l%d", i - 1);
		cs_tree_link(&tree, name, target);
	}
	expect(OK, "", "/absolute");
	expect(OK, "", "/sbin/prog");
	expect(OK, "", "/x/up");
	expect(NOT_FOUND, "does not exist", "/out");
	expect(NOT_FOUND, "does not exist", "/../outside");
	expect(NOT_FOUND, "no directory", "/slash");
	expect(NOT_FOUND, "too many links", "/loop");
	expect(OK, "", "/l39");             /* 40 links, as the kernel follows */
	expect(NOT_FOUND, "too many links", "/l40");
	teardown();
}
END_TEST

START_TEST(mounts_are_stepped_over)
{
	static const char usr[] = "[{\"destination\":\"/usr\",\"type\":\"bind\",\"source\":\"host\","
				  "\"options\":[\"rbind\",\"rro\"]}]";
	static const char over[] =
		"[{\"destination\":\"/usr\",\"source\":\"host\",\"options\":[\"rbind\"]},"
		"{\"destination\":\"/usr/in\",\"source\":\"other\",\"options\":[\"rbind\"]},"
		"{\"destination\":\"/usr\",\"source\":\"other\",\"options\":[\"rbind\"]}]";
	static const char through[] =
		"[{\"destination\":\"/usr\",\"source\":\"host\",\"options\":[\"rbind\"]},"
		"{\"destination\":\"/link/in\",\"source\":\"other\",\"options\":[\"rbind\"]}]";
	static const char file[] =
		"[{\"destination\":\"/new/dir/cmd\",\"type\":\"bind\",\"source\":\"host/tool\","
		"\"options\":[\"bind\"]}]";

	setup();
	cs_program(&tree, "host/tool", "/lib/ld.so");
	cs_tree_dir(&tree, "host/in", 0755);
	cs_program(&tree, "other/second", NULL);
	cs_tree_dir(&tree, "rootfs/usr", 0755);
	cs_program(&tree, "rootfs/usr/hidden", NULL);
	cs_tree_link(&tree, "rootfs/link", "usr");
	cs_tree_link(&tree, "host/absolute", "/bin/prog");
	cs_tree_link(&tree, "host/back", "../bin/prog");

	expect(OK, "", "/usr/tool", .mounts = usr);
	expect(OK, "", "/link/tool", .mounts = usr);
	expect(OK, "", "/usr/absolute", .mounts = usr);
	expect(OK, "", "/usr/back", .mounts = usr); /* ".." of a mount is inside, not its source's */
	expect(NOT_FOUND, "", "/usr/hidden", .mounts = usr);
	expect(OK, "", "/usr/hidden");

	/* the last mount covers the earlier ones, and what was mounted in them */
	expect(OK, "", "/usr/second", .mounts = over);
	expect(NOT_FOUND, "", "/usr/tool", .mounts = over);
	expect(NOT_FOUND, "", "/usr/in/second", .mounts = over);

	/* a destination behind a link is where the link leads */
	expect(OK, "", "/usr/in/second", .mounts = through);

	/* the engine makes the way to a mount point */
	expect(OK, "", "/new/dir/cmd", .mounts = file);
	expect(NOT_EXECUTABLE, "is a directory", "/new/dir", .mounts = file);
	expect(NOT_FOUND, "", "/new/other", .mounts = file);
	teardown();
}
END_TEST

START_TEST(other_mounts_are_empty_or_unknown)
{
	static const char mounts[] =
		"[{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},"
		"{\"destination\":\"/dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\"},"
		"{\"destination\":\"/dev/tool\",\"source\":\"host/tool\",\"options\":[\"bind\"]},"
		"{\"destination\":\"/bin\",\"type\":\"tmpfs\",\"source\":\"tmpfs\"},"
		"{\"destination\":\"/bin/a/tool\",\"source\":\"host/tool\",\"options\":[\"bind\"]},"
		"{\"destination\":\"/copy\",\"type\":\"tmpfs\",\"options\":[\"tmpcopyup\"]},"
		"{\"destination\":\"/ov\",\"type\":\"overlay\",\"source\":\"overlay\"},"
		"{\"destination\":\"/hostproc\",\"source\":\"/proc\",\"options\":[\"rbind\"]},"
		"{\"destination\":\"/gone\",\"source\":\"gone\",\"options\":[\"rbind\"]}]";

	setup();
	cs_program(&tree, "host/tool", NULL);
	expect(UNKNOWN, "", "/proc/self/exe", .mounts = mounts);
	expect(UNKNOWN, "", "/hostproc/self/exe", .mounts = mounts);
	expect(UNKNOWN, "", "/dev/null", .mounts = mounts);
	expect(OK, "", "/dev/tool", .mounts = mounts);
	expect(NOT_FOUND, "", "/bin/prog", .mounts = mounts);
	expect(OK, "", "/bin/a/tool", .mounts = mounts);
	expect(NOT_EXECUTABLE, "is a directory", "/bin/a", .mounts = mounts);
	expect(NOT_EXECUTABLE, "is a directory", "/bin", .mounts = mounts);
	expect(UNKNOWN, "", "/copy/x", .mounts = mounts);
	expect(UNKNOWN, "", "/ov/x", .mounts = mounts);
	expect(UNKNOWN, "", "/gone/x", .mounts = mounts);
	/* an element that cannot be told decides only when nothing else does */
	expect(OK, "", "tool", .path = "/proc/x:/bin/a", .mounts = mounts);
	expect(UNKNOWN, "", "tool4", .path = "/proc/x:/bin/a", .mounts = mounts);
	expect(UNKNOWN, "", "/bin/prog", .linux_part = "{\"maskedPaths\":[\"/bin\"]}");
	expect(UNKNOWN, "", "/bin/prog", .mounts = "[{\"destination\":\"/\",\"type\":\"tmpfs\"}]");
	teardown();
}
END_TEST

START_TEST(noexec_mounts_run_nothing)
{
	setup();
	cs_program(&tree, "host/tool", NULL);
	cs_tree_file(&tree, "rootfs/script", "#!/d/tool\n", 0755);
	expect(NOT_EXECUTABLE, "noexec", "/d/tool",
	       .mounts = "[{\"destination\":\"/d\",\"source\":\"host\",\"options\":[\"rbind\",\"noexec\"]}]");
	expect(NOT_EXECUTABLE, "'/script': its interpreter: '/d/tool' lies on a mount with noexec",
	       "/script",
	       .mounts = "[{\"destination\":\"/d\",\"source\":\"host\",\"options\":[\"rbind\",\"noexec\"]}]");
	expect(OK, "", "/d/tool",
	       .mounts = "[{\"destination\":\"/d\",\"source\":\"host\","
			 "\"options\":[\"noexec\",\"rbind\",\"exec\"]}]");
	teardown();
}
END_TEST

START_TEST(a_plain_bind_does_not_bring_mounts_below)
{
	struct stat root, dev;

	setup();
	ck_assert_int_eq(stat("/", &root), 0);
	ck_assert_int_eq(stat("/dev", &dev), 0);
	if (root.st_dev != dev.st_dev) {
		expect(NOT_EXECUTABLE, "no regular file", "/h/dev/null",
		       .mounts = "[{\"destination\":\"/h\",\"source\":\"/\",\"options\":[\"rbind\"]}]");
		expect(UNKNOWN, "", "/h/dev/null",
		       .mounts = "[{\"destination\":\"/h\",\"source\":\"/\",\"options\":[\"bind\"]}]");
	}
	teardown();
}
END_TEST

START_TEST(permission_is_that_of_the_user)
{
	static const char override[] = "[\"CAP_DAC_OVERRIDE\"]";
	static char groups[32], userns[300];
	unsigned me, my_group;
	struct stat st;

	setup();
	cs_program(&tree, "rootfs/x/tool", NULL);
	ck_assert_int_eq(stat(cs_tree_at(&tree, "rootfs/x/tool"), &st), 0);
	me = st.st_uid == 0 ? ROOT : st.st_uid;
	my_group = st.st_gid == 0 ? ROOT : st.st_gid;
	snprintf(groups, sizeof(groups), "[7,%u]", st.st_gid);

#define mode_of_tool(mode) ck_assert_int_eq(fchmodat(tree.fd, "rootfs/x/tool", mode, 0), 0)
	mode_of_tool(0711);
	expect(OK, "", "/x/tool");
	mode_of_tool(0510);
	expect(NOT_EXECUTABLE, "not executable for the user", "/x/tool");
	expect(OK, "", "/x/tool", .gid = my_group);
	expect(OK, "", "/x/tool", .groups = groups);
	mode_of_tool(0500);
	expect(NOT_EXECUTABLE, "", "/x/tool", .gid = my_group);
	expect(OK, "", "/x/tool", .uid = me);
	mode_of_tool(0411); /* the first class that fits decides */
	expect(NOT_EXECUTABLE, "", "/x/tool", .uid = me, .gid = my_group);
	/* uid 0 without the capability is like everybody; with it, any x bit will do */
	expect(OK, "", "/x/tool", .uid = me, .capabilities = override);
	mode_of_tool(0644);
	expect(NOT_EXECUTABLE, "", "/x/tool", .uid = me, .capabilities = override);
	mode_of_tool(0755);

	ck_assert_int_eq(fchmodat(tree.fd, "rootfs/x", 0700, 0), 0);
	expect(NOT_EXECUTABLE, "may not search", "/x/tool");
	expect(NOT_EXECUTABLE, "may not search", "/x/gone");
	expect(NOT_EXECUTABLE, "may not search", "/x/../bin/prog");
	expect(NOT_EXECUTABLE, "may not search", "tool", .path = "/x:/bin");
	expect(OK, "", "prog", .path = "/x:/bin");
	expect(OK, "", "/x/tool", .capabilities = "[\"CAP_DAC_READ_SEARCH\"]");
	expect(OK, "", "/x/tool", .uid = me);

	/* uid 5 inside is the owner outside */
	snprintf(userns, sizeof(userns),
		 "{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"user\"}],"
		 "\"uidMappings\":[{\"containerID\":5,\"hostID\":%u,\"size\":1},"
		 "{\"containerID\":6,\"hostID\":3000000,\"size\":10}],"
		 "\"gidMappings\":[{\"containerID\":0,\"hostID\":3000000,\"size\":10}]}",
		 st.st_uid);
	expect(OK, "", "/x/tool", .uid = 5, .gid = 5, .linux_part = userns);
	expect(NOT_EXECUTABLE, "may not search", "/x/tool", .uid = 6, .gid = 5, .linux_part = userns);
	/* a capability does not reach files of groups that the namespace does not know */
	expect(NOT_EXECUTABLE, "may not search", "/x/tool", .uid = 6, .gid = 5, .linux_part = userns,
	       .capabilities = override);
	expect(UNKNOWN, "", "/x/tool", .uid = 99, .gid = 5, .linux_part = userns);
	expect(UNKNOWN, "", "/x/tool",
	       .linux_part = "{\"namespaces\":[{\"type\":\"user\",\"path\":\"/proc/1/ns/user\"}]}");
	ck_assert_int_eq(fchmodat(tree.fd, "rootfs/x", 0755, 0), 0);
	teardown();
}
END_TEST

START_TEST(scripts_need_their_interpreters)
{
	char name[32], text[64];

	setup();
	cs_tree_file(&tree, "rootfs/s0", "#!/bin/prog -x\n", 0755);
	for (int i = 1; i <= 5; i++) {
		snprintf(name, sizeof(name), "rootfs/s%d", i);
		snprintf(text, sizeof(text), "#!/s%d\n", i - 1);
		cs_tree_file(&tree, name, text, 0755);
	}
	cs_tree_file(&tree, "rootfs/py", "#!/usr/bin/python4\n", 0755);
	cs_tree_file(&tree, "rootfs/viapy", "#!/py\n", 0755);
	cs_tree_file(&tree, "rootfs/dos", "#!/bin/prog\r\n", 0755);
	cs_tree_file(&tree, "rootfs/dir", "#!/bin\n", 0755);
	cs_tree_file(&tree, "rootfs/relative", "#!prog\n", 0755);
	cs_tree_file(&tree, "rootfs/text", "hello\n", 0755);
	cs_tree_file(&tree, "rootfs/viatext", "#!/text\n", 0755);
	cs_tree_file(&tree, "rootfs/empty", "", 0755);

	expect(OK, "", "/s0");
	expect(OK, "", "/s4");
	expect(NOT_EXECUTABLE, "too many scripts in a row", "/s5");
	expect(NOT_FOUND, "'/py': its interpreter: '/usr/bin/python4' does not exist", "/py");
	expect(NOT_FOUND, "'/py': its interpreter: '/usr/bin/python4'", "/viapy");
	expect(NOT_FOUND, "CR LF): '/bin/prog' does not exist", "/dos");
	expect(NOT_EXECUTABLE, "'/dir': its interpreter: '/bin' is a directory", "/dir");
	expect(NOT_FOUND, "'prog' does not exist", "/relative"); /* no PATH for interpreters */
	expect(OK, "", "/relative", .cwd = "/bin");
	expect(NOT_EXECUTABLE, "'/text' is neither a program nor a script", "/text");
	expect(NOT_EXECUTABLE, "'/viatext': its interpreter: '/text' is neither", "/viatext");
	expect(NOT_EXECUTABLE, "neither", "/empty");
	teardown();
}
END_TEST

START_TEST(programs_need_their_loader)
{
	setup();
	cs_program(&tree, "rootfs/bin/musl", "/lib/ld-musl.so.1");
	cs_program(&tree, "rootfs/bin/static", NULL);
	cs_tree_file(&tree, "rootfs/lib/script", "#!/bin/prog\n", 0755);
	cs_program(&tree, "rootfs/bin/odd", "/lib/script");
	cs_program_flawed(&tree, "rootfs/bin/foreign", CS_PROGRAM_FOREIGN);
	cs_program_flawed(&tree, "rootfs/bin/object", CS_PROGRAM_OBJECT);
	expect(OK, "", "static");
	expect(NOT_FOUND, "'/bin/musl': its interpreter: '/lib/ld-musl.so.1' does not exist", "musl");
	expect(NOT_EXECUTABLE, "'/bin/odd': its interpreter: '/lib/script' is neither", "odd");
	expect(NOT_EXECUTABLE, "another machine", "foreign");
	expect(NOT_EXECUTABLE, "damaged", "object");
	ck_assert_int_eq(fchmodat(tree.fd, "rootfs/lib/ld.so", 0644, 0), 0);
	expect(NOT_EXECUTABLE, "'/lib/ld.so' is not executable", "prog");
	teardown();
}
END_TEST

START_TEST(broken_configurations_are_the_engines_to_refuse)
{
	static const char *const texts[] = {
		"{}", "[]", "{\"process\":{}}",
		"{\"process\":{\"args\":[],\"cwd\":\"/\"},\"root\":{\"path\":\"rootfs\"}}",
		"{\"process\":{\"args\":[\"/x\"],\"cwd\":\"/\"},\"root\":{\"path\":\"no\"}}",
		"{\"process\":{\"args\":[\"/x\"],\"cwd\":\"x\"},\"root\":{\"path\":\"rootfs\"}}",
		"{\"process\":{\"args\":[1],\"cwd\":\"/\"},\"root\":{\"path\":\"rootfs\"}}",
		"{\"process\":{\"args\":[\"/x\"],\"cwd\":\"/\",\"user\":{\"uid\":-1}},"
		"\"root\":{\"path\":\"rootfs\"}}",
		"{\"process\":{\"args\":[\"/x\"],\"cwd\":\"/\"},\"root\":{\"path\":\"rootfs\"},"
		"\"mounts\":[{}]}",
	};

	setup();
	for (size_t i = 0; i < CS_ARRAY_LEN(texts); i++) {
		cs_autojson struct cs_json *config = NULL;

		cs_err_clear(&err);
		ck_ok(cs_json_parse(texts[i], strlen(texts[i]), "test", &config, &err), err);
		ck_assert_int_eq(cs_resolve_command(config, tree.path, &err), CS_RESOLVE_UNKNOWN);
		ck_assert(!cs_err_is_set(&err));
	}
	teardown();
}
END_TEST

CS_UNIT_SUITE(resolve, names_are_looked_for_in_path, paths_are_relative_to_the_working_directory,
	      long_names_end_the_search, links_stay_inside, mounts_are_stepped_over,
	      other_mounts_are_empty_or_unknown, noexec_mounts_run_nothing,
	      a_plain_bind_does_not_bring_mounts_below, permission_is_that_of_the_user,
	      scripts_need_their_interpreters, programs_need_their_loader,
	      broken_configurations_are_the_engines_to_refuse)
