/* Where engines put a container, from config.json alone. */
#include <stdio.h>
#include <string.h>

#include "shim/base/buf.h"
#include "shim/task/foreign.h"

/* "a-b.slice" lies in "a.slice" (systemd.slice(5)); "-.slice" is the top. */
static void add_slice(struct cs_buf *path, const char *slice, size_t len)
{
	if (strncmp(slice, "-.slice", len) == 0)
		return;
	for (size_t i = 0; i < len; i++)
		if (slice[i] == '-')
			cs_buf_addf(path, "/%.*s.slice", (int)i, slice);
	cs_buf_addf(path, "/%.*s", (int)len, slice);
}

/* "slice:prefix:name" → /slice/prefix-name.scope, as runc and crun do it. */
static char *scope_path(const char *text)
{
	cs_auto(buf) path = CS_BUF_INIT(4096);
	const char *prefix = strchr(text, ':'), *name = prefix ? strchr(prefix + 1, ':') : NULL;
	size_t slice = prefix ? (size_t)(prefix - text) : 0;

	if (!name || strchr(text, '/') || name[1] == '\0')
		return NULL;
	add_slice(&path, slice ? text : "system.slice", slice ? slice : strlen("system.slice"));
	if (name - prefix > 1)
		cs_buf_addf(&path, "/%.*s-%s.scope", (int)(name - prefix - 1), prefix + 1, name + 1);
	else
		cs_buf_addf(&path, "/%s.scope", name + 1);
	return path.failed ? NULL : cs_buf_take(&path);
}

char *cs_foreign_cgroup_of(const struct cs_json *config, bool systemd)
{
	const char *path = cs_json_string(cs_json_get(config, "linux.cgroupsPath"));

	if (!path || path[0] == '\0')
		return NULL;
	if (systemd)
		return scope_path(path);
	/* a relative one counts from somewhere else in each engine */
	return path[0] == '/' && path[1] ? strdup(path) : NULL;
}
