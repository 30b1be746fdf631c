/* The head of a program file, as hostile code may have left it in a workspace. */
#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/files/resolve_int.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cs_autofd int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char interpreter[PATH_MAX];
	enum cs__format format;

	assert(fd >= 0 && cs_fd_write_all(fd, data, size) == 0);
	memset(interpreter, 'x', sizeof(interpreter));
	assert(cs__format_read(fd, &format, interpreter) == 0);
	if (format == CS__FORMAT_SCRIPT || format == CS__FORMAT_ELF)
		assert(memchr(interpreter, '\0', sizeof(interpreter)) != NULL);
	return 0;
}
