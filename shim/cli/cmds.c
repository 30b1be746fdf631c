#include "shim/cli/cmd.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/parse.h"
#include "shim/task/policy.h"
#include "shim/task/settings.h"

static const struct cs_cmd *const cmds[] = {
	&cs_cmd_run, &cs_cmd_exec, &cs_cmd_ps, &cs_cmd_logs, &cs_cmd_wait, &cs_cmd_stop, &cs_cmd_kill, &cs_cmd_pause,
	&cs_cmd_resume, &cs_cmd_stats, &cs_cmd_rm, &cs_cmd_gc, &cs_cmd_check, &cs_cmd_configure,
	&cs_cmd_bundle, &cs_cmd_help_row, &cs_cmd_version,
};

const struct cs_cmd *cs_cmd_at(size_t i)
{
	return i < CS_ARRAY_LEN(cmds) ? cmds[i] : NULL;
}

const struct cs_cmd *cs_cmd_by_name(const char *name)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(cmds); i++)
		if (strcmp(cmds[i]->name, name) == 0)
			return cmds[i];
	return NULL;
}

int cs_cmd_fail_unknown(const char *name, struct cs_err *err)
{
	size_t best = CS_MIN(strlen(name), (size_t)3); /* of a short name little may differ */
	const char *nearest = NULL;

	for (size_t i = 0; i < CS_ARRAY_LEN(cmds); i++) {
		size_t distance = cs_edit_distance(name, cmds[i]->name, best);

		if (distance < best) {
			best = distance;
			nearest = cmds[i]->name;
		}
	}
	if (name[0] == '-')
		return cs_fail(err, CS_INVALID, 0, "no command before '%.64s': flags stand behind it, as in 'caisson run %.64s ...'",
			       name, name);
	if (nearest)
		return cs_fail(err, CS_INVALID, 0, "unknown command '%.64s': did you mean '%s'?", name, nearest);
	return cs_fail(err, CS_INVALID, 0, "unknown command '%.64s': see 'caisson help'", name);
}

static void overview(struct cs_buf *out)
{
	cs_buf_adds(out, "Usage: caisson COMMAND [FLAGS] [--] [ARGUMENTS]\n\n"
			 "Runs untrusted code through an OCI engine (runc, crun, gVisor's runsc) under bounds\n"
			 "on output, time, processes, memory and disk, says truly how it ended, and leaves\n"
			 "nothing behind.\n\nCommands:\n");
	for (size_t i = 0; i < CS_ARRAY_LEN(cmds); i++)
		cs_buf_addf(out, "  %-10s %s\n", cmds[i]->name, cmds[i]->summary);
	cs_buf_adds(out, "\n'caisson help COMMAND' tells more of one. First steps: 'caisson check', then\n"
			 "'caisson run -- sh -c \"id; exit 7\"'.\n");
}

/* The flags of a command; settings with what they are when nobody says a word. */
static void flags(const struct cs_cmd *cmd, struct cs_buf *out)
{
	struct cs_opt_set sets[CS_CMD_SETS];
	struct cs_settings_tree tree;
	struct cs_err err = CS_ERR_INIT;
	size_t n = cs_cmd_sets(cmd, sets);
	bool known = cs_settings_init(&tree, &err) == 0;

	if (known && cs_policy_apply_builtin("strict", &tree, &err) == 0)
		cs_settings_resolve(&tree);
	for (size_t i = 0; i < n; i++) {
		if (known && sets[i].rows == cs_settings_rows)
			sets[i].target = &tree.values;
		cs_opt_help(&sets[i], out);
	}
	if (known)
		cs_settings_release(&tree);
}

void cs_cmd_help(const struct cs_cmd *cmd, struct cs_buf *out)
{
	if (!cmd) {
		overview(out);
		return;
	}
	cs_buf_addf(out, "Usage: caisson %s%s%s\n\n%c%s.\n\nFlags:\n", cmd->name, cmd->usage[0] ? " " : "", cmd->usage,
		    cmd->summary[0] & ~0x20, cmd->summary + 1);
	flags(cmd, out);
	cs_buf_addf(out, "\nMore: man caisson-%s\n", cmd->name);
}

bool cs_cmd_wants_help(int argc, char *const argv[])
{
	for (int i = 1; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return true;
	return false;
}

int cs_cmd_print(const struct cs_buf *text, struct cs_err *err)
{
	int r = text->failed ? -ENOMEM : cs_fd_write_all(STDOUT_FILENO, text->data ? text->data : "", text->len);

	return r < 0 ? cs_fail(err, CS_IO, -r, "write to stdout") : 0;
}
