/*
 * The built-in seccomp profile as data: a verdict for every system call, the
 * arguments that decide where a name alone cannot, the architectures that go
 * together, and what engines call themselves once the filter is loaded
 * (syscalls(2), seccomp_rule_add(3), runtime-spec config-linux.md, "Seccomp").
 *
 * For profile*.c and tests; nothing else looks here. The verdicts are in
 * profile_table.c, everything else in profile_words.c.
 */
#ifndef CS_OCI_SPEC_PROFILE_TABLE_H
#define CS_OCI_SPEC_PROFILE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "shim/base/attr.h"

enum cs_profile_verdict {
	CS_PROFILE_ALLOW,
	CS_PROFILE_FILTER, /* by its arguments: rows of cs_profile_filter */
	CS_PROFILE_DENY,   /* EPERM */
	CS_PROFILE_ABSENT, /* ENOSYS: as if this kernel did not have it */
};

struct cs_profile_row {
	const char *name;
	enum cs_profile_verdict verdict;
	const char *capability[2]; /* with either of these the verdict is ALLOW */
};

/* i-th row, sorted by name (strcmp); NULL past the end. */
const struct cs_profile_row *cs_profile_row_at(size_t i);

/* One condition; several for a name are alternatives, and no two overlap. */
struct cs_profile_filter {
	const char *name;
	const char *action;    /* "SCMP_ACT_ALLOW", … */
	int errnum;            /* with SCMP_ACT_ERRNO */
	unsigned index;        /* which argument, from 0 */
	unsigned index_s390;   /* there clone(2) has its first two arguments swapped */
	const char *op;        /* "SCMP_CMP_EQ", … */
	uint64_t value;        /* the mask of SCMP_CMP_MASKED_EQ */
	uint64_t value_two;    /* what SCMP_CMP_MASKED_EQ compares with */
};

const struct cs_profile_filter *cs_profile_filter_at(size_t i);

#define CS_PROFILE_ARCH_COMPAT 2

struct cs_profile_arch {
	uint32_t token;          /* SCMP_ARCH_… */
	const char *name;        /* "SCMP_ARCH_X86_64" */
	const char *short_name;  /* "amd64": as includes.arches of Docker's form has it */
	uint32_t compat[CS_PROFILE_ARCH_COMPAT]; /* what the same kernel runs too; 0: none */
};

/* Row by token; NULL for an architecture that is not in the table. */
const struct cs_profile_arch *cs_profile_arch(uint32_t token);

/* A call that some engine makes between loading the filter and the program. */
struct cs_profile_need {
	const char *name;
	const char *who; /* "runc 1.5" */
};

const struct cs_profile_need *cs_profile_need_at(size_t i);

/* Actions of runtime-spec: does the call go on with it? -1 for an unknown word. */
int cs_profile_action_allows(const char *action);

#endif
