/* caisson ps: the runs on record, and with -a the sessions that have ended and are kept. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/cli/cmd.h"
#include "shim/sys/cgroup.h"
#include "shim/task/record.h"
#include "shim/task/session.h"
#include "shim/task/settings.h"

struct ps {
	bool all, quiet;
	int format;
};

static const struct cs_opt rows[] = {
	{ "all", 'a', CS_OPT_SWITCH, offsetof(struct ps, all), .help = "also the sessions that have ended and are kept" },
	{ "quiet", 'q', CS_OPT_SWITCH, offsetof(struct ps, quiet), .help = "ids only" },
	{ "format", 0, CS_OPT_CHOICE, offsetof(struct ps, format), .arg = "text|json", .choices = "text|json",
	  .help = "json: an array of objects" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

/* A line of the list; what is not there is NULL, 0, or -1. */
struct line {
	const char *id;
	const char *state; /* running, paused; dead: nobody answers for it, gc removes it; ended */
	pid_t pid;
	const char *engine;
	bool detached;
	const char *reason;
	int64_t code;
	const char *started, *finished;
	const char *command;
};

struct output {
	const struct ps *ps;
	const char *state_dir;
	struct cs_cgroup_host host;
	struct cs_buf text;
	struct cs_json *array;
	bool failed;
};

/* --- lines ------------------------------------------------------------------------- */

static void add_text(struct output *out, const struct line *line)
{
	char code[16] = "-", pid[16] = "-";

	if (line->code >= 0)
		snprintf(code, sizeof(code), "%d", (int)line->code);
	if (line->pid > 0)
		snprintf(pid, sizeof(pid), "%d", (int)line->pid);
	/* to the second, and with the Z of it */
	cs_buf_addf(&out->text, "%-20s %-8s %-8s %-10s %-5s %-21.19s %s\n", line->id, line->state, pid,
		    line->engine ? line->engine : "-", code, line->started ? line->started : "-", line->command);
}

static struct cs_json *text_or_null(const char *text)
{
	return text ? cs_json_new_string(text) : cs_json_new_null();
}

static void add_json(struct output *out, const struct line *line)
{
	struct cs_json *object = cs_json_new_object();
	int r = 0;

	r |= cs_json_put(object, "id", cs_json_new_string(line->id));
	r |= cs_json_put(object, "state", cs_json_new_string(line->state));
	r |= cs_json_put(object, "pid", line->pid > 0 ? cs_json_new_i64(line->pid) : cs_json_new_null());
	r |= cs_json_put(object, "engine", text_or_null(line->engine));
	r |= cs_json_put(object, "detached", cs_json_new_bool(line->detached));
	r |= cs_json_put(object, "reason", text_or_null(line->reason));
	r |= cs_json_put(object, "outwardCode", line->code >= 0 ? cs_json_new_i64(line->code) : cs_json_new_null());
	r |= cs_json_put(object, "startedAt", text_or_null(line->started));
	r |= cs_json_put(object, "finishedAt", text_or_null(line->finished));
	r |= cs_json_put(object, "command", cs_json_new_words(line->command));
	r |= cs_json_add(out->array, object);
	out->failed |= r < 0;
}

static void add(struct output *out, const struct line *line)
{
	if (out->ps->quiet)
		cs_buf_addf(&out->text, "%s\n", line->id);
	else if (out->ps->format == CS_LIST_JSON)
		add_json(out, line);
	else
		add_text(out, line);
}

/* --- live runs ------------------------------------------------------------------------ */

/* From the kernel, not from the supervisor: it may be stopped. */
static bool is_paused(const struct output *out, const char *path)
{
	struct cs_err none = CS_ERR_INIT;
	struct cs_cgroup *cgroup;
	bool frozen;

	if (!path[0] || cs_cgroup_open(&out->host, path, &cgroup, &none) < 0)
		return false;
	frozen = cs_cgroup_is_frozen(cgroup) == 1;
	cs_cgroup_free(cgroup);
	return frozen;
}

static bool is_session(const struct output *out, const char *id)
{
	cs_autofree char *path = NULL;

	if (asprintf(&path, "%s/sessions/%s", out->state_dir, id) < 0)
		path = NULL;
	return path && access(path, F_OK) == 0;
}

static void add_run(const struct cs_record_facts *facts, void *arg)
{
	struct output *out = arg;
	char started[CS_CLOCK_TEXT];
	bool live = facts->life == CS_RECORD_LIVE;
	struct line line = {
		.id = facts->id,
		.state = !live ? "dead" : is_paused(out, facts->cgroup) ? "paused" : "running",
		.pid = facts->pid,
		.engine = facts->engine[0] ? facts->engine : NULL,
		.detached = is_session(out, facts->id),
		.code = -1,
		.started = facts->started_ns > 0 ? cs_clock_rfc3339(facts->started_ns, started) : NULL,
		.command = facts->command,
	};

	add(out, &line);
}

/* --- finished sessions ------------------------------------------------------------------- */

static void add_words(const struct cs_json *array, struct cs_buf *out)
{
	const struct cs_json *word;

	cs_json_each(word, array)
		cs_buf_addf(out, "%s%s", out->len ? " " : "", cs_json_string(word) ? cs_json_string(word) : "");
	/* for terminals */
	for (size_t i = 0; i < out->len; i++)
		if ((unsigned char)out->data[i] < 0x20 || out->data[i] == 0x7f)
			out->data[i] = ' ';
}

static void add_session(const struct cs_session_facts *facts, void *arg)
{
	struct output *out = arg;
	cs_auto(buf) command = CS_BUF_INIT(256 * 1024);
	struct line line = { .id = facts->id, .state = "ended", .detached = true, .code = -1 };

	if (!facts->result)
		return; /* a live one is on record */
	add_words(cs_json_member(facts->session, "command"), &command);
	line.command = command.data ? command.data : "";
	line.engine = cs_json_string(cs_json_get(facts->result, "engine.name"));
	line.reason = cs_json_string(cs_json_member(facts->result, "reason"));
	line.started = cs_json_string(cs_json_member(facts->result, "startedAt"));
	line.finished = cs_json_string(cs_json_member(facts->result, "finishedAt"));
	if (cs_json_get_i64(cs_json_member(facts->result, "outwardCode"), &line.code) < 0)
		line.code = -1;
	add(out, &line);
}

/* --- the walk -------------------------------------------------------------------------------- */

static int fill(struct output *out, struct cs_err *err)
{
	bool json = out->ps->format == CS_LIST_JSON && !out->ps->quiet;

	if (!json && !out->ps->quiet)
		cs_buf_addf(&out->text, "%-20s %-8s %-8s %-10s %-5s %-21s %s\n", "ID", "STATE", "PID", "ENGINE", "CODE",
			    "STARTED (UTC)", "COMMAND");
	if (cs_record_each(out->state_dir, add_run, out, err) < 0)
		return -1;
	if (out->ps->all && cs_session_each(out->state_dir, add_session, out, err) < 0)
		return -1;
	if (out->failed)
		return cs_fail(err, CS_LIMIT, ENOMEM, "list");
	if (json && cs_json_write(out->array, CS_JSON_INDENTED, &out->text, err) < 0)
		return -1;
	return json && cs_buf_addc(&out->text, '\n') < 0 ? cs_fail(err, CS_LIMIT, ENOMEM, "list") : 0;
}

static int list(struct cs_cmd_call *call, struct cs_err *err)
{
	const struct ps *ps = call->own;
	struct output out = { .ps = ps, .text = CS_BUF_INIT(16 << 20), .array = cs_json_new_array() };
	int r = cs_cgroup_host_read(&out.host, err);

	out.state_dir = call->tree->values.state_dir;
	if (r == 0)
		r = fill(&out, err);
	if (r == 0)
		r = cs_cmd_print(&out.text, err);
	cs_buf_release(&out.text);
	cs_json_free(out.array);
	return r;
}

const struct cs_cmd cs_cmd_ps = {
	.name = "ps",
	.summary = "list the runs on record",
	.usage = "[FLAGS]",
	.rows = rows,
	.n_rows = &n_rows,
	.settings = CS_FOR_RECORDS,
	.own_size = sizeof(struct ps),
	.act = list,
};
