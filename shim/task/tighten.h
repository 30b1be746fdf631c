/*
 * A policy laid over what somebody else wrote: the config.json of create and
 * restore, the process.json and flags of exec, the LinuxResources of update.
 *
 * Edits only tighten. What no rule names stays as it is: unknown keys, the
 * order of keys, the digits of numbers. Where a rule meets a value that it
 * cannot read (1e9, "64", 64.0), the call fails and names the place, since an
 * engine might read it; where the policy bounds nothing there, the value is
 * the engine's business. A key that Go's reader would take for one of ours
 * ("Limit", encoding/json matches without regard to case) is refused: engines
 * in Go would obey it, others would not.
 *
 * What a number of the policy does to a container's own depends on the setting
 * `bound`:
 *   always     the smaller of the two counts (policy strict, annotations);
 *   unbounded  only what has no limit gets one, in any encoding of "no limit":
 *              absent, null, 0, -1, 2^64-1, "max" (policy default).
 * Which rights are taken is the list `confine`, a word each:
 *   capabilities  each set: no more than capAdd names
 *   privileges    noNewPrivileges is true; an exec keeps the container's labels
 *   root          root.readonly is true
 *   namespaces    pid, ipc, uts, mount, network and cgroup are there, and none is the host's own
 *   devices       none but those that every engine adds by itself
 *   seccomp       no system call that the policy's profile refuses
 *   masked        maskedPaths united with ours
 *   readonly      readonlyPaths united with ours; mounts of cgroups are read-only, and none that holds the host's is recursive
 *   rlimits       the resource limits of a job of `caisson run`
 *   core          RLIMIT_CORE 1 (0 still runs a piped core helper as root of the host, core(5))
 *
 * Settings that no rule names (files, users, streams of `caisson run`) mean
 * nothing here; the rows of settings_rows.c say which do.
 *
 *     cs_config_load(…, &tree, …);                       policy, file, runtimeArgs
 *     cs_tighten_annotations(&tree, config, err);        the container's own wishes
 *     struct cs_tighten_plan plan = { .tree = &tree, .engine = engine->kind };
 *     if (!cs_tighten_is_none(&tree.values) && cs_tighten_config(&plan, config, &changes, err) < 0) …
 *
 * Where CPUs are bounded there is no real-time scheduling either, which that
 * bound does not hold.
 *
 * Nothing here starts or writes anything. cs_tighten_config looks at namespace
 * files, mounts and our own resource limits, the rest is pure. After a failure the tree is
 * half edited and must not be used.
 */
#ifndef CS_TASK_TIGHTEN_H
#define CS_TASK_TIGHTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "oci-spec/json.h"
#include "shim/engine/engine.h"
#include "shim/task/settings.h"

/* Annotations of a container that are settings: this and the key of a row. */
#define CS_TIGHTEN_ANNOTATION "io.caisson."

struct cs_tighten_plan {
	struct cs_settings_tree *tree;        /* policy, file, flags, annotations; not changed */
	const struct cs_engine_kind *engine;  /* what its limits count; NULL: a plain one, such as runc */
};

/* Does the policy bound nothing at all ("none")? Then there is nothing to edit, and no annotation is looked at. */
bool cs_tighten_is_none(const struct cs_settings *settings);

/*
 * Lays the container's annotations io.caisson.KEY over the tree, then resolves
 * and checks it. Each only tightens: a value that is looser than what the tree
 * has changes nothing. CS_INVALID, naming the annotation and the nearest known
 * one, for a key that no row has, that is not for annotations, or whose value
 * is wrong: a limit that is silently not applied is worse than a container
 * that does not start. Under a policy that bounds nothing all are passed by.
 */
int cs_tighten_annotations(struct cs_settings_tree *tree, const struct cs_json *config,
			   struct cs_err *err);

/*
 * All of a config.json, for create and restore. `ret_changes` (may be NULL)
 * gets a line for each edit, "linux.resources.pids.limit: -1 -> 4096", for the
 * log. Editing twice is editing once. CS_INVALID for what cannot be read or
 * is ambiguous, naming the path; CS_DENIED for what cannot be made tight (CPUs
 * that are none of the policy's); CS_LIMIT without memory.
 */
int cs_tighten_config(const struct cs_tighten_plan *plan, struct cs_json *config,
		      struct cs_strv *ret_changes, struct cs_err *err);

/*
 * A process.json (runtime-spec "process") for exec into the container whose
 * config.json, as it runs, is `config` (may be NULL when nobody kept it). What
 * the process does not say engines take from there, so a list that must be
 * written is the container's, tightened. Errors as above.
 */
int cs_tighten_process(const struct cs_tighten_plan *plan, const struct cs_json *config,
		       struct cs_json *process, struct cs_strv *ret_changes, struct cs_err *err);

/*
 * A LinuxResources object for update of the container whose config.json, as
 * it runs, is `config` (may be NULL). What is absent stays in force and stays
 * absent, unless its meaning hangs on a number that the update changes: a
 * quota is nothing without its period. Errors as above.
 */
int cs_tighten_resources(const struct cs_tighten_plan *plan, const struct cs_json *config,
			 struct cs_json *resources, struct cs_strv *ret_changes, struct cs_err *err);

/*
 * After an update that worked: its values into the config.json that was kept,
 * so that the next update and exec are weighed against what is in force.
 */
int cs_tighten_merge(struct cs_json *config, const struct cs_json *resources, struct cs_err *err);

/*
 * One flag of an engine's `update` ("memory", "64m") → the tree. 1 when it was
 * put, 0 when the flag is none of a resource (it goes on to the engine), -1
 * with CS_INVALID for a wrong value. Flags outrank --resources, so put them
 * last.
 */
int cs_tighten_update_flag(struct cs_json *resources, const char *name, const char *value,
			   struct cs_err *err);

/*
 * What an exec's flags say in place of a process.json; NULL and false where
 * not given.
 */
struct cs_tighten_exec {
	const struct cs_strv *args;       /* the command, at least one */
	const struct cs_strv *env;        /* KEY=VALUE, behind the container's */
	const struct cs_strv *cap;        /* CAP_…, added to each set but the ambient */
	const struct cs_strv *gids;       /* numbers, added to additionalGids */
	const char *cwd;
	const char *user;                 /* UID[:GID] */
	const char *apparmor, *process_label;
	bool terminal;
	bool no_new_privileges_given, no_new_privileges;
};

/* The process.json that the flags mean: the container's process with these changes, as runc makes it. Then cs_tighten_process. */
int cs_tighten_exec_process(const struct cs_json *config, const struct cs_tighten_exec *flags,
			    struct cs_json **ret_process, struct cs_err *err);

/*
 * The tree of an exec: execTimeout and execOutputLimit stand where the
 * container's timeout and output limits stood, if they were given, and CPU
 * time is the container's alone to bound. After cs_tighten_annotations, before
 * the attendant takes its bounds from the tree.
 */
void cs_tighten_exec_settings(struct cs_settings_tree *tree);

#endif
