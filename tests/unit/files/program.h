/* Program files made for tests: the smallest ELF that the kernel would look at. */
#ifndef CS_TESTS_FILES_PROGRAM_H
#define CS_TESTS_FILES_PROGRAM_H

#include "tests/unit/files/tree.h"

/* A 64-bit ELF file for this machine; interpreter may be NULL. Executable for all. */
void cs_program(const struct cs_tree *tree, const char *path, const char *interpreter);

/* The same with one field wrong. */
enum cs_program_flaw {
	CS_PROGRAM_FOREIGN,  /* another machine */
	CS_PROGRAM_OBJECT,   /* ET_REL */
	CS_PROGRAM_CUT,      /* program headers beyond the end */
	CS_PROGRAM_OPEN,     /* interpreter without NUL */
	CS_PROGRAM_FLAWS
};
void cs_program_flawed(const struct cs_tree *tree, const char *path, enum cs_program_flaw flaw);

#endif
