#include "shim/task/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "oci-spec/profile.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/hash.h"
#include "shim/base/log.h"

#define PROFILE_MAX (1 << 20)
#define ENTRY_MAX (2 * PROFILE_MAX)

int cs_cache_open(const char *path)
{
	cs_autofd int fd = -1;
	struct stat st;
	int r = cs_file_mkdirs(path, 0700);

	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return -EPERM;
	return cs_take_fd(&fd);
}

/* What an entry begins with: everything that the program depends on. */
static int make_head(const struct cs_json *profile, struct cs_buf *head, struct cs_err *err)
{
	char compiler[64];
	struct utsname kernel;

	cs_profile_compiler(compiler);
	/* libseccomp asks the kernel for what it can do */
	uname(&kernel);
	cs_buf_addf(head, "caisson seccomp filter 1\n%s\n%s\n", compiler, kernel.release);
	if (cs_json_write(profile, CS_JSON_COMPACT, head, err) < 0)
		return -1;
	cs_buf_addc(head, '\n');
	return head->failed ? cs_fail(err, CS_LIMIT, ENOMEM, "seccomp filter") : 0;
}

static bool look_up(int cache_fd, const char *name, const struct cs_buf *head, struct cs_buf *ret)
{
	cs_auto(buf) entry = CS_BUF_INIT(ENTRY_MAX);

	if (cache_fd < 0 || cs_file_read(cache_fd, name, &entry) < 0 || entry.len <= head->len ||
	    memcmp(entry.data, head->data, head->len) != 0)
		return false;
	return cs_buf_add(ret, entry.data + head->len, entry.len - head->len) == 0;
}

static void keep(int cache_fd, const char *name, const struct cs_buf *head, const struct cs_buf *filter)
{
	cs_auto(buf) entry = CS_BUF_INIT(ENTRY_MAX);
	int r;

	cs_buf_add(&entry, head->data, head->len);
	cs_buf_add(&entry, filter->data, filter->len);
	r = entry.failed ? -ENOSPC : cs_file_write_atomic(cache_fd, name, entry.data, entry.len, 0600, true);
	if (r < 0)
		cs_log_debug("seccomp filter is not kept: %s", strerror(-r));
}

int cs_cache_filter(int cache_fd, const struct cs_json *profile, struct cs_buf *ret_base64,
		    struct cs_err *err)
{
	cs_auto(buf) head = CS_BUF_INIT(PROFILE_MAX);
	cs_auto(buf) program = CS_BUF_INIT(PROFILE_MAX / 2);
	char name[64];

	if (make_head(profile, &head, err) < 0)
		return -1;
	/* names the entry only; the text inside decides */
	snprintf(name, sizeof(name), "seccomp-%016llx", (unsigned long long)cs_hash(CS_HASH_INIT, head.data, head.len));
	if (look_up(cache_fd, name, &head, ret_base64))
		return 0;
	if (cs_profile_compile(profile, &program, err) < 0)
		return -1;
	if (cs_buf_add_base64(ret_base64, program.data, program.len) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "seccomp filter");
	if (cache_fd >= 0)
		keep(cache_fd, name, &head, ret_base64);
	return 0;
}
