#include <stdio.h>
#include <string.h>

#include "shim/base/buf.h"
#include "shim/oci/argv.h"
#include "tests/unit/unit.h"

/* Words of a line, split at single spaces; "_" stands for an empty one. */
static void parse_line(const char *line, struct cs_oci_call *call, struct cs_err *err)
{
	cs_auto(strv) words = CS_STRV_INIT;
	cs_autofree char *copy = strdup(line);
	char *save = NULL;

	cs_strv_add(&words, "caisson-runtime");
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		cs_strv_add(&words, strcmp(word, "_") == 0 ? "" : word);
	(void)!cs_oci_call_parse((int)words.n, words.v, call, err);
}

static char *written(const struct cs_oci_call *call)
{
	cs_auto(strv) words = CS_STRV_INIT;
	cs_auto(buf) line = CS_BUF_INIT(4096);

	ck_assert_int_eq(cs_oci_add_globals(call, NULL, NULL, &words), 0);
	ck_assert_int_eq(cs_oci_add_verb(call, NULL, NULL, &words), 0);
	for (size_t i = 0; i < words.n; i++)
		cs_buf_addf(&line, "%s%s", i ? " " : "", words.v[i][0] ? words.v[i] : "_");
	return line.data ? cs_buf_take(&line) : strdup("");
}

/* As each caller writes it, and as the engine gets it. */
static const struct {
	const char *in, *out, *id;
	bool odd;
} lines[] = {
	/* go-runc */
	{ "--root /r --log /l --log-format json --systemd-cgroup create --bundle /b --pid-file /p --no-pivot ID",
	  "--root=/r --log=/l --log-format=json --systemd-cgroup create --bundle=/b --pid-file=/p --no-pivot ID", "ID", false },
	{ "--root /r exec --process /f --console-socket /s --detach --pid-file /p ID",
	  "--root=/r exec --process=/f --console-socket=/s --detach --pid-file=/p ID", "ID", false },
	{ "kill --all ID 9", "kill --all ID 9", "ID", false },
	{ "delete --force ID", "delete --force ID", "ID", false },
	{ "ps --format json ID", "ps --format=json ID", "ID", false },
	{ "update --resources=- ID", "update --resources=- ID", "ID", false },
	{ "update --resources - ID", "update --resources=- ID", "ID", false },
	{ "restore --image-path /i --detach --pid-file /f -no-subreaper --bundle /b ID",
	  "restore --image-path=/i --detach --pid-file=/f --no-subreaper --bundle=/b ID", "ID", false },
	{ "checkpoint --image-path /i --empty-ns network --empty-ns ipc ID",
	  "checkpoint --image-path=/i --empty-ns=network --empty-ns=ipc ID", "ID", false },
	{ "events --interval=5s ID", "events --interval=5s ID", "ID", false },
	{ "features", "features", NULL, false },
	{ "list --format=json", "list --format=json", NULL, false },
	/* conmon, podman, CRI-O, conmon-rs */
	{ "--systemd-cgroup --log-format=json --log=/l create --bundle /b --pid-file /p --no-new-keyring --console-socket /s ID",
	  "--systemd-cgroup --log-format=json --log=/l create --bundle=/b --pid-file=/p --no-new-keyring --console-socket=/s ID", "ID", false },
	{ "kill -a ID 15", "kill --all ID 15", "ID", false },
	{ "kill ID KILL", "kill ID KILL", "ID", false },
	{ "--log=journald:ID --root=/r exec -d --tty --pid-file=/p ID sh -c true", "--log=journald:ID --root=/r exec --detach --tty --pid-file=/p ID sh -c true", "ID", false },
	{ "restore --lsm-mount-context", "restore --lsm-mount-context", NULL, true },
	{ "checkpoint --help", "checkpoint --help", NULL, true },
	{ "--version", "--version", NULL, false },
	{ "-v", "--version", NULL, false },
	/* any order, any spelling */
	{ "create ID --bundle /b", "create --bundle=/b ID", "ID", false },
	{ "create -b /b ID", "create --bundle=/b ID", "ID", false },
	{ "create -b=/b ID", "create --bundle=/b ID", "ID", false },
	{ "create -bundle /b ID", "create --bundle=/b ID", "ID", false },
	{ "create -bundle=/b ID", "create --bundle=/b ID", "ID", false },
	{ "create --b /b ID", "create --bundle=/b ID", "ID", false },
	{ "create -b/b ID", "create --bundle=/b ID", "ID", false },
	{ "delete ID -f", "delete --force ID", "ID", false },
	{ "delete --force=true ID", "delete --force ID", "ID", false },
	{ "delete --force=false ID", "delete ID", "ID", false },
	{ "delete --force=perhaps ID", "delete --force=perhaps ID", "ID", true },
	{ "exec -dt -u 1:2 -e A=B -e C=D ID env -i", "exec --detach --tty --user=1:2 --env=A=B --env=C=D ID env -i", "ID", false },
	{ "exec --env _ ID sh", "exec --env= ID sh", "ID", false },
	{ "exec ID sh --process /f", "exec ID sh --process /f", "ID", false },
	{ "exec -- ID sh", "exec ID sh", "ID", false },
	{ "ps ID -ef", "ps ID -ef", "ID", false },
	{ "kill -- ID -9", "kill -- ID -9", "ID", false },
	{ "--debug=true --debug=false state ID", "--debug state ID", "ID", false },
	/* engines differ: a value or none */
	{ "--rootless=true state ID", "--rootless=true state ID", "ID", false },
	{ "--rootless auto state ID", "--rootless=auto state ID", "ID", false },
	{ "--rootless state ID", "--rootless state ID", "ID", false },
	/* not ours to know */
	{ "--platform=kvm -network host create ID", "--platform=kvm -network host create ID", "ID", true },
	{ "--strace create ID", "--strace create ID", "ID", true },
	{ "create --new-thing ID", "create --new-thing ID", "ID", true },
	{ "create --new-thing=1 ID --bundle /b", "create --new-thing=1 --bundle=/b ID", "ID", true },
	{ "create --new-thing 1 --bundle /b ID", "create --new-thing 1 --bundle=/b ID", "ID", true },
	{ "debug --stacks ID", "debug --stacks ID", NULL, false },
	{ "create", "create", NULL, true },
	{ "start A B", "start A B", "A", true },
	{ "update --memory 64m --pids-limit -1 ID", "update --memory=64m --pids-limit=-1 ID", "ID", false },
	/* ours */
	{ "--policy strict --runtime=runsc --config /c -state-dir /s create ID", "create ID", "ID", false },
	{ "create --config other.json ID", "create --config=other.json ID", "ID", false },
};

START_TEST(a_call_in_any_spelling)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(lines); i++) {
		struct cs_oci_call call;
		struct cs_err err = CS_ERR_INIT;
		cs_autofree char *out = NULL;
		const char *id;

		parse_line(lines[i].in, &call, &err);
		ck_assert_msg(!cs_err_is_set(&err), "%s: %s", lines[i].in, err.text);
		out = written(&call);
		id = cs_oci_id(&call);
		ck_assert_msg(strcmp(out, lines[i].out) == 0, "%s → %s, not %s", lines[i].in, out, lines[i].out);
		ck_assert_msg(id ? lines[i].id && strcmp(id, lines[i].id) == 0 : !lines[i].id, "%s: id %s", lines[i].in, id ? id : "none");
		ck_assert_msg(call.odd == lines[i].odd, "%s: odd is %d", lines[i].in, call.odd);
		cs_oci_call_release(&call);
	}
}
END_TEST

START_TEST(what_was_written_reads_the_same)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(lines); i++) {
		struct cs_oci_call call;
		struct cs_err err = CS_ERR_INIT;
		cs_autofree char *again = NULL;

		parse_line(lines[i].out, &call, &err);
		again = written(&call);
		ck_assert_str_eq(again, lines[i].out);
		cs_oci_call_release(&call);
	}
}
END_TEST

START_TEST(every_flag_in_every_spelling)
{
	const struct cs_oci_flag *row;

	for (size_t i = 0; (row = cs_oci_flag_at(i)); i++)
		for (int verb = 0; verb < CS_OCI_OTHER; verb++) {
			if (row->verbs ? !(row->verbs & (1U << verb)) : verb != CS_OCI_STATE)
				continue;
			for (size_t k = 0; row->arity == CS_OCI_VALUE && k < 4; k++) {
				char flag[128], line[512];
				struct cs_oci_call call;
				struct cs_err err = CS_ERR_INIT;
				const char *value, *word = cs_oci_verb_row((enum cs_oci_verb)verb)->word;

				snprintf(flag, sizeof(flag), "%s%s%sv", k % 2 ? "-" : "--", row->name, k < 2 ? " " : "=");
				snprintf(line, sizeof(line), "%s %s ID", row->verbs ? word : flag, row->verbs ? flag : word);
				parse_line(line, &call, &err);
				ck_assert_msg(!cs_err_is_set(&err), "%s: %s", line, err.text);
				value = row->verbs ? cs_oci_flag(&call, row->name) : cs_oci_global(&call, row->name);
				ck_assert_msg(value != NULL, "%s: no value", line);
				if (row->traits & CS_OCI_PATH)
					ck_assert_msg(value[0] == '/' && strcmp(value + strlen(value) - 2, "/v") == 0, "%s: %s", line, value);
				else
					ck_assert_str_eq(value, "v");
				cs_oci_call_release(&call);
			}
		}
}
END_TEST

START_TEST(rows_do_not_collide)
{
	const struct cs_oci_flag *a, *b;

	for (size_t i = 0; (a = cs_oci_flag_at(i)); i++)
		for (size_t k = i + 1; (b = cs_oci_flag_at(k)); k++) {
			bool together = a->verbs ? (a->verbs & b->verbs) != 0 : b->verbs == 0;

			ck_assert_msg(!together || strcmp(a->name, b->name) != 0, "--%s twice", a->name);
			ck_assert_msg(!together || !a->letter || a->letter != b->letter, "-%c twice", a->letter);
		}
}
END_TEST

START_TEST(a_flag_of_ours_without_value)
{
	struct cs_oci_call call;
	struct cs_err err = CS_ERR_INIT;

	parse_line("--log /l --policy", &call, &err);
	ck_assert_str_eq(err.text, "flag needs an argument: --policy");
	ck_assert_str_eq(cs_oci_global(&call, "log"), "/l");
	cs_oci_call_release(&call);
}
END_TEST

START_TEST(a_flag_is_changed)
{
	struct cs_oci_call call;
	struct cs_err err = CS_ERR_INIT;
	cs_autofree char *out = NULL;

	parse_line("create --bundle /a --pid-file /p --bundle=/b ID", &call, &err);
	ck_assert_str_eq(cs_oci_flag(&call, "bundle"), "/b");
	ck_assert_int_eq(cs_oci_set_flag(&call, "bundle", "/c"), 0);
	ck_assert_int_eq(cs_oci_set_flag(&call, "pid-file", NULL), 0);
	out = written(&call);
	ck_assert_str_eq(out, "create --bundle=/c ID");
	cs_oci_call_release(&call);
}
END_TEST

CS_UNIT_SUITE(argv, a_call_in_any_spelling, what_was_written_reads_the_same, every_flag_in_every_spelling, rows_do_not_collide,
	      a_flag_of_ours_without_value, a_flag_is_changed)
