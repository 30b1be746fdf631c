/* caisson check: what is looked at of each engine, by trying it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/cli/check.h"
#include "shim/task/probe.h"

static void look_at_trial(const struct cs_check *check, const struct cs_check_engine *engine, struct cs_finding *ret)
{
	cs_try_run(check, engine->name, ret);
}

static void look_at_cwd(const struct cs_check *check, const struct cs_check_engine *engine, struct cs_finding *ret)
{
	cs_try_apart(check, CS_TRY_CWD, engine->name, ret);
}

static void look_at_masking(const struct cs_check *check, const struct cs_check_engine *engine, struct cs_finding *ret)
{
	cs_try_apart(check, CS_TRY_MASKING, engine->name, ret);
}

static void look_at_rro(const struct cs_check *check CS_UNUSED, const struct cs_check_engine *engine, struct cs_finding *ret)
{
	if (engine->engine.features.rro)
		cs_find(ret, CS_GOOD, "a volume is read-only with all that is mounted below it");
	else
		cs_find(ret, CS_WEAK, "not known to it: what is mounted below a volume's source is not shown");
}

/* crun's krun handler takes its configuration from the image (CVE-2025-24965, before 1.20): it is there when the link is. */
static void look_at_krun(const struct cs_check *check CS_UNUSED, const struct cs_check_engine *engine, struct cs_finding *ret)
{
	char path[4200];
	const char *slash = strrchr(engine->engine.path, '/');
	unsigned major, minor;

	snprintf(path, sizeof(path), "%.*s/krun", (int)(slash - engine->engine.path), engine->engine.path);
	ret->skip = strcmp(engine->engine.kind->name, "crun") != 0 || access(path, F_OK) < 0;
	if (ret->skip)
		return;
	if (sscanf(engine->engine.version, "%u.%u", &major, &minor) == 2 && (major > 1 || minor >= 20))
		cs_find(ret, CS_GOOD, "%s, of a version that is mended", path);
	else
		cs_find(ret, CS_WEAK, "%s is there, and crun %s may follow links of the image on the host", path,
			engine->engine.version);
}

const struct cs_check_engine_row cs_check_engine_rows[] = {
	{ "trial run", look_at_trial, "see 'caisson run --verbose -- true'" },
	{ "cwd escape", look_at_cwd,
	  "replace this version (CVE-2024-21626, runc before 1.1.12); caisson run refuses such a directory itself" },
	{ "masking by link", look_at_masking,
	  "replace this version (CVE-2025-31133, runc before 1.2.8); caisson run gives every run a /dev of its own" },
	{ "krun handler", look_at_krun, "remove the krun link, or replace this version (CVE-2025-24965)" },
	{ "recursive ro", look_at_rro, "runc from 1.1 and crun from 1.9 on say that they know it" },
};
const size_t cs_check_engine_n = CS_ARRAY_LEN(cs_check_engine_rows);
