/* caisson: the job runner. Picks a row, calls it, reports once. */
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/cli/cmd.h"

/* What cannot be run because of how it was called: the code that docker run and env(1) use. */
#define CANNOT_RUN 125

int main(int argc, char *argv[])
{
	struct cs_err err = CS_ERR_INIT;
	const struct cs_cmd *cmd;
	int code = 0;

	if (cs_fd_fill_stdio() < 0)
		return CANNOT_RUN;
	cs_cmd_log_level(CS_LOG_WARN);
	if (argc < 2 || cs_cmd_wants_help(argc, argv))
		cmd = &cs_cmd_help_row;
	else if (strcmp(argv[1], "--version") == 0)
		cmd = &cs_cmd_version;
	else
		cmd = cs_cmd_by_name(argv[1]);
	if ((cmd ? cs_cmd_dispatch(cmd, argc < 2 || argv[1][0] == '-' ? 1 : argc - 1, argc < 2 ? argv : argv + 1, &code, &err)
		 : cs_cmd_fail_unknown(argv[1], &err)) < 0) {
		cs_log_error("%s", err.text);
		return cs_err_row(err.kind)->exit_code;
	}
	return code;
}
