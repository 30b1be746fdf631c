#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/socket.h>

#include "oci-spec/profile.h"
#include "oci-spec/profile_table.h"

/* --- by argument ----------------------------------------------------------------- */

#define NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/* CLONE_NEWTIME has the place of a signal number in clone(2): clone3 and unshare alone know it. */
#define CLONE_WITHOUT(mask) \
	{ \
		"clone", "SCMP_ACT_ALLOW", 0, 0, 1, "SCMP_CMP_MASKED_EQ", (mask), 0 \
	}
#define CLONE_WITH(flag) \
	{ \
		"clone", "SCMP_ACT_ERRNO", EPERM, 0, 1, "SCMP_CMP_MASKED_EQ", (flag), (flag) \
	}
#define PERSONALITY(value) \
	{ \
		"personality", "SCMP_ACT_ALLOW", 0, 0, 0, "SCMP_CMP_EQ", (value), 0 \
	}
#define SOCKET(family) \
	{ \
		"socket", "SCMP_ACT_ALLOW", 0, 0, 0, "SCMP_CMP_EQ", (family), 0 \
	}

static const struct cs_profile_filter filters[] = {
	CLONE_WITHOUT(NAMESPACES),
	CLONE_WITH(CLONE_NEWNS),
	CLONE_WITH(CLONE_NEWCGROUP),
	CLONE_WITH(CLONE_NEWUTS),
	CLONE_WITH(CLONE_NEWIPC),
	CLONE_WITH(CLONE_NEWUSER),
	CLONE_WITH(CLONE_NEWPID),
	CLONE_WITH(CLONE_NEWNET),
	/* those that only change what uname(2) says, and the question which is set */
	PERSONALITY(PER_LINUX),
	PERSONALITY(PER_LINUX32),
	PERSONALITY(UNAME26),
	PERSONALITY(PER_LINUX32 | UNAME26),
	PERSONALITY(0xffffffff),
	/*
	 * What programs talk over. The rest (AF_ALG, AF_VSOCK to the hypervisor, AF_BLUETOOTH, …)
	 * is code that anybody could have the kernel load: above the last of ours the answer is
	 * that of a kernel without it.
	 */
	SOCKET(AF_UNIX),
	SOCKET(AF_INET),
	SOCKET(AF_INET6),
	SOCKET(AF_NETLINK),
	SOCKET(AF_PACKET),
	{ "socket", "SCMP_ACT_ERRNO", EAFNOSUPPORT, 0, 0, "SCMP_CMP_GT", AF_PACKET, 0 },
};

const struct cs_profile_filter *cs_profile_filter_at(size_t i)
{
	return i < CS_ARRAY_LEN(filters) ? &filters[i] : NULL;
}

/* --- architectures ----------------------------------------------------------------- */

/*
 * x32 is left out: hardly a program has it, hardly a kernel has it switched on,
 * and engines would take as long for it as for all the rest (10 of 20 ms, since
 * libseccomp is slower than linear). Its calls end the program with SIGSYS.
 */
static const struct cs_profile_arch arches[] = {
	{ SCMP_ARCH_X86_64, "SCMP_ARCH_X86_64", "amd64", { SCMP_ARCH_X86 } },
	{ SCMP_ARCH_X86, "SCMP_ARCH_X86", "x86", { 0 } },
	{ SCMP_ARCH_X32, "SCMP_ARCH_X32", "x32", { 0 } },
	{ SCMP_ARCH_AARCH64, "SCMP_ARCH_AARCH64", "arm64", { SCMP_ARCH_ARM } },
	{ SCMP_ARCH_ARM, "SCMP_ARCH_ARM", "arm", { 0 } },
	{ SCMP_ARCH_PPC64LE, "SCMP_ARCH_PPC64LE", "ppc64le", { 0 } },
	{ SCMP_ARCH_RISCV64, "SCMP_ARCH_RISCV64", "riscv64", { 0 } },
	{ SCMP_ARCH_S390X, "SCMP_ARCH_S390X", "s390x", { SCMP_ARCH_S390 } },
	{ SCMP_ARCH_S390, "SCMP_ARCH_S390", "s390", { 0 } },
	{ SCMP_ARCH_MIPS64, "SCMP_ARCH_MIPS64", "mips64", { SCMP_ARCH_MIPS, SCMP_ARCH_MIPS64N32 } },
	{ SCMP_ARCH_MIPS64N32, "SCMP_ARCH_MIPS64N32", "mips64n32", { 0 } },
	{ SCMP_ARCH_MIPS, "SCMP_ARCH_MIPS", "mips", { 0 } },
	{ SCMP_ARCH_MIPSEL64,
	  "SCMP_ARCH_MIPSEL64",
	  "mips64le",
	  { SCMP_ARCH_MIPSEL, SCMP_ARCH_MIPSEL64N32 } },
	{ SCMP_ARCH_MIPSEL64N32, "SCMP_ARCH_MIPSEL64N32", "mips64len32", { 0 } },
	{ SCMP_ARCH_MIPSEL, "SCMP_ARCH_MIPSEL", "mipsle", { 0 } },
#ifdef SCMP_ARCH_LOONGARCH64
	{ SCMP_ARCH_LOONGARCH64, "SCMP_ARCH_LOONGARCH64", "loong64", { 0 } },
#endif
};

const struct cs_profile_arch *cs_profile_arch(uint32_t token)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(arches); i++)
		if (arches[i].token == token)
			return &arches[i];
	return NULL;
}

/* --- what engines need -------------------------------------------------------------- */

/*
 * Found by refusing one call after the other to a program that only exits:
 * without these, create or start fails. Go's scheduler adds futex, when a
 * thread of it waits, and rt_sigreturn, when it is preempted.
 */
static const struct cs_profile_need needs[] = {
	{ "close", "runc" },   { "execve", "every engine" }, { "fstat", "runc 1.5" },
	{ "fstatfs", "runc" }, { "futex", "runc" },          { "getdents64", "runc" },
	{ "openat", "runc" },  { "rt_sigreturn", "runc" },   { "statx", "runc 1.5" },
	{ "write", "runc" },
};

const struct cs_profile_need *cs_profile_need_at(size_t i)
{
	return i < CS_ARRAY_LEN(needs) ? &needs[i] : NULL;
}

/* --- words ------------------------------------------------------------------------------ */

/* TRACE and NOTIFY leave it to somebody else, who may let the call go on. */
static const struct {
	const char *word;
	int allows;
} actions[] = {
	{ "SCMP_ACT_ALLOW", 1 },        { "SCMP_ACT_ERRNO", 0 },       { "SCMP_ACT_KILL", 0 },
	{ "SCMP_ACT_KILL_PROCESS", 0 }, { "SCMP_ACT_KILL_THREAD", 0 }, { "SCMP_ACT_LOG", 1 },
	{ "SCMP_ACT_NOTIFY", 1 },       { "SCMP_ACT_TRACE", 1 },       { "SCMP_ACT_TRAP", 0 },
};

int cs_profile_action_allows(const char *action)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(actions); i++)
		if (strcmp(actions[i].word, action) == 0)
			return actions[i].allows;
	return -1;
}

static const char *const ops[] = {
	"SCMP_CMP_NE", "SCMP_CMP_LT", "SCMP_CMP_LE",        "SCMP_CMP_EQ",
	"SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ",
};

bool cs_profile_action_known(const char *action)
{
	return cs_profile_action_allows(action) >= 0;
}

bool cs_profile_op_known(const char *op)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(ops); i++)
		if (strcmp(ops[i], op) == 0)
			return true;
	return false;
}

/* Those of runtime-spec that no machine of ours runs, but that a profile may name. */
static const char *const other_arches[] = {
	"SCMP_ARCH_PPC",  "SCMP_ARCH_PPC64",       "SCMP_ARCH_PARISC", "SCMP_ARCH_PARISC64",
	"SCMP_ARCH_M68K", "SCMP_ARCH_LOONGARCH64", "SCMP_ARCH_SH",     "SCMP_ARCH_SHEB",
};

bool cs_profile_arch_known(const char *arch)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(arches); i++)
		if (strcmp(arches[i].name, arch) == 0)
			return true;
	for (size_t i = 0; i < CS_ARRAY_LEN(other_arches); i++)
		if (strcmp(other_arches[i], arch) == 0)
			return true;
	return false;
}
