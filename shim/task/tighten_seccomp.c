/* linux.seccomp: no call passes that the policy's profile refuses. */
#include <errno.h>
#include <string.h>

#include "oci-spec/json_edit.h"
#include "oci-spec/profile.h"
#include "oci-spec/spec_tables.h"
#include "shim/task/tighten_int.h"

#define SECCOMP "linux.seccomp"

/* The policy's capabilities as profiles want them: what they guard is not refused twice. */
static int policy_profile(const struct cs__tighten *t, struct cs_json **ret)
{
	const struct cs_settings *s = t->settings;
	cs_auto(strv) caps = CS_STRV_INIT;

	for (size_t i = 0; i < s->cap_add.n; i++) {
		char name[CS_CAPABILITY_TEXT];

		if (cs_capability_parse(s->cap_add.v[i], name, t->err) < 0)
			return cs_wrap(t->err, "--cap-add");
		if (cs_strv_add(&caps, name) < 0)
			return cs_fail(t->err, CS_LIMIT, ENOMEM, SECCOMP);
	}
	if (strcmp(s->seccomp, "default") == 0)
		return cs_profile_default_for(&s->seccomp_allow, &caps, ret, t->err);
	return cs_profile_file(s->seccomp, &s->seccomp_allow, &caps, ret, NULL, t->err);
}

static bool same_text(const struct cs_json *a, const struct cs_json *b)
{
	cs_auto(buf) of_a = CS_BUF_INIT(CS_JSON_BYTES_MAX), of_b = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	struct cs_err ignored = CS_ERR_INIT;

	if (cs_json_write(a, CS_JSON_COMPACT, &of_a, &ignored) < 0 ||
	    cs_json_write(b, CS_JSON_COMPACT, &of_b, &ignored) < 0)
		return false;
	return of_a.len == of_b.len && memcmp(of_a.data, of_b.data, of_a.len) == 0;
}

int cs__tighten_seccomp(const struct cs__tighten *t)
{
	const struct cs_json *theirs = cs__tighten_get(t, SECCOMP);
	cs_autojson struct cs_json *ours = NULL, *both = NULL;

	if (!(t->confine & (1u << CS_CONFINE_SECCOMP)) || strcmp(t->settings->seccomp, "none") == 0)
		return 0;
	/* a sandbox with a kernel of its own loads no profile */
	if (t->engine && t->engine->enforce_feature[CS_FL_SECCOMP] == CS_ENFORCE_NONE)
		return 0;
	if (policy_profile(t, &ours) < 0 || cs_profile_drop_idle(ours, t->err) < 0)
		return cs_wrap(t->err, "--seccomp %s", t->settings->seccomp);
	if (!theirs) {
		cs__tighten_note(t, SECCOMP ": the policy's");
		return cs_json_set(t->root, SECCOMP, cs_take_ptr(&ours), t->err);
	}
	if (cs_profile_both(theirs, ours, &both, t->err) < 0)
		return cs_wrap(t->err, SECCOMP);
	if (same_text(theirs, both))
		return 0;
	cs__tighten_note(t, SECCOMP ": less what the policy refuses");
	return cs_json_set(t->root, SECCOMP, cs_take_ptr(&both), t->err);
}
