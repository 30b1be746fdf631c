/* What an engine prints for `features`. */
#include <assert.h>
#include <string.h>

#include "oci-spec/features.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cs_features features = { 0 };
	struct cs_err err = CS_ERR_INIT;
	int r = cs_features_parse((const char *)data, size, &features, &err);

	assert(features.known == (r == 0) && cs_err_is_set(&err) == (r < 0));
	assert(memchr(features.oci_version_max, '\0', sizeof(features.oci_version_max)));
	return 0;
}
