/*
 * Limits as rows: name in records, flag, JSON path in config.json, encodings
 * of "unlimited", and the cgroup files that hold the value in force
 * (runtime-spec 1.0.2 config-linux.md, "Control groups";
 * Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/).
 *
 * A new limit is a new row. What engines make of a limit is a column of
 * shim/engine/engine_table.c, how it is read back is shim/sys/cgroup.
 */
#ifndef CS_OCI_SPEC_RESOURCES_H
#define CS_OCI_SPEC_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "oci-spec/json.h"

enum cs_resource {
	CS_RES_MEMORY,      /* bytes */
	CS_RES_MEMORY_SWAP, /* memory + swap bytes, as the spec counts */
	CS_RES_PIDS,        /* processes and threads */
	CS_RES_CPU,         /* thousandths of a CPU: quota × 1000 / period */
	CS_RES_CPUSET_CPUS, /* no number: compared as a set */
	CS_RESOURCES
};

/* A limit that is not there; also the value of every encoding of "no limit". */
#define CS_UNLIMITED UINT64_MAX

/* cpu.cfs_period_us when nobody says otherwise (Documentation/scheduler/sched-bwc.rst). */
#define CS_CPU_PERIOD_US 100000

struct cs_resource_row {
	const char *name;          /* "memoryBytes": key under "limits" of the result record */
	const char *flag;          /* "--memory" */
	const char *path;          /* "linux.resources.memory.limit" */
	bool zero_unlimited;       /* 0 means no limit in config.json: engines take it for "not set" */
	bool negative_unlimited;   /* -1 (or below) means no limit */
	uint64_t boundless;        /* from here on it is a limit by name alone: more than any kernel can have; 0: none known */
	const char *v1_controller; /* "memory"; v2 calls it the same, "cpu,cpuacct" aside */
	const char *v1_file;       /* "memory.limit_in_bytes" */
	const char *v2_file;       /* "memory.max" */
	const char *unified_key;   /* key below linux.resources.unified that means the same */
};

/* Never NULL; static. */
const struct cs_resource_row *cs_resource_row(enum cs_resource resource);

/*
 * The value that a config.json asks for: *ret is CS_UNLIMITED when it is absent
 * or an encoding of unlimited. A unified key outranks its twin, since engines
 * write it last. The swap of `unified` is counted without memory; it comes out
 * as the spec counts, memory + swap. A quota is rounded down to a thousandth,
 * but never to 0. CS_INVALID, naming the path, for a value of another kind or
 * out of range. CS_RES_CPUSET_CPUS is no number: CS_BUG.
 */
int cs_resource_asked(const struct cs_json *config, enum cs_resource resource, uint64_t *ret,
		      struct cs_err *err);

/* The number that stands at the row's path, unlimited in all its encodings (NULL and null too). Errors as above. */
int cs_resource_number(const struct cs_json *value, const struct cs_resource_row *row, uint64_t *ret,
		       struct cs_err *err);

/* The number in the text of a unified key; CS_UNLIMITED for "max". CS_INVALID, naming the key. Not for cpu.max. */
int cs_resource_unified(const char *text, const char *key, uint64_t *ret, struct cs_err *err);

/* "QUOTA PERIOD" or "QUOTA" of cpu.max, CS_UNLIMITED for max; *ret_period_us is left alone when there is none. */
int cs_resource_unified_cpu(const char *text, uint64_t *ret_quota_us, uint64_t *ret_period_us,
			    struct cs_err *err);

/* The CPUs that a config.json asks for, "0-3,8" (cpuset(7), "List format"); NULL for all. Borrowed from config. */
const char *cs_resource_asked_cpus(const struct cs_json *config);

/* Do two lists name the same CPUs? 1 or 0; -EINVAL when either is no list, -ERANGE past CPU 8191. */
int cs_cpuset_equal(const char *a, const char *b);

/* Appends the CPUs that both lists name, "0-2,4"; nothing when there are none. As above; -ENOMEM. */
int cs_cpuset_both(const char *a, const char *b, struct cs_buf *out);

#endif
