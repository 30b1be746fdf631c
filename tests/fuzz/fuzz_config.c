/* A configuration file: taken or refused with a reason, never more. */
#include <assert.h>

#include "shim/task/config.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cs_config config = { 0 };
	struct cs_runtime_def def;
	struct cs_err err = CS_ERR_INIT;

	if (cs_config_parse((const char *)data, size, "fuzz", &config, &err) < 0) {
		assert(err.kind != CS_OK && err.text[0] != '\0');
		return 0;
	}
	if (cs_config_runtime(&config, "r", &def))
		assert(def.path != NULL);
	cs_config_release(&config);
	return 0;
}
