/*
 * A stranger's config.json: the checker and the reading of limits must take
 * any tree, and every line of the checker must be fit for a terminal.
 */
#include <assert.h>

#include "oci-spec/resources.h"
#include "oci-spec/spec_check.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cs_autojson struct cs_json *config = NULL;
	cs_auto(strv) failures = CS_STRV_INIT;
	struct cs_err err = CS_ERR_INIT;
	uint64_t value;
	int n;

	if (cs_json_parse((const char *)data, size, "config.json", &config, &err) < 0)
		return 0;
	n = cs_spec_check(config, &failures, &err);
	assert(n >= 0 && n <= CS_SPEC_FAILURES_MAX + 1 && (size_t)n == failures.n);
	for (size_t i = 0; i < failures.n; i++)
		for (const char *p = failures.v[i]; *p; p++)
			assert((unsigned char)*p >= 0x20 && *p != 0x7f);
	for (enum cs_resource i = 0; i < CS_RESOURCES; i++) {
		cs_err_clear(&err);
		if (i != CS_RES_CPUSET_CPUS && cs_resource_asked(config, i, &value, &err) == 0)
			assert(value > 0 || i == CS_RES_MEMORY_SWAP ||
			       cs_json_get(config, "linux.resources.unified"));
	}
	cs_resource_asked_cpus(config);
	return 0;
}
