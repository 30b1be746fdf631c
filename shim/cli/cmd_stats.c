/* caisson stats: what live runs use, read from their control groups: no supervisor is asked. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/base/parse.h"
#include "shim/cli/cmd.h"
#include "shim/sys/cgroup.h"
#include "shim/task/record.h"
#include "shim/task/settings.h"

struct stats {
	int format;
	bool no_stream;
};

static const struct cs_opt rows[] = {
	{ "format", 0, CS_OPT_CHOICE, offsetof(struct stats, format), .arg = "text|json", .choices = "text|json",
	  .help = "json: an array of objects, sizes in bytes, times in nanoseconds" },
	{ "no-stream", 0, CS_OPT_SWITCH, offsetof(struct stats, no_stream),
	  .help = "one look, as always: for who types it after docker stats" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

struct output {
	struct cs_cgroup_host host;
	const char *only; /* NULL: every live run */
	unsigned found;
	bool json, failed;
	struct cs_buf text;
	struct cs_json *array;
};

struct numbers {
	struct cs_cgroup_usage usage;
	uint64_t memory_limit, pids_limit;
};

static int read_numbers(const struct output *out, const struct cs_record_facts *facts, struct numbers *ret)
{
	struct cs_err none = CS_ERR_INIT;
	struct cs_cgroup *cgroup;

	if (!facts->cgroup[0] || cs_cgroup_open(&out->host, facts->cgroup, &cgroup, &none) < 0)
		return -1;
	cs_cgroup_usage(cgroup, &ret->usage);
	if (cs_cgroup_limit(cgroup, "memory", "memory.limit_in_bytes", "memory.max", &ret->memory_limit) < 0)
		ret->memory_limit = UINT64_MAX;
	if (cs_cgroup_limit(cgroup, "pids", "pids.max", "pids.max", &ret->pids_limit) < 0)
		ret->pids_limit = UINT64_MAX;
	cs_cgroup_free(cgroup);
	return 0;
}

/* --- for people -------------------------------------------------------------------- */

/* "12.3M", "-" for a number that the kernel does not have. */
static const char *size(uint64_t bytes, char text[static 32])
{
	static const char units[] = "BKMGTPE";
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes == UINT64_MAX)
		return "-";
	for (; value >= 1024 && unit + 1 < sizeof(units) - 1; unit++)
		value /= 1024;
	snprintf(text, 32, unit ? "%.1f%c" : "%.0f%c", value, units[unit]);
	return text;
}

static const char *count(uint64_t n, char text[static 32])
{
	if (n == UINT64_MAX)
		return "-";
	snprintf(text, 32, "%" PRIu64, n);
	return text;
}

static const char *seconds(uint64_t ns, char text[static 32])
{
	if (ns == UINT64_MAX)
		return "-";
	snprintf(text, 32, "%.2fs", (double)ns / (double)CS_NSEC_PER_SEC);
	return text;
}

static void add_text(struct output *out, const char *id, const struct numbers *n)
{
	char t[8][32];
	const struct cs_cgroup_usage *u = &n->usage;

	cs_buf_addf(&out->text, "%-20s %9s %9s %9s %9s %6s %6s %9s %9s\n", id, seconds(u->cpu_total_ns, t[0]),
		    size(u->memory_bytes, t[1]), size(u->memory_peak_bytes, t[2]), size(n->memory_limit, t[3]),
		    count(u->pids, t[4]), count(n->pids_limit, t[5]), size(u->io_read_bytes, t[6]), size(u->io_write_bytes, t[7]));
}

/* --- for programs -------------------------------------------------------------------- */

static void add_json(struct output *out, const char *id, const struct numbers *n)
{
	const struct cs_cgroup_usage *u = &n->usage;
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "cpuNs", u->cpu_total_ns },
		{ "cpuUserNs", u->cpu_user_ns },
		{ "cpuSystemNs", u->cpu_system_ns },
		{ "memoryBytes", u->memory_bytes },
		{ "memoryPeakBytes", u->memory_peak_bytes },
		{ "memoryLimitBytes", n->memory_limit },
		{ "shmemBytes", u->shmem_bytes },
		{ "pids", u->pids },
		{ "pidsPeak", u->pids_peak },
		{ "pidsLimit", n->pids_limit },
		{ "pidsLimitHits", u->pids_limit_hits },
		{ "oomKills", u->oom_kills },
		{ "ioReadBytes", u->io_read_bytes },
		{ "ioWriteBytes", u->io_write_bytes },
	};
	struct cs_json *object = cs_json_new_object();
	int r = cs_json_put(object, "id", cs_json_new_string(id));

	for (size_t i = 0; i < CS_ARRAY_LEN(numbers); i++)
		r |= cs_json_put(object, numbers[i].key,
				 numbers[i].value == UINT64_MAX ? cs_json_new_null() : cs_json_new_u64(numbers[i].value));
	r |= cs_json_add(out->array, object);
	out->failed |= r < 0;
}

/* --- the walk --------------------------------------------------------------------------- */

static void add(const struct cs_record_facts *facts, void *arg)
{
	struct output *out = arg;
	struct numbers numbers;

	if (facts->life != CS_RECORD_LIVE || (out->only && strcmp(out->only, facts->id) != 0) ||
	    read_numbers(out, facts, &numbers) < 0)
		return;
	out->found++;
	if (out->json)
		add_json(out, facts->id, &numbers);
	else
		add_text(out, facts->id, &numbers);
}

static int add_one(const char *state_dir, const char *id, void *arg, struct cs_err *err)
{
	struct output *out = arg;

	out->only = id;
	out->found = 0;
	if (cs_record_each(state_dir, add, out, err) < 0)
		return -1;
	return out->found ? 0 : cs_fail(err, CS_STATE, 0, "'%s' is not live: what it used stands in its result", id);
}

static int add_all(struct cs_cmd_call *call, struct output *out, struct cs_err *err)
{
	if (call->argc > 0)
		return cs_cmd_each_id(call, 0, add_one, out, err);
	return cs_record_each(call->tree->values.state_dir, add, out, err);
}

static int print_list(const struct output *out, struct cs_err *err)
{
	cs_auto(buf) head = CS_BUF_INIT(256);

	cs_buf_addf(&head, "%-20s %9s %9s %9s %9s %6s %6s %9s %9s\n", "ID", "CPU TIME", "MEMORY", "PEAK", "LIMIT", "PIDS",
		    "LIMIT", "READ", "WRITTEN");
	if (!out->json && cs_cmd_print(&head, err) < 0)
		return -1;
	return out->text.data ? cs_cmd_print(&out->text, err) : 0;
}

static int print(struct cs_cmd_call *call, struct cs_err *err)
{
	const struct stats *stats = call->own;
	struct output out = { .json = stats->format == CS_LIST_JSON, .text = CS_BUF_INIT(16 << 20), .array = cs_json_new_array() };
	int r = cs_cgroup_host_read(&out.host, err);

	if (r == 0)
		r = add_all(call, &out, err);
	if (r == 0 && out.failed)
		r = cs_fail(err, CS_LIMIT, ENOMEM, "list");
	if (r == 0 && out.json) {
		r = cs_json_write(out.array, CS_JSON_INDENTED, &out.text, err);
		cs_buf_addc(&out.text, '\n');
	}
	/* where none of those named could be shown, there is nothing to head */
	if (r == 0 && (out.json || call->argc == 0 || out.text.len > 0))
		r = print_list(&out, err);
	cs_buf_release(&out.text);
	cs_json_free(out.array);
	return r;
}

const struct cs_cmd cs_cmd_stats = {
	.name = "stats",
	.summary = "show what live runs use just now, in one look",
	.usage = "[FLAGS] [ID...]",
	.rows = rows,
	.n_rows = &n_rows,
	.settings = CS_FOR_RECORDS,
	.own_size = sizeof(struct stats),
	.operands_max = CS_CMD_ANY,
	.operand = "id",
	.act = print,
};
