#include <sys/types.h>

#include "shim/files/hostroot_int.h"

/* what overlay, NFS and user namespaces call an unknown owner (user_namespaces(7)) */
#define ID_NOBODY 65534

const struct cs__hostroot_dir cs__hostroot_dirs[] = {
	{ "usr", 0755 }, { "etc", 0755 }, { "proc", 0755 }, { "sys", 0755 },
	{ "dev", 0755 }, { "tmp", 01777 }, { "run", 0755 }, { "root", 0755 },
};
const size_t cs__hostroot_n_dirs = CS_ARRAY_LEN(cs__hostroot_dirs);

const char *const cs__hostroot_top[] = {
	"bin", "sbin", "lib", "lib32", "lib64", "libx32", NULL,
};

const char *const cs__hostroot_etc[] = {
	"etc/ld.so.cache",
	"etc/alternatives",
	"etc/ssl/certs",
	"etc/ssl/openssl.cnf",
	"etc/ca-certificates.conf",
	"etc/localtime",
	"etc/java-*-openjdk",
	"etc/python3*",
	"etc/perl",
	"etc/mime.types",
	"etc/services",
	"etc/protocols",
	"etc/locale.alias",
	NULL,
};

/* passwd(5) */
static int write_passwd(const struct cs_hostroot_plan *plan, struct cs_buf *text)
{
	cs_buf_adds(text, "root:x:0:0:root:/root:/bin/sh\n");
	if (plan->uid != 0 && plan->uid != ID_NOBODY)
		cs_buf_addf(text, "user:x:%u:%u:user:/tmp:/bin/sh\n", plan->uid, plan->gid);
	return cs_buf_addf(text, "nobody:x:%u:%u:nobody:/tmp:/bin/sh\n", ID_NOBODY,
			   plan->uid == ID_NOBODY ? plan->gid : ID_NOBODY);
}

/* group(5); "nogroup" is what Debian calls it */
static int write_group(const struct cs_hostroot_plan *plan, struct cs_buf *text)
{
	cs_buf_adds(text, "root:x:0:\n");
	if (plan->gid != 0 && plan->gid != ID_NOBODY)
		cs_buf_addf(text, "user:x:%u:\n", plan->gid);
	return cs_buf_addf(text, "nogroup:x:%u:\n", ID_NOBODY);
}

/* hosts(5); the network that is always there is lo */
static int write_hosts(const struct cs_hostroot_plan *plan, struct cs_buf *text)
{
	return cs_buf_addf(text,
			   "127.0.0.1\tlocalhost\n"
			   "::1\tlocalhost ip6-localhost ip6-loopback\n"
			   "127.0.1.1\t%s\n",
			   plan->hostname);
}

static int write_hostname(const struct cs_hostroot_plan *plan, struct cs_buf *text)
{
	return cs_buf_addf(text, "%s\n", plan->hostname);
}

/* nsswitch.conf(5): no module that would ask a daemon or a name server */
static int write_nsswitch(const struct cs_hostroot_plan *plan CS_UNUSED, struct cs_buf *text)
{
	return cs_buf_adds(text, "passwd: files\n"
				 "group: files\n"
				 "shadow: files\n"
				 "hosts: files\n"
				 "networks: files\n"
				 "protocols: files\n"
				 "services: files\n"
				 "ethers: files\n"
				 "rpc: files\n");
}

static int write_empty(const struct cs_hostroot_plan *plan CS_UNUSED, struct cs_buf *text)
{
	return cs_buf_adds(text, "");
}

const struct cs__hostroot_file cs__hostroot_files[] = {
	{ "etc/passwd", write_passwd },
	{ "etc/group", write_group },
	{ "etc/hosts", write_hosts },
	{ "etc/hostname", write_hostname },
	{ "etc/nsswitch.conf", write_nsswitch },
	{ "etc/resolv.conf", write_empty },
};
const size_t cs__hostroot_n_files = CS_ARRAY_LEN(cs__hostroot_files);
