/* caisson gc: clean up behind runs whose supervisor and guardian are both dead. */
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/cli/cmd.h"
#include "shim/task/record.h"
#include "shim/task/settings.h"

struct gc {
	bool quiet;
};

static const struct cs_opt rows[] = {
	{ "quiet", 'q', CS_OPT_SWITCH, offsetof(struct gc, quiet), .help = "say nothing but errors" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

/* 1 when something could not be removed yet: worth another call later. */
static int collect(struct cs_cmd_call *call, struct cs_err *err)
{
	const struct gc *gc = call->own;
	cs_auto(buf) text = CS_BUF_INIT(256);
	cs_auto(strv) leftovers = CS_STRV_INIT;
	struct cs_gc_counts counts;

	if (cs_gc(call->tree->values.state_dir, CS_NEVER, &counts, &leftovers, err) < 0)
		return -1;
	for (size_t i = 0; i < leftovers.n; i++)
		cs_log_error("still there: %s", leftovers.v[i]);
	call->code = counts.held > 0;
	cs_buf_addf(&text, "%u live, %u removed, %u still there\n", counts.live, counts.removed, counts.held);
	return gc->quiet ? 0 : cs_cmd_print(&text, err);
}

const struct cs_cmd cs_cmd_gc = {
	.name = "gc",
	.summary = "remove what dead runs left",
	.usage = "[FLAGS]",
	.rows = rows,
	.n_rows = &n_rows,
	.settings = CS_FOR_RECORDS,
	.own_size = sizeof(struct gc),
	.act = collect,
};
