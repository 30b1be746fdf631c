/* Packets of a sandbox: refused, or within what their types promise. */
#include <assert.h>
#include <string.h>
#include <sys/wait.h>

#include "shim/base/parse.h"
#include "shim/engine/trace.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cs_trace_packet packet;

	memset(&packet, 0xaa, sizeof(packet));
	if (cs_trace_parse(data, size, &packet) < 0) {
		assert(packet.dropped == 0xaaaaaaaa);
		return 0;
	}
	assert(size >= 8);
	assert(strlen(packet.container) < sizeof(packet.container));
	assert(packet.container[0] == '\0' || cs_id_valid(packet.container));
	assert(WIFEXITED(packet.status) || WIFSIGNALED(packet.status));
	assert(packet.thread <= INT32_MAX && packet.group <= INT32_MAX);
	assert(packet.new_thread <= INT32_MAX && packet.new_group <= INT32_MAX);
	return 0;
}
