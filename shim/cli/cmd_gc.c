/* caisson gc: clean up behind runs whose supervisor and guardian are both dead. */
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/cli/cmd.h"
#include "shim/task/record.h"

struct gc {
	char *state_dir;
	bool quiet, help;
};

static const struct cs_opt rows[] = {
	{ "state-dir", 0, CS_OPT_TEXT, offsetof(struct gc, state_dir), .arg = "DIR", .help = "where live runs are on record, if not where the configuration says" },
	{ "quiet", 'q', CS_OPT_SWITCH, offsetof(struct gc, quiet), .help = "say nothing but errors" },
	{ "help", 'h', CS_OPT_SWITCH, offsetof(struct gc, help), .help = "this text" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

/* 1 when something could not be removed yet: worth another call later. */
static int collect(const struct gc *gc, int *ret_code, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(256);
	cs_auto(strv) leftovers = CS_STRV_INIT;
	cs_autofree char *state_dir = NULL;
	struct cs_gc_counts counts;

	if (cs_cmd_state_dir(gc->state_dir, &state_dir, err) < 0 ||
	    cs_gc(state_dir, CS_NEVER, &counts, &leftovers, err) < 0)
		return -1;
	for (size_t i = 0; i < leftovers.n; i++)
		cs_log_error("still there: %s", leftovers.v[i]);
	*ret_code = counts.held > 0;
	cs_buf_addf(&text, "%u live, %u removed, %u still there\n", counts.live, counts.removed, counts.held);
	return gc->quiet ? 0 : cs_cmd_print(&text, err);
}

static int run(int argc, char *const argv[], int *ret_code, struct cs_err *err)
{
	struct gc gc = { 0 };
	const struct cs_opt_set set = { .rows = rows, .n = n_rows, .target = &gc };
	cs_auto(buf) text = CS_BUF_INIT(64 * 1024);
	int at = cs_opt_parse(&set, argc, argv, err), r = -1;

	*ret_code = 0;
	if (at >= 0 && gc.help) {
		cs_cmd_help(&cs_cmd_gc, &text);
		r = cs_cmd_print(&text, err);
	} else if (at >= 0 && at < argc) {
		r = cs_fail(err, CS_INVALID, 0, "caisson gc takes no arguments, and '%.64s' is one", argv[at]);
	} else if (at >= 0) {
		r = collect(&gc, ret_code, err);
	}
	cs_opt_release(&set);
	return r;
}

const struct cs_cmd cs_cmd_gc = {
	.name = "gc",
	.summary = "remove what dead runs left",
	.usage = "[FLAGS]",
	.rows = rows,
	.n_rows = &n_rows,
	.run = run,
};
