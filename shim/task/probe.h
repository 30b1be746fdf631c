/*
 * Tries an engine with bundles of our own that ask for what must be refused,
 * and looks whether it was. What versions say is no evidence: distributions
 * mend without a new number, and break with one.
 *
 * Nothing of a bundle is ever started: the holes are open, or not, when
 * `create` returns. Each container is on record while it lives.
 *
 *     if (cs_probe_engine(&engine, CS_PROBE_CWD, state_dir, timeout_ns, &found, &err) < 0) …could not be tried
 *
 * For a process that does nothing else: its mount namespace and its orphans are
 * the probe's from then on.
 */
#ifndef CS_TASK_PROBE_H
#define CS_TASK_PROBE_H

#include "shim/base/err.h"
#include "shim/engine/engine.h"

enum cs_probe {
	CS_PROBE_CWD,     /* a working directory that is a host directory which the engine has open (CVE-2024-21626) */
	CS_PROBE_MASKING, /* masking by a /dev/null that the image made a link (CVE-2025-31133) */
	CS_PROBES
};

struct cs_probe_finding {
	bool open;       /* the hole is there */
	char what[200];  /* what was seen, for people */
};

/* Word for the command line: "cwd"; NULL past the end. */
const char *cs_probe_word(enum cs_probe probe);

/*
 * timeout_ns as in cs_engine_timeout_ns. Blocks for up to a second with
 * engines that answer. *ret on success only.
 * CS_UNSUPPORTED for an engine whose containers are no processes of this
 * kernel; CS_ENGINE and others when not even a harmless bundle could be
 * created, which is then no answer about the hole.
 */
int cs_probe_engine(const struct cs_engine *engine, enum cs_probe probe, const char *state_dir, int64_t timeout_ns,
		    struct cs_probe_finding *ret, struct cs_err *err);

#endif
