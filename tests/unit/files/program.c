#include "tests/unit/files/program.h"

#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>

#include "shim/base/fd.h"

struct program {
	Elf64_Ehdr head;
	Elf64_Phdr entries[2];
	char interpreter[256];
};

/* The machine is the one this very program runs on. */
static Elf64_Half own_machine(void)
{
	cs_autofd int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr head;

	ck_assert_int_eq(cs_fd_read_all(fd, &head, sizeof(head)), sizeof(head));
	ck_assert_int_eq(head.e_ident[EI_CLASS], ELFCLASS64);
	return head.e_machine;
}

static struct program make(const char *interpreter)
{
	struct program p = { 0 };

	memcpy(p.head.e_ident, ELFMAG, SELFMAG);
	p.head.e_ident[EI_CLASS] = ELFCLASS64;
	p.head.e_ident[EI_DATA] = ELFDATA2LSB;
	p.head.e_type = ET_DYN;
	p.head.e_machine = own_machine();
	p.head.e_phoff = offsetof(struct program, entries);
	p.head.e_phentsize = sizeof(Elf64_Phdr);
	p.head.e_phnum = 2;
	p.entries[0].p_type = PT_LOAD;
	if (interpreter) {
		p.entries[1].p_type = PT_INTERP;
		p.entries[1].p_offset = offsetof(struct program, interpreter);
		p.entries[1].p_filesz = strlen(interpreter) + 1;
		snprintf(p.interpreter, sizeof(p.interpreter), "%s", interpreter);
	}
	return p;
}

void cs_program(const struct cs_tree *tree, const char *path, const char *interpreter)
{
	struct program p = make(interpreter);

	cs_tree_bytes(tree, path, &p, sizeof(p), 0755);
}

void cs_program_flawed(const struct cs_tree *tree, const char *path, enum cs_program_flaw flaw)
{
	struct program p = make("/lib/ld.so");

	switch (flaw) {
	case CS_PROGRAM_FOREIGN:
		p.head.e_machine = EM_68K;
		break;
	case CS_PROGRAM_OBJECT:
		p.head.e_type = ET_REL;
		break;
	case CS_PROGRAM_CUT:
		p.head.e_phoff = sizeof(p) - 8;
		break;
	case CS_PROGRAM_OPEN:
		p.entries[1].p_filesz--;
		break;
	case CS_PROGRAM_FLAWS:
		break;
	}
	cs_tree_bytes(tree, path, &p, sizeof(p), 0755);
}
