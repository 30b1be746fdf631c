/* Packets of the control socket, both ways: a request is a known one with known members, a reply says yes or why not. */
#include <assert.h>
#include <string.h>

#include "shim/task/ctl.h"
#include "tests/fuzz/fuzz.h"

static const struct cs_ctl_op ops[] = {
	{ "hello", NULL, NULL, false },
	{ "stop", "signal|timeoutNs", NULL, false },
};

static void check_request(const char *text, size_t len)
{
	cs_autojson struct cs_json *request = NULL;
	const struct cs_ctl_op *op = NULL;
	const struct cs_json *child;
	struct cs_err err = CS_ERR_INIT;
	const char *key;

	if (cs_ctl_parse(text, len, ops, sizeof(ops) / sizeof(ops[0]), &request, &op, &err) < 0) {
		assert(cs_err_is_set(&err) && !request && !op);
		return;
	}
	assert(len <= CS_CTL_BYTES_MAX && op >= ops && op < ops + 2);
	assert(strcmp(cs_json_string(cs_json_member(request, "op")), op->word) == 0);
	cs_json_each_member(key, child, request)
		assert(strcmp(key, "op") == 0 || (op == &ops[1] && (strcmp(key, "signal") == 0 || strcmp(key, "timeoutNs") == 0)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cs_autojson struct cs_json *reply = NULL;
	struct cs_err err = CS_ERR_INIT;
	bool ok = false;

	check_request((const char *)data, size);
	if (cs_ctl_parse_reply((const char *)data, size, &reply, &err) == 0)
		assert(cs_json_get_bool(cs_json_member(reply, "ok"), &ok) == 0 && ok);
	else
		assert(cs_err_is_set(&err) && !reply);
	return 0;
}
