/* Volume and tmpfs texts: no destination that is taken may leave the root or lie over the sandbox's own. */
#include <assert.h>
#include <string.h>

#include "shim/files/volume_int.h"
#include "tests/fuzz/fuzz.h"

static void check_destination(const char *path)
{
	assert(path[0] == '/' && path[1] != '\0' && path[strlen(path) - 1] != '/');
	assert(!strstr(path, "//") && !strstr(path, "/../") && !strstr(path, "/./"));
	assert(strcmp(path + strlen(path) - 2, "..") != 0 || path[strlen(path) - 3] != '/');
	assert(strcmp(path, "/proc") != 0 && strncmp(path, "/proc/", 6) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cs__volume_parts parts;
	struct cs__volume_options volume = { 0 };
	struct cs__tmpfs_options tmpfs = { .size_bytes = 1, .mode = 01777 };
	struct cs_err err = CS_ERR_INIT;
	char text[3 * PATH_MAX];

	if (size >= sizeof(text))
		return -1;
	memcpy(text, data, size);
	text[size] = '\0';

	if (cs__volume_split(text, &parts, &err) == 0) {
		assert(parts.source[0] == '/');
		check_destination(parts.destination);
		if (cs__volume_options_parse(parts.options, &volume, &err) < 0)
			assert(cs_err_is_set(&err));
	}
	cs_err_clear(&err);
	if (cs__tmpfs_split(text, &parts, &err) == 0) {
		check_destination(parts.destination);
		if (cs__tmpfs_options_parse(parts.options, &tmpfs, &err) == 0)
			assert(tmpfs.size_bytes > 0 && tmpfs.mode <= 01777);
	}
	return 0;
}
