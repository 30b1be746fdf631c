#include "shim/task/result.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "shim/base/clock.h"
#include "shim/base/parse.h"

#define CAPTURE_MAX (16 << 20)

void cs_result_init(struct cs_result *result)
{
	*result = (struct cs_result){
		.reason = CS_REASON_UNKNOWN,
		.end = CS_EXIT_NONE,
		.stdout_stream = { .bytes = CS_BUF_INIT(CAPTURE_MAX) },
		.stderr_stream = { .bytes = CS_BUF_INIT(CAPTURE_MAX) },
	};
	memset(&result->usage, 0xff, sizeof(result->usage)); /* every number is CS_NO_NUMBER */
	for (size_t i = 0; i < CS_RESULT_LIMITS; i++)
		result->limits[i] = (struct cs_result_limit_value){ CS_NO_NUMBER, CS_NO_NUMBER, NULL };
}

void cs_result_release(struct cs_result *result)
{
	cs_buf_release(&result->stdout_stream.bytes);
	cs_buf_release(&result->stderr_stream.bytes);
	cs_strv_release(&result->warnings);
	cs_strv_release(&result->leftovers);
}

int cs_result_choose_id(struct cs_result *result, const char *given)
{
	unsigned char random[8];

	if (given) {
		snprintf(result->id, sizeof(result->id), "%s", given);
		return 0;
	}
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -errno;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(result->id + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static uint64_t minus(uint64_t value, uint64_t base)
{
	if (value == CS_NO_NUMBER || base == CS_NO_NUMBER)
		return value;
	return value > base ? value - base : 0;
}

void cs_result_read_usage(struct cs_result *result, const struct cs_cgroup *cgroup, const struct cs_cgroup_usage *before)
{
	struct cs_cgroup_usage *usage = &result->usage;

	if (!cgroup)
		return;
	cs_cgroup_usage(cgroup, usage);
	result->has_usage = true;
	if (usage->oom_kills != CS_NO_NUMBER && usage->oom_kills > 0)
		result->oom_scope = cs_cgroup_oom_is_ancestors(cgroup) == 1 ? CS_OOM_ANCESTOR : CS_OOM_OWN;
	usage->cpu_user_ns = minus(usage->cpu_user_ns, before->cpu_user_ns);
	usage->cpu_system_ns = minus(usage->cpu_system_ns, before->cpu_system_ns);
	usage->cpu_total_ns = minus(usage->cpu_total_ns, before->cpu_total_ns);
}

int cs_result_outward(const struct cs_result *result)
{
	return cs_exit_outward(result->reason, result->end, result->start_kind, result->cause);
}

/* --- pieces of the tree; each put consumes, NULL makes it fail at the end ------- */

/* Collects a failure, so that a row of puts needs one look. */
struct maker {
	struct cs_json *object;
	struct cs_json *unavailable;
	int failed;
};

static void put(struct maker *m, const char *key, struct cs_json *value_consume)
{
	if (cs_json_put(m->object, key, value_consume) < 0)
		m->failed = -1;
}

static struct cs_json *text_or_null(const char *text)
{
	return text && text[0] ? cs_json_new_words(text) : cs_json_new_null();
}

static struct cs_json *words_json(const struct cs_strv *texts)
{
	struct cs_json *array = cs_json_new_array();

	for (size_t i = 0; array && i < texts->n; i++)
		if (cs_json_add(array, cs_json_new_words(texts->v[i])) < 0)
			cs_json_free_ptr(&array);
	return array;
}

static struct cs_json *time_or_null(int64_t wall_ns)
{
	char text[CS_CLOCK_TEXT];

	return wall_ns ? cs_json_new_string(cs_clock_rfc3339(wall_ns, text)) : cs_json_new_null();
}

static struct cs_json *int_or_null(int value)
{
	return value >= 0 ? cs_json_new_i64(value) : cs_json_new_null();
}

static struct cs_json *number_or_null(uint64_t value)
{
	return value != CS_NO_NUMBER ? cs_json_new_u64(value) : cs_json_new_null();
}

/* A number of the usage: absent ones are named in "unavailable". */
static void put_number(struct maker *m, const char *key, uint64_t value)
{
	put(m, key, number_or_null(value));
	if (value == CS_NO_NUMBER && cs_json_add(m->unavailable, cs_json_new_string(key)) < 0)
		m->failed = -1;
}

static struct cs_json *error_json(const struct cs_result *result, int *failed)
{
	struct maker m = { .object = cs_json_new_object() };

	if (!result->error[0]) {
		cs_json_free(m.object);
		return cs_json_new_null();
	}
	put(&m, "kind", result->reason == CS_REASON_START_FAILED
				? cs_json_new_string(cs_start_kind_word(result->start_kind))
				: cs_json_new_null());
	put(&m, "message", cs_json_new_words(result->error));
	put(&m, "engineMessage", text_or_null(result->engine_message));
	*failed |= m.failed;
	return m.object;
}

static struct cs_json *engine_json(const struct cs_result *result, int *failed)
{
	struct maker m = { .object = cs_json_new_object() };

	put(&m, "name", text_or_null(result->engine_name));
	put(&m, "version", text_or_null(result->engine_version));
	*failed |= m.failed;
	return m.object;
}

static struct cs_json *usage_json(const struct cs_result *r, struct cs_json *unavailable, int *failed)
{
	struct maker m = { .object = cs_json_new_object(), .unavailable = unavailable };
	const struct cs_cgroup_usage *u = &r->usage;

	put_number(&m, "wallNs", r->started_wall_ns ? (uint64_t)r->wall_ns : CS_NO_NUMBER);
	put_number(&m, "queueNs", (uint64_t)r->queue_ns);
	put_number(&m, "setupNs", (uint64_t)r->setup_ns);
	put_number(&m, "cpuUserNs", u->cpu_user_ns);
	put_number(&m, "cpuSystemNs", u->cpu_system_ns);
	put_number(&m, "memoryPeakBytes", u->memory_peak_bytes);
	put_number(&m, "shmemPeakBytes", u->shmem_bytes);
	put_number(&m, "pidsPeak", u->pids_peak);
	put_number(&m, "oomKills", u->oom_kills);
	put_number(&m, "pidsLimitHits", u->pids_limit_hits);
	put_number(&m, "ioReadBytes", u->io_read_bytes);
	put_number(&m, "ioWriteBytes", u->io_write_bytes);
	*failed |= m.failed;
	return m.object;
}

static const char *const limit_keys[] = {
	[CS_LIMIT_MEMORY] = "memoryBytes",
	[CS_LIMIT_MEMORY_SWAP] = "memorySwapBytes",
	[CS_LIMIT_PIDS] = "pids",
	[CS_LIMIT_CPU] = "millicpus",
	[CS_LIMIT_WALL] = "wallNs",
	[CS_LIMIT_CPU_TIME] = "cpuNs",
	[CS_LIMIT_IDLE] = "idleNs",
	[CS_LIMIT_STDOUT] = "stdoutBytes",
	[CS_LIMIT_STDERR] = "stderrBytes",
};
_Static_assert(CS_ARRAY_LEN(limit_keys) == CS_RESULT_LIMITS, "a key for every limit");

static struct cs_json *limits_json(const struct cs_result *result, int *failed)
{
	struct maker all = { .object = cs_json_new_object() };

	for (size_t i = 0; i < CS_RESULT_LIMITS; i++) {
		const struct cs_result_limit_value *value = &result->limits[i];
		struct maker m = { .object = NULL };

		if (!limit_keys[i])
			continue;
		m.object = cs_json_new_object();
		put(&m, "asked", number_or_null(value->asked));
		put(&m, "inForce", number_or_null(value->in_force));
		if (value->by)
			put(&m, "by", cs_json_new_string(value->by));
		*failed |= m.failed;
		put(&all, limit_keys[i], m.object);
	}
	*failed |= all.failed;
	return all.object;
}

/* --- streams ----------------------------------------------------------------------- */

/* "data", "encoding" and, for head and tail with a gap between, where it lies (in bytes of the data). */
static void put_capture(struct maker *m, const struct cs_result_stream *stream)
{
	cs_auto(buf) coded = CS_BUF_INIT(2 * (size_t)CAPTURE_MAX);
	const struct cs_buf *bytes = &stream->bytes;
	const char *data = bytes->data ? bytes->data : "";
	/* a NUL in a string of JSON is where many readers cut it */
	bool text = cs_utf8_valid(data, bytes->len) && !memchr(data, '\0', bytes->len);

	if (text) {
		put(m, "data", cs_json_new_string_n(data, bytes->len));
	} else {
		if (cs_buf_add_base64(&coded, data, bytes->len) < 0)
			m->failed = -1;
		put(m, "data", cs_json_new_string_n(coded.data ? coded.data : "", coded.len));
	}
	put(m, "encoding", cs_json_new_string(text ? "utf-8" : "base64"));
	put(m, "gapAt", stream->gap_bytes ? cs_json_new_u64(stream->gap_at) : cs_json_new_null());
	put(m, "gapBytes", cs_json_new_u64(stream->gap_bytes));
}

static struct cs_json *stream_json(const struct cs_result_stream *stream, int *failed)
{
	struct maker m = { .object = cs_json_new_object() };

	put(&m, "seenBytes", cs_json_new_u64(stream->counts.seen_bytes));
	put(&m, "keptBytes", cs_json_new_u64(stream->counts.kept_bytes));
	put(&m, "droppedBytes", cs_json_new_u64(stream->counts.dropped_bytes));
	put(&m, "truncated", cs_json_new_bool(stream->counts.truncated));
	put(&m, "sinkStalled", cs_json_new_bool(stream->counts.sink_stalled));
	if (stream->captured)
		put_capture(&m, stream);
	*failed |= m.failed;
	return m.object;
}

/* --- the whole ------------------------------------------------------------------------ */

static struct cs_json *oom_scope_json(enum cs_oom_scope scope)
{
	static const char *const words[] = { NULL, "own", "ancestor" };

	return text_or_null(words[scope]);
}

int cs_result_json(const struct cs_result *r, struct cs_json **ret, struct cs_err *err)
{
	cs_autojson struct cs_json *unavailable = cs_json_new_array();
	struct maker m = { .object = cs_json_new_object() };

	put(&m, "version", cs_json_new_u64(CS_RESULT_VERSION));
	put(&m, "id", cs_json_new_string(r->id));
	put(&m, "reason", cs_json_new_string(cs_reason_word(r->reason)));
	put(&m, "exitCode", int_or_null(r->end.code));
	put(&m, "signal", int_or_null(r->end.signal));
	put(&m, "outwardCode", cs_json_new_i64(cs_result_outward(r)));
	put(&m, "engine", engine_json(r, &m.failed));
	put(&m, "error", error_json(r, &m.failed));
	put(&m, "syscall", cs_json_new_null());
	put(&m, "startedAt", time_or_null(r->started_wall_ns));
	put(&m, "finishedAt", time_or_null(r->finished_wall_ns));
	put(&m, "oomScope", oom_scope_json(r->oom_scope));
	put(&m, "usage", usage_json(r, unavailable, &m.failed));
	put(&m, "stdout", stream_json(&r->stdout_stream, &m.failed));
	put(&m, "stderr", stream_json(&r->stderr_stream, &m.failed));
	put(&m, "limits", limits_json(r, &m.failed));
	put(&m, "stdioHeld", cs_json_new_bool(r->stdio_held));
	put(&m, "warnings", words_json(&r->warnings));
	put(&m, "leftovers", words_json(&r->leftovers));
	put(&m, "unavailable", cs_take_ptr(&unavailable));
	if (m.failed) {
		cs_json_free(m.object);
		return cs_fail(err, CS_LIMIT, ENOMEM, "result record");
	}
	*ret = m.object;
	return 0;
}

static void add_limit(const struct cs_result *result, enum cs_result_limit limit, bool time,
		      struct cs_buf *out)
{
	char text[CS_MAX(CS_SIZE_TEXT, CS_DURATION_TEXT)];
	uint64_t asked = result->limits[limit].asked;

	if (asked == CS_NO_NUMBER)
		return;
	if (time)
		cs_buf_addf(out, " of %s", cs_duration_text((int64_t)asked, text));
	else
		cs_buf_addf(out, " of %s%s", cs_size_text(asked, text), asked % 1024 ? " bytes" : "");
}

int cs_result_sentence(const struct cs_result *r, struct cs_buf *out)
{
	switch (r->reason) {
	case CS_REASON_WALL_LIMIT:
		cs_buf_adds(out, "ended by the wall time limit");
		add_limit(r, CS_LIMIT_WALL, true, out);
		cs_buf_adds(out, " (--timeout)");
		break;
	case CS_REASON_CPU_LIMIT:
		cs_buf_adds(out, "ended by the CPU time limit");
		add_limit(r, CS_LIMIT_CPU_TIME, true, out);
		cs_buf_adds(out, " (--cpu-time)");
		break;
	case CS_REASON_IDLE_LIMIT:
		cs_buf_adds(out, "ended without output for the idle time");
		add_limit(r, CS_LIMIT_IDLE, true, out);
		cs_buf_adds(out, " (--idle-timeout)");
		break;
	case CS_REASON_OUTPUT_LIMIT:
		cs_buf_adds(out, "ended by the output limit");
		add_limit(r, r->stdout_stream.counts.truncated ? CS_LIMIT_STDOUT : CS_LIMIT_STDERR, false, out);
		cs_buf_adds(out, " (--output-limit)");
		break;
	case CS_REASON_OOM:
		cs_buf_adds(out, "ended by the memory limit");
		add_limit(r, CS_LIMIT_MEMORY, false, out);
		cs_buf_adds(out, r->oom_scope == CS_OOM_ANCESTOR ? " (but an outer cgroup's was hit)" : " (--memory)");
		break;
	case CS_REASON_SECCOMP:
		cs_buf_adds(out, "ended by the system call filter (SIGSYS): see --seccomp and --seccomp-allow");
		break;
	case CS_REASON_SANDBOX_FAILED:
		cs_buf_addf(out, "the sandbox of %s itself ended", r->engine_name);
		break;
	case CS_REASON_STOPPED:
		if (r->in_session)
			cs_buf_addf(out, "the session '%s' ended %s", r->id,
				    r->started_wall_ns ? "under it" : "before the command could begin");
		break;
	case CS_REASON_UNKNOWN:
		cs_buf_adds(out, "the run ended, but how could not be learnt");
		break;
	default:
		break;
	}
	if (r->error[0] && out->len == 0)
		cs_buf_adds(out, r->error);
	return out->failed ? -1 : 0;
}
