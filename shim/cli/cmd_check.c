/* caisson check: can this host run jobs, and if not, what is to be done. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "oci-spec/json.h"
#include "shim/base/fd.h"
#include "shim/cli/check.h"
#include "shim/cli/cmd.h"
#include "shim/cli/tone.h"
#include "shim/task/job.h"

#define ENGINES_MAX 32

struct own {
	bool json;
	int what; /* enum cs_try */
};

static const struct cs_opt rows[] = {
	{ "json", 0, CS_OPT_SWITCH, offsetof(struct own, json), .help = "one JSON object in place of lines" },
	{ "try", 0, CS_OPT_CHOICE, offsetof(struct own, what), .arg = "WHAT", .choices = CS_TRY_CHOICES,
	  .help = "what a copy of ourselves is to try, answer to descriptor 3", .hidden = true },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

struct report {
	bool json;
	struct cs_tone tone;
	bool utf8;
	struct cs_json *findings; /* array */
	bool bad;                 /* something that runs take by default, or all of them, is */
	unsigned n_bad, n_weak;
	int error;                /* -errno of the first thing that went wrong with the report itself */
};

/* --- reporting ------------------------------------------------------------------------ */

static void add_json(struct report *report, const char *engine, bool counts, const char *name,
		     const struct cs_finding *finding, const char *remedy)
{
	struct cs_json *object = cs_finding_json(finding);
	int r = 0;

	if (!object) {
		report->error = -ENOMEM;
		return;
	}
	r |= cs_json_put(object, "name", cs_json_new_string(name));
	r |= cs_json_put(object, "engine", engine ? cs_json_new_words(engine) : cs_json_new_null());
	r |= cs_json_put(object, "inUse", cs_json_new_bool(counts));
	r |= cs_json_put(object, "remedy", remedy ? cs_json_new_words(remedy) : cs_json_new_null());
	r |= cs_json_add(report->findings, object);
	if (r < 0)
		report->error = -ENOMEM;
}

/* A line at once, since a trial takes its time. */
static void add_text(struct report *report, bool below, const char *name, const struct cs_finding *finding, const char *remedy)
{
	static const struct {
		const char *utf8, *ascii;
		enum cs_colour colour;
	} marks[] = {
		[CS_GOOD] = { "\xe2\x9c\x93", "ok", CS_COLOUR_GREEN },
		[CS_WEAK] = { "!", "! ", CS_COLOUR_YELLOW },
		[CS_BAD] = { "\xe2\x9c\x97", "X ", CS_COLOUR_RED },
	};
	cs_auto(buf) line = CS_BUF_INIT(4096);
	const char *indent = below ? "  " : "";
	int r;

	cs_buf_adds(&line, indent);
	cs_tone_add(&report->tone, marks[finding->verdict].colour,
		    report->utf8 ? marks[finding->verdict].utf8 : marks[finding->verdict].ascii, &line);
	cs_buf_addf(&line, " %-*s %s\n", below ? 15 : 17, name, finding->seen);
	if (remedy)
		cs_buf_addf(&line, "%s  %s%-*s -> %s\n", indent, report->utf8 ? "" : " ", below ? 15 : 17, "", remedy);
	cs_tone_progress_done();
	r = line.failed ? -ENOMEM : cs_fd_write_all(STDOUT_FILENO, line.data, line.len);
	if (r < 0)
		report->error = r;
}

static void say(struct report *report, const struct cs_check_engine *engine, const char *name,
		const struct cs_finding *finding, const char *remedy)
{
	bool counts = !engine || engine->in_use;

	if (finding->skip)
		return;
	if (finding->remedy[0])
		remedy = finding->remedy;
	if (finding->verdict == CS_GOOD)
		remedy = NULL;
	report->bad |= counts && finding->verdict == CS_BAD;
	report->n_bad += finding->verdict == CS_BAD;
	report->n_weak += finding->verdict == CS_WEAK;
	if (report->json)
		add_json(report, engine ? engine->name : NULL, counts, name, finding, remedy);
	else
		add_text(report, engine != NULL, name, finding, remedy);
}

/* --- engines ------------------------------------------------------------------------------ */

/* Under the name that --runtime takes; NULL: what runs take without one. */
static int find(const struct cs_check *check, const char *name, struct cs_engine *ret, struct cs_err *err)
{
	struct cs_settings s = *check->s; /* borrows all of it */

	s.runtime = (char *)name;
	return cs_job_find_engine(&s, check->config, ret, err);
}

static void head(struct report *report, const struct cs_check_engine *engine)
{
	cs_auto(buf) line = CS_BUF_INIT(8192);
	int r;

	if (report->json) {
		struct cs_finding found = { .verdict = CS_GOOD };

		cs_find(&found, CS_GOOD, "%s %s", engine->engine.path,
			engine->engine.version[0] ? engine->engine.version : "(no version)");
		add_json(report, engine->name, engine->in_use, "engine", &found, NULL);
		return;
	}
	cs_tone_add(&report->tone, CS_COLOUR_BOLD, strchr(engine->name, '/') ? engine->engine.kind->name : engine->name, &line);
	cs_buf_addf(&line, " %s, %s%s\n", engine->engine.version[0] ? engine->engine.version : "(says no version)",
		    engine->engine.path, engine->in_use ? ", which runs use" : "");
	r = line.failed ? -ENOMEM : cs_fd_write_all(STDOUT_FILENO, line.data, line.len);
	if (r < 0)
		report->error = r;
}

static void look_at_engine(const struct cs_check *check, const struct cs_check_engine *engine, struct report *report)
{
	head(report, engine);
	for (size_t i = 0; i < cs_check_engine_n && geteuid() == 0; i++) {
		struct cs_finding found = { .verdict = CS_GOOD };

		if (!report->json)
			cs_tone_progress("  %s: %s ...", engine->name, cs_check_engine_rows[i].name);
		cs_check_engine_rows[i].look(check, engine, &found);
		say(report, engine, cs_check_engine_rows[i].name, &found, cs_check_engine_rows[i].remedy);
	}
	if (!report->json)
		cs_tone_progress_done();
}

/* Names of all engines that can be called by one: the one that runs use first, then the table's, then the configuration's. */
static int list_names(const struct cs_check *check, const char *first, struct cs_strv *ret)
{
	const struct cs_json *runtime;
	const char *name;

	if (cs_strv_add(ret, first) < 0)
		return -ENOMEM;
	for (size_t i = 0; cs_engine_kind_at(i); i++)
		if (!cs_strv_has(ret, cs_engine_kind_at(i)->name) && cs_strv_add(ret, cs_engine_kind_at(i)->name) < 0)
			return -ENOMEM;
	cs_json_each_member(name, runtime, cs_json_member(check->config->file, "runtimes"))
		if (!cs_strv_has(ret, name) && cs_strv_add(ret, name) < 0)
			return -ENOMEM;
	return 0;
}

static void look_at_engines(const struct cs_check *check, bool only, struct report *report)
{
	struct cs_check_engine used = { .name = check->s->runtime, .in_use = true };
	struct cs_err err = CS_ERR_INIT;
	cs_auto(strv) names = CS_STRV_INIT;

	if (find(check, used.name, &used.engine, &err) < 0) {
		struct cs_finding found = { .verdict = CS_BAD };

		cs_find(&found, CS_BAD, "%s", err.text);
		say(report, NULL, "engine", &found, "install one (apt-get install crun), or name it with --runtime");
		return;
	}
	if (!used.name)
		used.name = used.engine.kind->name;
	look_at_engine(check, &used, report);
	if (list_names(check, used.name, &names) < 0)
		report->error = -ENOMEM;
	for (size_t i = 1; !only && i < names.n; i++) {
		struct cs_check_engine other = { .name = names.v[i] };

		cs_err_clear(&err);
		if (find(check, other.name, &other.engine, &err) == 0)
			look_at_engine(check, &other, report);
		cs_engine_release(&other.engine);
	}
	cs_engine_release(&used.engine);
}

/* --- the walk ------------------------------------------------------------------------------ */

static int print_json(struct report *report, struct cs_err *err)
{
	cs_autojson struct cs_json *top = cs_json_new_object();
	cs_auto(buf) text = CS_BUF_INIT(1 << 20);
	int r = 0;

	r |= cs_json_put(top, "version", cs_json_new_u64(1));
	r |= cs_json_put(top, "caisson", cs_json_new_string(PACKAGE_VERSION));
	r |= cs_json_put(top, "ok", cs_json_new_bool(!report->bad));
	r |= cs_json_put(top, "findings", cs_take_ptr(&report->findings));
	if (r < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "report");
	if (cs_json_write(top, CS_JSON_INDENTED, &text, err) < 0)
		return -1;
	cs_buf_addc(&text, '\n');
	return cs_cmd_print(&text, err);
}

/* The last line: what it comes to. */
static void conclude(struct report *report)
{
	cs_auto(buf) line = CS_BUF_INIT(512);
	int r;

	if (report->bad)
		cs_tone_add(&report->tone, CS_COLOUR_RED, "Not everything that runs need is good", &line);
	else
		cs_tone_add(&report->tone, CS_COLOUR_GREEN, "Runs work here", &line);
	cs_buf_addf(&line, ": %u bad, %u weak.\n", report->n_bad, report->n_weak);
	r = line.failed ? -ENOMEM : cs_fd_write_all(STDOUT_FILENO, line.data, line.len);
	if (r < 0)
		report->error = r;
}

static int look_at_all(const struct cs_check *check, bool only, bool json, int *ret_code, struct cs_err *err)
{
	struct report report = { .json = json, .tone = cs_tone_of(STDOUT_FILENO), .utf8 = cs_tone_is_utf8(), .findings = cs_json_new_array() };
	int r = 0;

	for (size_t i = 0; i < cs_check_host_n; i++) {
		struct cs_finding found = { .verdict = CS_GOOD };

		cs_check_host_rows[i].look(check, &found);
		say(&report, NULL, cs_check_host_rows[i].name, &found, cs_check_host_rows[i].remedy);
	}
	look_at_engines(check, only, &report);
	if (!json)
		conclude(&report);
	if (report.error)
		r = cs_fail(err, CS_IO, -report.error, "report");
	else if (json)
		r = print_json(&report, err);
	*ret_code = report.bad;
	cs_json_free(report.findings);
	return r;
}

/* Our part as a copy of ourselves. */
static int answer(const struct cs_check *check, enum cs_try what, struct cs_err *err)
{
	struct cs_finding found = { .verdict = CS_GOOD };
	cs_autojson struct cs_json *json = NULL;
	cs_auto(buf) text = CS_BUF_INIT(16 * 1024);
	int r;

	cs_try_here(check, what, &found);
	json = cs_finding_json(&found);
	if (!json)
		return cs_fail(err, CS_LIMIT, ENOMEM, "answer");
	if (cs_json_write(json, CS_JSON_COMPACT, &text, err) < 0)
		return -1;
	r = cs_fd_write_all(3, text.data, text.len);
	return r < 0 ? cs_fail(err, CS_IO, -r, "answer") : 0;
}

static int check_host(struct cs_cmd_call *call, struct cs_err *err)
{
	const struct own *own = call->own;
	struct cs_check check = { .s = &call->tree->values, .config = call->config, .host_err = CS_ERR_INIT };

	if (cs_cgroup_host_read(&check.host, &check.host_err) < 0)
		check.host.layout = CS_CGROUP_NONE;
	if (own->what != CS_TRY_NO)
		return answer(&check, (enum cs_try)own->what, err);
	return look_at_all(&check, cs_settings_given(call->tree, "runtime"), own->json, &call->code, err);
}

const struct cs_cmd cs_cmd_check = {
	.name = "check",
	.summary = "look at this host and its engines, with remedies",
	.usage = "[FLAGS]",
	.rows = rows,
	.n_rows = &n_rows,
	.own_size = sizeof(struct own),
	.settings = CS_FOR_CHECK,
	.act = check_host,
};
