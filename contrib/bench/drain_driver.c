/*
 * bench-drain's subject: one drain from descriptor 0 to descriptor 1, as
 * `caisson run` has two of, and nothing else.
 *
 *     producer | drain_driver [--cap BYTES] [--report FILE] | consumer
 *
 * At the end it writes one line to the report (or stderr): seen, kept and
 * dropped bytes, VmHWM in KiB.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/parse.h"
#include "shim/stdio/drain.h"

static void on_event(struct cs_drain *drain CS_UNUSED, enum cs_drain_event event,
		     int errnum CS_UNUSED, void *arg)
{
	if (event == CS_DRAIN_DONE)
		cs_loop_quit(arg);
}

static void report(const struct cs_drain *drain, FILE *to)
{
	cs_auto(buf) status = CS_BUF_INIT(64 * 1024);
	const char *peak = NULL;
	struct cs_drain_counts counts;

	if (cs_file_read(AT_FDCWD, "/proc/self/status", &status) == 0)
		peak = strstr(status.data, "VmHWM:");
	cs_drain_counts(drain, &counts);
	fprintf(to, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %lu\n", counts.seen_bytes,
		counts.kept_bytes, counts.dropped_bytes,
		peak ? strtoul(peak + sizeof("VmHWM:"), NULL, 10) : 0);
}

int main(int argc, char **argv)
{
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct cs_err err = CS_ERR_INIT;
	struct cs_drain *drain;
	struct cs_sink *sink;
	struct cs_loop *loop;
	FILE *to = stderr;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--cap") == 0 &&
		    cs_parse_size(argv[i + 1], &config.cap_bytes) == 0)
			continue;
		if (strcmp(argv[i], "--report") == 0 && (to = fopen(argv[i + 1], "we")))
			continue;
		fprintf(stderr, "usage: drain_driver [--cap BYTES] [--report FILE]\n");
		return 125;
	}
	signal(SIGPIPE, SIG_IGN);
	loop = cs_loop_new();
	if (!loop || cs_sink_new_fd(STDOUT_FILENO, &sink, &err) < 0 ||
	    cs_drain_new(loop, cs_fd_dup(STDIN_FILENO, 3), sink, &config, on_event, loop, &drain,
			 &err) < 0) {
		fprintf(stderr, "drain_driver: %s\n", err.text);
		return 125;
	}
	close(STDIN_FILENO);
	cs_loop_run(loop);
	report(drain, to);
	fclose(to);
	cs_drain_free(drain);
	cs_loop_free(loop);
	return 0;
}
