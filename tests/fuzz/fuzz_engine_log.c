/* Logs of engines: one printable line of UTF-8 within its cap, or nothing. */
#include <assert.h>
#include <errno.h>

#include "shim/engine/engine_log.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cs_auto(buf) out = CS_BUF_INIT(100);
	int r = cs_engine_log_message((const char *)data, size, &out);

	if (r < 0) {
		assert(r == -ENODATA && out.len == 0);
		return 0;
	}
	assert(out.len > 0 && out.len <= out.max && !out.failed);
	for (size_t i = 0; i < out.len;) {
		size_t n = cs_utf8_len(out.data + i, out.len - i);

		assert(n > 0);
		assert((unsigned char)out.data[i] >= ' ' && out.data[i] != 0x7f);
		i += n;
	}
	cs_engine_log_blame(out.data);
	return 0;
}
