/*
 * Limits as rows: name in records, JSON path in config.json, unit, encodings
 * of "unlimited", and the cgroup files that hold the value in force.
 */
#ifndef CS_OCI_SPEC_RESOURCES_H
#define CS_OCI_SPEC_RESOURCES_H

#include "oci-spec/json.h"

enum cs_resource {
	CS_RES_MEMORY,      /* bytes */
	CS_RES_MEMORY_SWAP, /* memory + swap bytes, as the spec counts */
	CS_RES_PIDS,        /* processes and threads */
	CS_RES_CPU,         /* thousandths of a CPU: quota × 1000 / period */
	CS_RES_CPUSET_CPUS, /* no number: compared as a set */
	CS_RESOURCES
};

struct cs_resource_row {
	const char *name;       /* "memoryBytes": key under "limits" of the result record */
	const char *flag;       /* "--memory" */
	const char *path;       /* "linux.resources.memory.limit" */
	bool zero_unlimited;    /* 0 means no limit in config.json */
	bool negative_unlimited;/* -1 (or below) means no limit */
	const char *v1_controller; /* "memory" */
	const char *v1_file;    /* "memory.limit_in_bytes" */
	const char *v2_file;    /* "memory.max" */
	const char *unified_key;/* key below linux.resources.unified that means the same */
};

const struct cs_resource_row *cs_resource_row(enum cs_resource resource);

/* Value a config.json asks for; CS_UNLIMITED (see spec_new.h) when absent or an encoding of unlimited. */
int cs_resource_asked(const struct cs_json *config, enum cs_resource resource, uint64_t *ret,
		      struct cs_err *err);

#endif
