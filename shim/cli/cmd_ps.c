/* caisson ps: the runs on record. */
#include <errno.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/cli/cmd.h"
#include "shim/task/record.h"
#include "shim/task/settings.h"

struct ps {
	int format;
};

static const struct cs_opt rows[] = {
	{ "format", 0, CS_OPT_CHOICE, offsetof(struct ps, format), .arg = "text|json", .choices = "text|json",
	  .help = "json: an array of objects" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

struct output {
	struct cs_buf text;
	struct cs_json *array;
	bool failed;
};

static const char *life_word(enum cs_record_life life)
{
	return life == CS_RECORD_LIVE ? "live" : "dead";
}

static void add_text(const struct cs_record_facts *facts, void *arg)
{
	struct output *out = arg;
	char started[CS_CLOCK_TEXT] = "-";

	if (facts->started_ns > 0)
		snprintf(cs_clock_rfc3339(facts->started_ns, started) + 19, 2, "Z");
	cs_buf_addf(&out->text, "%-20s %-6s %-8d %-10s %-22s %s\n", facts->id, life_word(facts->life),
		    (int)facts->pid, facts->engine[0] ? facts->engine : "-", started, facts->command);
}

static void add_json(const struct cs_record_facts *facts, void *arg)
{
	struct output *out = arg;
	struct cs_json *object = cs_json_new_object();
	char started[CS_CLOCK_TEXT];
	int r = 0;

	r |= cs_json_put(object, "id", cs_json_new_string(facts->id));
	r |= cs_json_put(object, "state", cs_json_new_string(life_word(facts->life)));
	r |= cs_json_put(object, "pid", cs_json_new_i64(facts->pid));
	r |= cs_json_put(object, "engine", cs_json_new_string(facts->engine));
	r |= cs_json_put(object, "startedAt", facts->started_ns
						      ? cs_json_new_string(cs_clock_rfc3339(facts->started_ns, started))
						      : cs_json_new_null());
	r |= cs_json_put(object, "command", cs_json_new_words(facts->command));
	r |= cs_json_add(out->array, object);
	out->failed |= r < 0;
}

static int list(struct cs_cmd_call *call, struct cs_err *err)
{
	const struct ps *ps = call->own;
	struct output out = { .text = CS_BUF_INIT(16 << 20), .array = cs_json_new_array() };
	bool json = ps->format == CS_LIST_JSON;
	int r;

	if (!json)
		cs_buf_addf(&out.text, "%-20s %-6s %-8s %-10s %-22s %s\n", "ID", "STATE", "PID", "ENGINE",
			    "STARTED", "COMMAND");
	r = cs_record_each(call->tree->values.state_dir, json ? add_json : add_text, &out, err);
	if (r == 0 && out.failed)
		r = cs_fail(err, CS_LIMIT, ENOMEM, "list");
	if (r == 0 && json) {
		r = cs_json_write(out.array, CS_JSON_INDENTED, &out.text, err);
		cs_buf_addc(&out.text, '\n');
	}
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
