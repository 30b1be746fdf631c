/* caisson stop: the stop signal, a while, SIGKILL; returns when nothing of the run is left. */
#include "shim/base/clock.h"
#include "shim/base/parse.h"
#include "shim/cli/cmd.h"
#include "shim/task/ctl.h"
#include "shim/task/job.h"
#include "shim/task/settings.h"

/* After SIGKILL: until all is removed, and the result is written. */
#define END_NS (15 * CS_NSEC_PER_SEC)

struct stop {
	char *timeout; /* NULL: none given, which is not the same as 0 */
	int signal;
	int64_t patience_ns;
};

static int check_time(const char *value, struct cs_err *err)
{
	int64_t ns;

	if (cs_parse_duration(value, &ns) < 0)
		return cs_fail(err, CS_INVALID, 0, "'%.64s' is no time: give seconds, or 500ms, 1m30s", value);
	return 0;
}

static const struct cs_opt rows[] = {
	{ "timeout", 't', CS_OPT_TEXT, offsetof(struct stop, timeout), .arg = "TIME", .check = check_time,
	  .help = "time between the stop signal and SIGKILL, 10s by default" },
	{ "signal", 's', CS_OPT_SIGNAL, offsetof(struct stop, signal), .arg = "SIGNAL",
	  .help = "stop signal, by default that of the run (--stop-signal)" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

static struct cs_json *request(const struct stop *stop)
{
	struct cs_json *request = cs_ctl_request("stop");
	int r = cs_json_put(request, "timeoutNs", cs_json_new_i64(stop->patience_ns));

	if (stop->signal > 0)
		r |= cs_json_put(request, "signal", cs_json_new_i64(stop->signal));
	if (r < 0)
		cs_json_free_ptr(&request);
	return request;
}

static int64_t deadline_ns(const struct stop *stop)
{
	int64_t sum;

	return cs_clock_deadline_ns(__builtin_add_overflow(stop->patience_ns, END_NS, &sum) ? CS_NEVER : sum);
}

/* One that has ended meanwhile is what was wanted; so is one that ended long ago, and is kept. */
static int stop_one(const char *state_dir, const char *id, void *arg, struct cs_err *err)
{
	const struct stop *stop = arg;
	struct cs_ctl_client client = CS_CTL_CLIENT_INIT;
	int r;

	if (cs_ctl_connect(state_dir, id, CS_CMD_CONNECT_NS, &client, err) < 0)
		return err->kind == CS_NOT_FOUND ? cs_err_clear(err), 0 : -1;
	r = cs_ctl_call(&client, request(stop), cs_clock_deadline_ns(CS_CMD_ANSWER_NS), NULL, err);
	if (r < 0 && err->kind == CS_STATE)
		cs_err_clear(err), r = 0;
	if (r == 0 && cs_ctl_wait_closed(&client, deadline_ns(stop)) < 0)
		r = cs_fail(err, CS_TIMEOUT, 0, "'%s' does not end: 'caisson rm -f %s' ends it all the same", id, id);
	cs_ctl_client_release(&client);
	return r;
}

static int each(struct cs_cmd_call *call, struct cs_err *err)
{
	struct stop *stop = call->own;

	stop->patience_ns = CS_JOB_STOP_TIMEOUT_NS;
	if (stop->timeout && cs_parse_duration(stop->timeout, &stop->patience_ns) < 0)
		return check_time(stop->timeout, err);
	return cs_cmd_each_id(call, CS_EACH_PRINT, stop_one, stop, err);
}

const struct cs_cmd cs_cmd_stop = {
	.name = "stop",
	.summary = "end a run: its stop signal first, SIGKILL after a while",
	.usage = "[FLAGS] ID...",
	.rows = rows,
	.n_rows = &n_rows,
	.settings = CS_FOR_RECORDS,
	.own_size = sizeof(struct stop),
	.operands_min = 1,
	.operands_max = CS_CMD_ANY,
	.operand = "id",
	.act = each,
};
