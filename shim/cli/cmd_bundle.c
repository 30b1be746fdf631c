/* caisson bundle: write the bundle that a run would have used, or check anybody's. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "oci-spec/bundle.h"
#include "oci-spec/spec_check.h"
#include "shim/base/log.h"
#include "shim/cli/cmd.h"
#include "shim/task/config.h"
#include "shim/task/job.h"
#include "shim/task/jobspec.h"
#include "shim/task/record.h"

struct bundle {
	char *output;
	char *check;
};

static const struct cs_opt rows[] = {
	{ "output", 'o', CS_OPT_TEXT, offsetof(struct bundle, output), .arg = "DIR",
	  .help = "directory to make: config.json and rootfs" },
	{ "check", 0, CS_OPT_TEXT, offsetof(struct bundle, check), .arg = "DIR",
	  .help = "check the bundle in DIR instead: every failure is a line, exit 1 when there is one" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

/* --- writing ---------------------------------------------------------------------- */

struct making {
	struct cs_jobspec_plan plan;
	struct cs_jobspec spec;
};

static int fill(int rootfs_fd, void *arg, const struct cs_json **config, struct cs_err *err)
{
	struct making *making = arg;
	enum cs_start_kind kind;
	char rootfs[64];

	snprintf(rootfs, sizeof(rootfs), "/proc/self/fd/%d", rootfs_fd);
	making->plan.rootfs_dir = rootfs;
	if (cs_jobspec_make(&making->plan, &making->spec, &kind, err) < 0)
		return -1;
	if (making->spec.missing_point)
		return cs_fail(err, CS_INVALID, 0, "--rootfs lacks the directory '%s', which an engine would make in it: make it first",
			       making->spec.missing_point);
	*config = making->spec.config;
	return cs_jobspec_put_init(&making->spec, err);
}

static int write_bundle(const char *output, const struct cs_settings *s, const struct cs_config *config,
			const struct cs_strv *args, struct cs_err *err)
{
	struct cs_cgroup_host host;
	struct cs_engine engine = { 0 };
	const char *forbidden[] = { s->state_dir, s->cache_dir, NULL };
	const char *id = s->id ? s->id : "bundle";
	char cgroups_path[CS_ID_MAX + 64];
	struct making making = {
		.plan = { .settings = s, .engine = &engine, .host = &host, .args = args, .id = id,
			  .cgroups_path = cgroups_path, .root_path = "rootfs", .cache_fd = -1, .forbidden = forbidden },
	};
	int r;

	if (s->writable_root_bytes)
		return cs_fail(err, CS_UNSUPPORTED, 0, "--writable-root is an overlay that caisson run mounts: a bundle cannot hold it");
	snprintf(cgroups_path, sizeof(cgroups_path), CS_CGROUP_PARENT "/%s", id);
	if (cs_cgroup_host_read(&host, err) < 0 || cs_job_find_engine(s, config, &engine, err) < 0)
		return -1;
	r = cs_bundle_create(output, NULL, fill, &making, err);
	for (size_t i = 0; r == 0 && i < making.spec.warnings.n; i++)
		cs_log_warn("%s", making.spec.warnings.v[i]);
	cs_jobspec_release(&making.spec);
	cs_engine_release(&engine);
	return r;
}

static int write_from_flags(struct cs_cmd_call *call, struct cs_err *err)
{
	const struct bundle *own = call->own;
	cs_auto(strv) args = CS_STRV_INIT;

	if (!own->output)
		return cs_fail(err, CS_INVALID, 0, "nothing to do: give --output DIR or --check DIR");
	if (call->argc == 0)
		return cs_cmd_fail_missing(call->cmd, err);
	if (cs_strv_add_all(&args, (const char *const *)call->argv) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "command");
	return write_bundle(own->output, &call->tree->values, call->config, &args, err);
}

/* --- checking ------------------------------------------------------------------------ */

static int check_bundle(const char *dir, int *ret_code, struct cs_err *err)
{
	cs_auto(strv) failures = CS_STRV_INIT;
	cs_auto(buf) text = CS_BUF_INIT(1 << 20);
	int n = cs_spec_check_bundle(dir, &failures, err);

	if (n < 0)
		return -1;
	for (size_t i = 0; i < failures.n; i++)
		cs_buf_addf(&text, "%s\n", failures.v[i]);
	*ret_code = n > 0;
	return cs_cmd_print(&text, err);
}

/* --- the walk ---------------------------------------------------------------------------- */

static int make_or_check(struct cs_cmd_call *call, struct cs_err *err)
{
	const struct bundle *own = call->own;

	if (!own->check)
		return write_from_flags(call, err);
	if (own->output || call->argc > 0)
		return cs_fail(err, CS_INVALID, 0, "--check DIR stands alone: it makes nothing and runs nothing");
	return check_bundle(own->check, &call->code, err);
}

const struct cs_cmd cs_cmd_bundle = {
	.name = "bundle",
	.summary = "write the bundle that a run would use, or check one",
	.usage = "-o DIR [FLAGS] [--] COMMAND [ARGUMENTS], or --check DIR",
	.rows = rows,
	.n_rows = &n_rows,
	.settings = CS_FOR_RUN,
	.own_size = sizeof(struct bundle),
	.operands_max = CS_CMD_ANY,
	.operand = "command",
	.act = make_or_check,
};
