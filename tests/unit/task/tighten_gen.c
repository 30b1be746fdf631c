/* Generated config.json, process.json, LinuxResources and policies for test_tighten_random.c. */
#include <inttypes.h>
#include <string.h>

#include "tests/unit/task/tighten_random.h"

uint64_t tighten_seed;
struct cs_settings_tree tighten_tree;
struct cs_err tighten_err;
bool tighten_odd;
struct cs_buf tighten_story = CS_BUF_INIT(1 << 20);

static uint64_t state;

void tighten_begin(uint64_t seed)
{
	tighten_seed = seed;
	state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* xorshift64* */
unsigned tighten_draw(unsigned n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (unsigned)((state * UINT64_C(2685821657736338717)) >> 33) % n;
}

#define PICK(array) ((array)[tighten_draw(CS_ARRAY_LEN(array))])

/* --- generated text ------------------------------------------------------------------- */

static void add_unknown(struct cs_buf *out)
{
	static const char *const texts[] = {
		"{\"a\":[1,2.50,\"\\u00e9\\n\"]}", "18446744073709551616", "[]", "null", "\"\"",
	};
	static unsigned n;

	if (tighten_draw(3) == 0)
		cs_buf_addf(out, "\"x.%u\":%s,", n++, PICK(texts));
}

static const char *number(void)
{
	static const char *const plain[] = { "1", "7", "63", "64", "65", "4096", "100000", "262144", "1048576", "9223372036854775807" };
	static const char *const lifted[] = { "0", "-1", "null", "-9", "-0" };
	static const char *const weird[] = { "1e9", "64.0", "\"64\"", "[]", "{}", "true", "18446744073709551616" };

	switch (tighten_draw(30)) {
	case 0:
		tighten_odd = true;
		return PICK(weird);
	case 1 ... 9:
		return PICK(lifted);
	default:
		return PICK(plain);
	}
}

static const char *period(void)
{
	static const char *const texts[] = { "0", "null", "1000", "20000", "100000", "1000000" };

	return PICK(texts);
}

static const char *cpus(void)
{
	static const char *const texts[] = { "0", "0-1", "1-3", "0,2", "2-5,7", "" };

	return PICK(texts);
}

static void add_member(struct cs_buf *out, const char *key, const char *value)
{
	if (tighten_draw(3))
		cs_buf_addf(out, "\"%s\":%s,", key, value);
	add_unknown(out);
}

/* A trailing comma is taken away, a closing bracket set. */
static void close_with(struct cs_buf *out, char bracket)
{
	if (out->data[out->len - 1] == ',')
		out->data[out->len - 1] = bracket;
	else
		cs_buf_addc(out, bracket);
	cs_buf_addc(out, ',');
}

static void add_unified(struct cs_buf *out)
{
	static const char *const numbers[] = { "max", "1", "64", "65", "100000", "262144", "1048576" };
	static const char *const cpu[] = { "max", "max 20000", "5000", "50000 100000", "200000 100000", "2000 1000" };

	cs_buf_adds(out, "\"unified\":{\"memory.high\":\"max\",");
	if (tighten_draw(2))
		cs_buf_addf(out, "\"memory.max\":\"%s\",", PICK(numbers));
	if (tighten_draw(2))
		cs_buf_addf(out, "\"memory.swap.max\":\"%s\",", PICK(numbers));
	if (tighten_draw(2))
		cs_buf_addf(out, "\"pids.max\":\"%s\",", PICK(numbers));
	if (tighten_draw(2))
		cs_buf_addf(out, "\"cpu.max\":\"%s\",", PICK(cpu));
	if (tighten_draw(3) == 0)
		cs_buf_addf(out, "\"cpuset.cpus\":\"%s\",", cpus());
	close_with(out, '}');
}

/* The members of LinuxResources. */
static void add_resources(struct cs_buf *out)
{
	char text[64];

	if (tighten_draw(4)) {
		cs_buf_adds(out, "\"memory\":{");
		add_member(out, "limit", number());
		add_member(out, "swap", number());
		close_with(out, '}');
	}
	add_unknown(out);
	if (tighten_draw(4)) {
		cs_buf_adds(out, "\"pids\":{");
		add_member(out, "limit", number());
		close_with(out, '}');
	}
	if (tighten_draw(4)) {
		cs_buf_adds(out, "\"cpu\":{");
		add_member(out, "quota", number());
		add_member(out, "period", period());
		snprintf(text, sizeof(text), "\"%s\"", cpus());
		add_member(out, "cpus", text);
		close_with(out, '}');
	}
	if (tighten_draw(3) == 0)
		cs_buf_adds(out, "\"devices\":[{\"allow\":true,\"type\":\"c\",\"access\":\"rwm\"}],");
	if (tighten_draw(3) == 0)
		add_unified(out);
}

static void add_process(struct cs_buf *out)
{
	static const char *const sets[] = { "bounding", "effective", "inheritable", "permitted", "ambient" };
	static const char *const caps[] = { "CAP_CHOWN", "CAP_KILL", "CAP_SYS_ADMIN", "CAP_NET_RAW", "cap_kill", "ALL", "CAP_NEW" };
	static const char *const rlimits[] = { "RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_STACK", "RLIMIT_AS", "RLIMIT_MEMLOCK" };
	static const char *const values[] = { "0", "1", "512", "4096", "8388608", "18446744073709551615", "-1" };

	cs_buf_adds(out, "\"args\":[\"sh\"],");
	add_unknown(out);
	if (tighten_draw(4)) {
		cs_buf_adds(out, "\"capabilities\":{");
		for (size_t i = 0; i < CS_ARRAY_LEN(sets); i++) {
			if (tighten_draw(4) == 0)
				continue;
			cs_buf_addf(out, "\"%s\":[", sets[i]);
			for (unsigned n = tighten_draw(5); n > 0; n--)
				cs_buf_addf(out, "\"%s\",", PICK(caps));
			close_with(out, ']');
		}
		close_with(out, '}');
	}
	if (tighten_draw(3))
		cs_buf_addf(out, "\"noNewPrivileges\":%s,", tighten_draw(2) ? "true" : "false");
	if (tighten_draw(3)) {
		cs_buf_adds(out, "\"rlimits\":[");
		for (size_t i = 0; i < CS_ARRAY_LEN(rlimits); i++)
			if (tighten_draw(2))
				cs_buf_addf(out, "{\"type\":\"%s\",\"zzz\":1.0,\"hard\":%s,\"soft\":%s},", rlimits[i], PICK(values),
					    PICK(values));
		close_with(out, ']');
	}
}

static void add_linux(struct cs_buf *out)
{
	static const char *const paths[] = { "/proc/kcore", "/x", "/sys/firmware", "/proc/sys" };
	static const char *const namespaces[] = { "pid", "ipc", "uts", "mount", "network", "cgroup", "user" };

	add_unknown(out);
	cs_buf_adds(out, "\"resources\":{");
	add_resources(out);
	close_with(out, '}');
	cs_buf_adds(out, "\"namespaces\":[");
	for (size_t i = 0; i < CS_ARRAY_LEN(namespaces); i++)
		if (tighten_draw(3))
			cs_buf_addf(out, tighten_draw(6) ? "{\"type\":\"%s\"}," : "{\"type\":\"%s\",\"path\":\"/dev/null\",\"z\":0},", namespaces[i]);
	close_with(out, ']');
	if (tighten_draw(2))
		cs_buf_addf(out, "\"maskedPaths\":[\"%s\",\"%s\"],", PICK(paths), PICK(paths));
	if (tighten_draw(2))
		cs_buf_addf(out, "\"readonlyPaths\":[\"%s\"],", PICK(paths));
}

struct cs_json *tighten_generate(enum tighten_what what)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_json *json = NULL;

	tighten_odd = false;
	cs_buf_adds(&out, "{");
	if (what == RESOURCES)
		add_resources(&out);
	if (what == PROCESS)
		add_process(&out);
	if (what == CONFIG) {
		add_unknown(&out);
		if (tighten_draw(8)) {
			cs_buf_adds(&out, "\"process\":{");
			add_process(&out);
			close_with(&out, '}');
		}
		if (tighten_draw(4))
			cs_buf_addf(&out, "\"root\":{\"path\":\"r\",\"readonly\":%s},", tighten_draw(2) ? "true" : "false");
		if (tighten_draw(8)) {
			cs_buf_adds(&out, "\"linux\":{");
			add_linux(&out);
			close_with(&out, '}');
		}
	}
	close_with(&out, '}');
	out.data[--out.len] = '\0';
	ck_assert_msg(cs_json_parse(out.data, out.len, "generated", &json, &tighten_err) == 0, "seed %" PRIu64 ": %s: %s", tighten_seed,
		      tighten_err.text, out.data);
	return json;
}

/* --- generated policies ------------------------------------------------------------------ */

static void put(const char *name, const char *value)
{
	struct cs_opt_set rows = cs_settings_set(&tighten_tree);

	ck_ok(cs_opt_put(&rows, cs_opt_by_name(&rows, name), name, value, CS_ORIGIN_FLAG, &tighten_err), tighten_err);
}

void tighten_generate_policy(void)
{
	static const char *const words[] = { "capabilities", "privileges", "root", "namespaces", "devices", "masked", "readonly",
					     "rlimits", "core" };
	static const char *const memory[] = { "64k", "100k", "1m" };
	static const char *const swap[] = { "1m", "2m", "unlimited" };
	static const char *const pids[] = { "1", "64", "4096" };
	static const char *const cpu[] = { "0.01", "0.5", "1", "3" };

	cs_settings_release(&tighten_tree);
	cs_err_clear(&tighten_err);
	ck_ok(cs_settings_init(&tighten_tree, &tighten_err), tighten_err);
	put("bound", tighten_draw(3) ? "always" : "unbounded");
	put("timeout", "1h"); /* so that the policy is never none */
	if (tighten_draw(4))
		put("memory", PICK(memory));
	if (tighten_tree.values.memory_bytes != NONE && tighten_draw(2))
		put("memory-swap", PICK(swap));
	if (tighten_draw(4))
		put("pids-limit", PICK(pids));
	if (tighten_draw(4))
		put("cpus", PICK(cpu));
	if (tighten_draw(3) == 0)
		put("cpuset-cpus", "0-2");
	if (tighten_draw(2))
		put("ulimit", "nofile=256:1024");
	if (tighten_draw(2))
		put("cap-add", "KILL");
	for (size_t i = 0; i < CS_ARRAY_LEN(words); i++)
		if (tighten_draw(2))
			put("confine", words[i]);
	if (tighten_draw(40) == 0) /* costs more than all others */
		put("confine", "seccomp");
	cs_settings_resolve(&tighten_tree);
}

bool tighten_confines(const char *word)
{
	return cs_strv_has(&tighten_tree.values.confine, word);
}

bool tighten_always(void)
{
	return tighten_tree.values.bound == CS_BOUND_ALWAYS;
}

