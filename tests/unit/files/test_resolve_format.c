#include <fcntl.h>
#include <string.h>

#include "shim/base/fd.h"
#include "shim/files/resolve_int.h"
#include "tests/unit/files/program.h"
#include "tests/unit/unit.h"

static char interpreter[PATH_MAX];

static enum cs__format format_of(const struct cs_tree *tree, const char *path)
{
	cs_autofd int fd = openat(tree->fd, path, O_RDONLY | O_CLOEXEC);
	enum cs__format format;

	interpreter[0] = '\0';
	ck_assert_int_eq(cs__format_read(fd, &format, interpreter), 0);
	return format;
}

START_TEST(first_lines_are_read_as_the_kernel_does)
{
	static const struct {
		const char *text;
		enum cs__format format;
		const char *interpreter;
	} rows[] = {
		{ "", CS__FORMAT_NONE, "" },
		{ "#", CS__FORMAT_NONE, "" },
		{ "echo hi\n", CS__FORMAT_NONE, "" },
		{ "#!\n", CS__FORMAT_NONE, "" },
		{ "#!   \t\n", CS__FORMAT_NONE, "" },
		{ "#!/bin/sh\n", CS__FORMAT_SCRIPT, "/bin/sh" },
		{ "#!/bin/sh", CS__FORMAT_SCRIPT, "/bin/sh" },
		{ "#! \t/bin/sh -e x\n", CS__FORMAT_SCRIPT, "/bin/sh" },
		{ "#!/bin/sh\t-e\n", CS__FORMAT_SCRIPT, "/bin/sh" },
		{ "#!/bin/sh\r\n", CS__FORMAT_SCRIPT, "/bin/sh\r" },
		{ "#!sh\n", CS__FORMAT_SCRIPT, "sh" },
		{ " #!/bin/sh\n", CS__FORMAT_NONE, "" },
	};
	struct cs_tree tree;

	cs_tree_init(&tree);
	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%zu", i);
		cs_tree_file(&tree, name, rows[i].text, 0755);
		ck_assert_int_eq(format_of(&tree, name), rows[i].format);
		ck_assert_str_eq(interpreter, rows[i].interpreter);
	}
	cs_tree_release(&tree);
}
END_TEST

START_TEST(the_first_line_ends_at_256_bytes)
{
	struct cs_tree tree;
	char text[400];

	cs_tree_init(&tree);
	memset(text, 'a', sizeof(text));
	memcpy(text, "#!/", 3);
	text[254] = ' '; /* the name ends in the head: 252 bytes */
	text[399] = '\0';
	cs_tree_file(&tree, "fits", text, 0755);
	ck_assert_int_eq(format_of(&tree, "fits"), CS__FORMAT_SCRIPT);
	ck_assert_uint_eq(strlen(interpreter), 252);

	text[254] = 'a';
	cs_tree_file(&tree, "over", text, 0755);
	ck_assert_int_eq(format_of(&tree, "over"), CS__FORMAT_NONE);
	cs_tree_release(&tree);
}
END_TEST

START_TEST(elf_files_tell_their_interpreter)
{
	static const enum cs__format flawed[CS_PROGRAM_FLAWS] = {
		[CS_PROGRAM_FOREIGN] = CS__FORMAT_FOREIGN,
		[CS_PROGRAM_OBJECT] = CS__FORMAT_DAMAGED,
		[CS_PROGRAM_CUT] = CS__FORMAT_DAMAGED,
		[CS_PROGRAM_OPEN] = CS__FORMAT_DAMAGED,
	};
	struct cs_tree tree;

	cs_tree_init(&tree);
	cs_program(&tree, "dynamic", "/lib/ld.so");
	ck_assert_int_eq(format_of(&tree, "dynamic"), CS__FORMAT_ELF);
	ck_assert_str_eq(interpreter, "/lib/ld.so");
	cs_program(&tree, "static", NULL);
	ck_assert_int_eq(format_of(&tree, "static"), CS__FORMAT_STATIC);
	cs_tree_file(&tree, "magic only", "\177ELF", 0755);
	ck_assert_int_eq(format_of(&tree, "magic only"), CS__FORMAT_FOREIGN);
	for (int flaw = 0; flaw < CS_PROGRAM_FLAWS; flaw++) {
		char name[16];

		snprintf(name, sizeof(name), "flaw%d", flaw);
		cs_program_flawed(&tree, name, (enum cs_program_flaw)flaw);
		ck_assert_int_eq(format_of(&tree, name), flawed[flaw]);
	}
	cs_tree_release(&tree);
}
END_TEST

static bool taken(const struct cs_tree *tree, const char *name, const char *text)
{
	cs_autofd int fd = -1;
	char file[32];

	snprintf(file, sizeof(file), "file-%s", name);
	cs_tree_file(tree, file, text, 0755);
	fd = openat(tree->fd, file, O_RDONLY | O_CLOEXEC);
	return cs__binfmt_takes(cs_tree_at(tree, "misc"), name, fd);
}

START_TEST(binfmt_misc_handlers_take_what_they_match)
{
	struct cs_tree tree;

	cs_tree_init(&tree);
	ck_assert(!taken(&tree, "none", "abc")); /* no such directory */
	cs_tree_file(&tree, "misc/status", "enabled\n", 0644);
	cs_tree_file(&tree, "misc/register", "", 0200);
	cs_tree_file(&tree, "misc/jar", "enabled\ninterpreter /j\nflags: \nextension .jar\n", 0644);
	cs_tree_file(&tree, "misc/magic",
		     "enabled\ninterpreter /m\nflags: \noffset 1\nmagic 4142\nmask ff0f\n", 0644);
	cs_tree_file(&tree, "misc/off", "disabled\ninterpreter /o\nflags: \noffset 0\nmagic 7a\n", 0644);

	ck_assert(taken(&tree, "x.jar", "abc"));
	ck_assert(!taken(&tree, "x.jar2", "abc"));
	ck_assert(!taken(&tree, "jar", "abc"));
	ck_assert(taken(&tree, "m1", "xAB"));
	ck_assert(taken(&tree, "m2", "xAr")); /* masked: r is 72 */
	ck_assert(!taken(&tree, "m3", "xAC"));
	ck_assert(!taken(&tree, "m4", "AB"));
	ck_assert(!taken(&tree, "z", "z"));
	cs_tree_release(&tree);
}
END_TEST

CS_UNIT_SUITE(resolve_format, first_lines_are_read_as_the_kernel_does,
	      the_first_line_ends_at_256_bytes, elf_files_tell_their_interpreter,
	      binfmt_misc_handlers_take_what_they_match)
