/* Sizes, durations, signals, ids: what is taken must come back the same. */
#include <assert.h>
#include <string.h>

#include "shim/base/parse.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[256], back[128];
	uint64_t bytes, again;
	int64_t ns, ns_again;
	int signal;

	if (size >= sizeof(text))
		return -1;
	memcpy(text, data, size);
	text[size] = '\0';

	if (cs_parse_size(text, &bytes) == 0) {
		assert(cs_parse_size(cs_size_text(bytes, back), &again) == 0);
		assert(again == bytes);
	}
	if (cs_parse_duration(text, &ns) == 0) {
		assert(ns >= 0);
		assert(cs_parse_duration(cs_duration_text(ns, back), &ns_again) == 0);
		assert(ns_again == ns);
	}
	if (cs_parse_cpus(text, &bytes) == 0)
		assert(bytes >= 10);
	if (cs_parse_signal(text, &signal) == 0)
		assert(signal > 0 && signal <= 64);
	if (cs_id_valid(text))
		assert(strchr(text, '/') == NULL);
	return 0;
}
