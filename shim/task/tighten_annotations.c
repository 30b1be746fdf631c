/*
 * Annotations: the container's own wishes (io.caisson.…), and those by which
 * engines do things that config.json itself does not ask for.
 */
#include <stdio.h>
#include <string.h>

#include "oci-spec/json_edit.h"
#include "oci-spec/profile.h"
#include "shim/task/tighten_int.h"

/* --- ours --------------------------------------------------------------------------------- */

static int fail_unknown(const struct cs_opt_set *set, const char *name, const char *key, struct cs_err *err)
{
	const char *nearest = cs_opt_nearest(set, key, true);

	if (nearest)
		return cs_fail(err, CS_INVALID, 0, "unknown annotation '%.80s': did you mean '" CS_TIGHTEN_ANNOTATION "%s'?",
			       name, nearest);
	return cs_fail(err, CS_INVALID, 0, "unknown annotation '%.80s'", name);
}

static int put_annotation(const struct cs_opt_set *set, const char *name, const struct cs_json *value,
			  struct cs_err *err)
{
	const char *key = name + strlen(CS_TIGHTEN_ANNOTATION), *text = cs_json_string(value);
	const struct cs_opt *row = cs_opt_by_key(set, key);
	char what[128];

	snprintf(what, sizeof(what), "annotation '%.80s'", name);
	if (!row)
		return fail_unknown(set, name, key, err);
	if (row->tighter == CS_TIGHTER_NEVER)
		return cs_fail(err, CS_INVALID, 0, "%s: only the host's configuration sets this", what);
	if (!text)
		return cs_fail(err, CS_INVALID, 0, "%s: a string is wanted", what);
	return cs_opt_tighten(set, row, what, text, CS_ORIGIN_ANNOTATION, err);
}

/* A cap for both streams is one for each, whatever the policy says of one of them. */
static void spread_output_limit(struct cs_settings_tree *tree)
{
	const struct cs_opt_set set = cs_settings_set(tree);
	struct cs_settings *v = &tree->values;

	if (cs_opt_origin_of(&set, cs_opt_by_name(&set, "output-limit")) != CS_ORIGIN_ANNOTATION)
		return;
	v->stdout_limit_bytes = CS_MIN(v->stdout_limit_bytes, v->output_limit_bytes);
	v->stderr_limit_bytes = CS_MIN(v->stderr_limit_bytes, v->output_limit_bytes);
}

int cs_tighten_annotations(struct cs_settings_tree *tree, const struct cs_json *config, struct cs_err *err)
{
	const struct cs_opt_set set = cs_settings_set(tree);
	const struct cs_json *annotations = cs_json_member(config, "annotations"), *value;
	const char *name;

	if (cs_tighten_is_none(&tree->values))
		return 0;
	cs_json_each_member(name, value, annotations)
		if (strncmp(name, CS_TIGHTEN_ANNOTATION, strlen(CS_TIGHTEN_ANNOTATION)) == 0 &&
		    put_annotation(&set, name, value, err) < 0)
			return -1;
	cs_settings_resolve(tree);
	spread_output_limit(tree);
	return cs_settings_check(tree, err);
}

/* --- those of engines ----------------------------------------------------------------------- */

#define SYSTEMD "org.systemd.property."

/*
 * Properties that runc and crun hand to systemd beside those that they make
 * from linux.resources, so that the last word may be the annotation's. A
 * name in …Sec is one in …USec to them.
 */
static const struct {
	const char *property;
	enum cs_resource of; /* CS_RESOURCES: of devices */
} properties[] = {
	{ "MemoryMax", CS_RES_MEMORY },
	{ "MemoryLimit", CS_RES_MEMORY },
	{ "MemorySwapMax", CS_RES_MEMORY },
	{ "TasksMax", CS_RES_PIDS },
	{ "CPUQuotaPerSecUSec", CS_RES_CPU },
	{ "CPUQuotaPerSecSec", CS_RES_CPU },
	{ "CPUQuotaPeriodUSec", CS_RES_CPU },
	{ "CPUQuotaPeriodSec", CS_RES_CPU },
	{ "AllowedCPUs", CS_RES_CPUSET_CPUS },
	{ "DeviceAllow", CS_RESOURCES },
	{ "DevicePolicy", CS_RESOURCES },
};

/* Those that no bound of ours knows anything of (systemd.unit(5), systemd.kill(5), systemd.scope(5)). */
static const char *const harmless[] = {
	"Description", "Documentation", "CollectMode",
	"After", "Before", "Requires", "Wants", "BindsTo", "PartOf", "Conflicts",
	"TimeoutStopSec", "TimeoutStopUSec",
	"KillMode", "KillSignal", "FinalKillSignal", "SendSIGKILL", "SendSIGHUP",
	"CPUWeight", "CPUShares", "IOWeight", "BlockIOWeight",
};

static bool is_bounded(const struct cs__tighten *t, enum cs_resource resource)
{
	switch (resource) {
	case CS_RES_MEMORY:
	case CS_RES_MEMORY_SWAP:
		return t->settings->memory_bytes != CS_UNLIMITED;
	case CS_RES_PIDS:
		return t->settings->pids != CS_UNLIMITED;
	case CS_RES_CPU:
		return t->settings->millicpus != CS_UNLIMITED;
	case CS_RES_CPUSET_CPUS:
		return t->settings->cpuset_cpus != NULL;
	default:
		return t->confine & (1u << CS_CONFINE_DEVICES);
	}
}

static bool is_any_bounded(const struct cs__tighten *t)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(properties); i++)
		if (is_bounded(t, properties[i].of))
			return true;
	return false;
}

/* systemd has more setters for a limit than one (MemoryMaxScale, StartupMemoryMax), and gets new ones: what is not known is refused. */
static bool may_loosen(const struct cs__tighten *t, const char *property)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(properties); i++)
		if (strcmp(property, properties[i].property) == 0)
			return is_bounded(t, properties[i].of);
	for (size_t i = 0; i < CS_ARRAY_LEN(harmless); i++)
		if (strcmp(property, harmless[i]) == 0)
			return false;
	return is_any_bounded(t);
}

static int check_property(const struct cs__tighten *t, const char *name)
{
	if (strncmp(name, SYSTEMD, strlen(SYSTEMD)) != 0 || !may_loosen(t, name + strlen(SYSTEMD)))
		return 0;
	return cs_fail(t->err, CS_DENIED, 0, "annotation '%s': systemd could take its value over what the policy bounds", name);
}

int cs__tighten_notes_of_others(const struct cs__tighten *t)
{
	struct cs_json *annotations = cs__tighten_get(t, "annotations"), *value;
	const char *name;
	size_t at;

	if (cs__tighten_want(t, annotations, "annotations", CS_JSON_OBJECT) < 0)
		return -1;
	cs_json_each_member(name, value, annotations)
		if (check_property(t, name) < 0)
			return -1;
	/* a ready-made filter that an engine would load in place of linux.seccomp */
	at = cs_json_find(annotations, CS_PROFILE_BPF_ANNOTATION);
	if (!(t->confine & (1u << CS_CONFINE_SECCOMP)) || at >= cs_json_count(annotations))
		return 0;
	cs__tighten_note(t, "annotations: without %s", CS_PROFILE_BPF_ANNOTATION);
	cs_json_free(cs_json_take_at(annotations, at));
	return 0;
}
