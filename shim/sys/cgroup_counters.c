/*
 * Counters and limits: where each stands on v1 and v2, and how to read it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/file.h"
#include "shim/base/parse.h"
#include "shim/sys/cgroup_int.h"

/* --- numbers in texts --------------------------------------------------- */

/* Digits at p, ended by white space or the end; UINT64_MAX for anything else. */
static uint64_t number_at(const char *p)
{
	size_t len = strcspn(p, " \t\n");
	uint64_t value;
	char digits[32];

	if (len == 0 || len >= sizeof(digits))
		return UINT64_MAX;
	memcpy(digits, p, len);
	digits[len] = '\0';
	return cs_parse_u64(digits, &value) == 0 ? value : UINT64_MAX;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

/* What stands behind "key" and `separator` at the start of a word, in this line; NULL: nothing. */
static const char *behind_key(const char *line, const char *key, char separator)
{
	size_t len = strlen(key);

	for (const char *p = line; *p != '\0' && *p != '\n';) {
		size_t word;

		if (strncmp(p, key, len) == 0 && p[len] == separator)
			return p + len + 1;
		word = strcspn(p, " \n");
		p += word + (p[word] == ' ');
	}
	return NULL;
}

uint64_t cs_cgroup_text_number(const char *text, enum cs_cgroup_form form, const char *key)
{
	uint64_t sum = form == CS_CGROUP_SUM_EQ ? 0 : UINT64_MAX;

	if (form == CS_CGROUP_NUMBER)
		return number_at(text);
	for (const char *line = text; *line != '\0'; line = next_line(line)) {
		const char *value = behind_key(line, key, form == CS_CGROUP_SUM_EQ ? '=' : ' ');
		uint64_t number;

		if (value == NULL)
			continue;
		number = number_at(value);
		if (form == CS_CGROUP_KEY && value == line + strlen(key) + 1)
			return number;
		/* a sum is of lines that begin with a device: "Read 1" alone is a total */
		if (form != CS_CGROUP_KEY && value != line + strlen(key) + 1 && number != UINT64_MAX)
			sum = sum == UINT64_MAX ? number : sum + number;
	}
	return sum;
}

uint64_t cs_cgroup_file_number(int dir_fd, const char *file, enum cs_cgroup_form form, const char *key)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_CGROUP_TEXT_MAX);

	if (cs_file_read(dir_fd, file, &text) < 0)
		return UINT64_MAX;
	return cs_cgroup_text_number(text.len > 0 ? text.data : "", form, key);
}

struct tree_sum {
	const char *file, *key;
	enum cs_cgroup_form form;
	uint64_t sum;
};

static int add_number(int dir_fd, void *arg)
{
	struct tree_sum *tree = arg;
	uint64_t number = cs_cgroup_file_number(dir_fd, tree->file, tree->form, tree->key);

	if (number != UINT64_MAX)
		tree->sum += number;
	return 0;
}

uint64_t cs_cgroup_tree_number(int dir_fd, const char *file, enum cs_cgroup_form form, const char *key)
{
	static const struct cs_cgroup_visitor visitor = { .enter = add_number };
	struct tree_sum tree = { file, key, form, 0 };

	if (cs_cgroup_file_number(dir_fd, file, form, key) == UINT64_MAX)
		return UINT64_MAX;
	/* a walk that lost its way has counted the most of it */
	cs_cgroup_walk(dir_fd, &visitor, &tree);
	return tree.sum;
}

/* --- counters ----------------------------------------------------------- */

enum reach {
	OWN,     /* the file counts the whole tree already */
	TREE,    /* it counts one group: sum up */
	TREE_OLD /* TREE on kernels where the group has no FILE.local, OWN where it has */
};

/* The first row of a field that answers gives its value. */
static const struct counter {
	size_t offset;
	const char *controller;
	bool v2;
	const char *file;
	enum cs_cgroup_form form;
	const char *key;
	uint64_t scale;
	enum reach reach;
} counters[] = {
#define FIELD(name) offsetof(struct cs_cgroup_usage, name)
	{ FIELD(cpu_total_ns), "cpuacct", false, "cpuacct.usage", CS_CGROUP_NUMBER, NULL, 1, OWN },
	{ FIELD(cpu_total_ns), "cpu", true, "cpu.stat", CS_CGROUP_KEY, "usage_usec", 1000, OWN },
	{ FIELD(cpu_user_ns), "cpuacct", false, "cpuacct.usage_user", CS_CGROUP_NUMBER, NULL, 1, OWN },
	{ FIELD(cpu_user_ns), "cpu", true, "cpu.stat", CS_CGROUP_KEY, "user_usec", 1000, OWN },
	{ FIELD(cpu_system_ns), "cpuacct", false, "cpuacct.usage_sys", CS_CGROUP_NUMBER, NULL, 1, OWN },
	{ FIELD(cpu_system_ns), "cpu", true, "cpu.stat", CS_CGROUP_KEY, "system_usec", 1000, OWN },
	{ FIELD(memory_peak_bytes), "memory", false, "memory.max_usage_in_bytes", CS_CGROUP_NUMBER, NULL,
	  1, OWN },
	{ FIELD(memory_peak_bytes), "memory", true, "memory.peak", CS_CGROUP_NUMBER, NULL, 1, OWN },
	{ FIELD(memory_bytes), "memory", false, "memory.usage_in_bytes", CS_CGROUP_NUMBER, NULL, 1, OWN },
	{ FIELD(memory_bytes), "memory", true, "memory.current", CS_CGROUP_NUMBER, NULL, 1, OWN },
	{ FIELD(shmem_bytes), "memory", false, "memory.stat", CS_CGROUP_KEY, "total_shmem", 1, OWN },
	{ FIELD(shmem_bytes), "memory", true, "memory.stat", CS_CGROUP_KEY, "shmem", 1, OWN },
	{ FIELD(swap_peak_bytes), "memory", true, "memory.swap.peak", CS_CGROUP_NUMBER, NULL, 1, OWN },
	{ FIELD(pids), "pids", false, "pids.current", CS_CGROUP_NUMBER, NULL, 1, OWN },
	{ FIELD(pids), "pids", true, "pids.current", CS_CGROUP_NUMBER, NULL, 1, OWN },
	{ FIELD(pids_peak), "pids", false, "pids.peak", CS_CGROUP_NUMBER, NULL, 1, OWN },
	{ FIELD(pids_peak), "pids", true, "pids.peak", CS_CGROUP_NUMBER, NULL, 1, OWN },
	/* counted where the fork was tried, since Linux 6.11 on v2 where the limit is and above */
	{ FIELD(pids_limit_hits), "pids", false, "pids.events", CS_CGROUP_KEY, "max", 1, TREE },
	{ FIELD(pids_limit_hits), "pids", true, "pids.events", CS_CGROUP_KEY, "max", 1, TREE_OLD },
	{ FIELD(oom_kills), "memory", false, "memory.oom_control", CS_CGROUP_KEY, "oom_kill", 1, TREE },
	{ FIELD(oom_kills), "memory", true, "memory.events", CS_CGROUP_KEY, "oom_kill", 1, OWN },
	{ FIELD(oom_own), "memory", true, "memory.events", CS_CGROUP_KEY, "oom", 1, OWN },
	{ FIELD(io_read_bytes), "blkio", false, "blkio.throttle.io_service_bytes_recursive",
	  CS_CGROUP_SUM_OP, "Read", 1, OWN },
	{ FIELD(io_read_bytes), "blkio", false, "blkio.bfq.io_service_bytes_recursive",
	  CS_CGROUP_SUM_OP, "Read", 1, OWN },
	{ FIELD(io_read_bytes), "io", true, "io.stat", CS_CGROUP_SUM_EQ, "rbytes", 1, OWN },
	{ FIELD(io_write_bytes), "blkio", false, "blkio.throttle.io_service_bytes_recursive",
	  CS_CGROUP_SUM_OP, "Write", 1, OWN },
	{ FIELD(io_write_bytes), "blkio", false, "blkio.bfq.io_service_bytes_recursive",
	  CS_CGROUP_SUM_OP, "Write", 1, OWN },
	{ FIELD(io_write_bytes), "io", true, "io.stat", CS_CGROUP_SUM_EQ, "wbytes", 1, OWN },
#undef FIELD
};

static uint64_t read_counter(const struct cs_cgroup *cgroup, const struct counter *row)
{
	const struct cs_cgroup_dir *dir = cs_cgroup_dir_of(cgroup, row->controller);
	bool tree = row->reach == TREE;
	uint64_t number;

	if (dir == NULL || dir->mount.v2 != row->v2)
		return UINT64_MAX;
	if (row->reach == TREE_OLD) {
		char local[64];

		snprintf(local, sizeof(local), "%s.local", row->file);
		tree = faccessat(dir->fd, local, F_OK, 0) < 0;
	}
	number = tree ? cs_cgroup_tree_number(dir->fd, row->file, row->form, row->key)
		      : cs_cgroup_file_number(dir->fd, row->file, row->form, row->key);
	if (number == UINT64_MAX || number > UINT64_MAX / row->scale)
		return UINT64_MAX;
	return number * row->scale;
}

/* Every field is a uint64_t, so that a row can name it by its offset. */
static uint64_t *field_of(struct cs_cgroup_usage *usage, const struct counter *row)
{
	return (uint64_t *)((char *)usage + row->offset);
}

void cs_cgroup_cpu_split(struct cs_cgroup_usage *usage)
{
	uint64_t user = usage->cpu_user_ns, system = usage->cpu_system_ns, total = usage->cpu_total_ns;
	uint64_t sum;

	if (user == UINT64_MAX || system == UINT64_MAX || total == UINT64_MAX ||
	    __builtin_add_overflow(user, system, &sum))
		return;
	/* shorter than a tick: the kernel calls that user time too (cputime_adjust()) */
	usage->cpu_user_ns = sum > 0 ? (uint64_t)((unsigned __int128)total * user / sum) : total;
	usage->cpu_system_ns = total - usage->cpu_user_ns;
}

void cs_cgroup_usage(const struct cs_cgroup *cgroup, struct cs_cgroup_usage *ret)
{
	memset(ret, 0xff, sizeof(*ret));
	for (size_t i = 0; i < CS_ARRAY_LEN(counters); i++) {
		uint64_t *field = field_of(ret, &counters[i]);

		if (*field == UINT64_MAX)
			*field = read_counter(cgroup, &counters[i]);
	}
	cs_cgroup_cpu_split(ret);
}

static uint64_t one_counter(const struct cs_cgroup *cgroup, size_t offset)
{
	uint64_t number = UINT64_MAX;

	for (size_t i = 0; i < CS_ARRAY_LEN(counters) && number == UINT64_MAX; i++) {
		if (counters[i].offset == offset)
			number = read_counter(cgroup, &counters[i]);
	}
	return number;
}

uint64_t cs_cgroup_cpu_ns(const struct cs_cgroup *cgroup)
{
	return one_counter(cgroup, offsetof(struct cs_cgroup_usage, cpu_total_ns));
}

uint64_t cs_cgroup_oom_kills(const struct cs_cgroup *cgroup)
{
	return one_counter(cgroup, offsetof(struct cs_cgroup_usage, oom_kills));
}

/* --- limits ------------------------------------------------------------- */

/*
 * v1 has no word for "unlimited": memory files hold LONG_MAX rounded down to
 * a page, of at most 64 KiB.
 */
#define V1_UNLIMITED ((uint64_t)INT64_MAX & ~UINT64_C(0xffff))

/* The text without its end of line, in a buffer that any number fits. */
static int copy_line(const char *text, char *ret, size_t size)
{
	size_t len = strcspn(text, "\n");

	if (len == 0 || len >= size)
		return -EINVAL;
	memcpy(ret, text, len);
	ret[len] = '\0';
	return 0;
}

int cs_cgroup_text_limit(const char *text, uint64_t *ret)
{
	char line[32];
	uint64_t value;
	int64_t negative;

	if (copy_line(text, line, sizeof(line)) < 0)
		return -EINVAL;
	if (strcmp(line, "max") == 0 || (line[0] == '-' && cs_parse_i64(line, &negative) == 0)) {
		*ret = UINT64_MAX;
		return 0;
	}
	if (cs_parse_u64(line, &value) < 0)
		return -EINVAL;
	*ret = value >= V1_UNLIMITED ? UINT64_MAX : value;
	return 0;
}

int cs_cgroup_text_millicpus(const char *quota, const char *period, uint64_t *ret)
{
	uint64_t quota_us, period_us, product;

	if (cs_cgroup_text_limit(quota, &quota_us) < 0 || cs_cgroup_text_limit(period, &period_us) < 0 ||
	    period_us == 0 || period_us == UINT64_MAX)
		return -EINVAL;
	if (quota_us == UINT64_MAX) {
		*ret = UINT64_MAX;
		return 0;
	}
	if (__builtin_mul_overflow(quota_us, UINT64_C(1000), &product) ||
	    __builtin_add_overflow(product, period_us / 2, &product))
		return -EINVAL;
	*ret = product / period_us;
	return 0;
}
