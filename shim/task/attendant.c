/* The verb's side. */
#include "shim/task/attendant_int.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/sys/spawn.h"

/* What it needs is milliseconds; a machine that is on its knees needs longer. */
#define ANSWER_NS (5 * CS_NSEC_PER_SEC)

/* A flush in between, and a sink that is slow. */
#define DISMISS_NS (5 * CS_NSEC_PER_SEC)

/* What `caisson run` waits for a slow reader is too long for a daemon that waits for us in turn. */
#define FLUSH_NS (2 * CS_NSEC_PER_SEC)

int cs_attendant_fork(struct cs_attendant *ret, struct cs_err *err)
{
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return cs_fail(err, CS_IO, errno, "attendant: socket pair");
	*ret = CS_ATTENDANT_INIT;
	r = cs_spawn_fork(&ret->process);
	if (r == 0)
		cs__attendant_main(pair[1]);
	cs_close_fd(&pair[1]);
	if (r < 0) {
		cs_close_fd(&pair[0]);
		return cs_fail(err, r == -EAGAIN || r == -ENOMEM ? CS_LIMIT : CS_IO, -r, "attendant: fork");
	}
	ret->socket = pair[0];
	return 0;
}

void cs_attendant_bounds_of(struct cs_settings_tree *tree, struct cs_attendant_bounds *ret)
{
	const struct cs_settings *s = &tree->values;

	*ret = (struct cs_attendant_bounds){
		.timeout_ns = s->timeout_ns,
		.cpu_time_ns = s->cpu_time_ns,
		.idle_timeout_ns = s->idle_timeout_ns,
		.millicpus = s->millicpus,
		.stdout_limit_bytes = s->stdout_limit_bytes,
		.stderr_limit_bytes = s->stderr_limit_bytes,
		.kill_at_output_limit = s->on_output_limit == CS_AT_OUTPUT_KILL,
		.rate_per_s = s->output_rate_bytes,
		.burst = s->output_burst_bytes ? s->output_burst_bytes : s->output_rate_bytes,
		.cost_json_file = s->output_cost == CS_COST_JSON_FILE,
		.drain_timeout_ns = s->drain_timeout_ns,
		.flush_timeout_ns = cs_settings_given(tree, "flush-timeout") ? s->flush_timeout_ns : FLUSH_NS,
		.at_death = (enum cs_on_attendant_death)s->on_attendant_death,
	};
}

/* Closes the socket and lets go of the process, which is reaped by whoever inherits it when we end. */
static void let_go(struct cs_attendant *attendant)
{
	int status;

	cs_close_fd(&attendant->socket);
	cs_pidref_reap(&attendant->process, &status);
	cs_pidref_release(&attendant->process);
}

static void kill_off(struct cs_attendant *attendant)
{
	cs_pidref_kill(&attendant->process, SIGKILL);
	cs_pidref_wait_dead(&attendant->process, CS_NEVER);
	let_go(attendant);
}

/* Sends, waits for the answer. The packet is the caller's. NULL with err. */
static struct cs__attendant_packet *ask(struct cs_attendant *attendant, const struct cs__attendant_head *head,
					const struct cs_buf *data, const int *fds, size_t n_fds, int64_t timeout_ns,
					struct cs_err *err)
{
	struct cs__attendant_packet *answer = cs__attendant_packet_new();
	int r;

	if (!answer) {
		cs_fail(err, CS_LIMIT, ENOMEM, "attendant");
		return NULL;
	}
	r = cs__attendant_send(attendant->socket, head, data ? data->data : NULL, data ? data->len : 0, fds, n_fds);
	if (r == 0)
		r = cs__attendant_receive(attendant->socket, answer, cs_clock_deadline_ns(timeout_ns));
	if (r == -EPIPE)
		cs_fail(err, CS_IO, 0, "the attendant has gone");
	else if (r == -ETIMEDOUT)
		cs_fail(err, CS_TIMEOUT, 0, "the attendant does not answer");
	else if (r < 0 || answer->head.word != CS__ATTENDANT_ANSWER)
		cs_fail(err, CS_IO, r < 0 ? -r : 0, "talk to the attendant");
	else if (answer->head.u.answer.kind != CS_OK)
		cs_fail(err, answer->head.u.answer.kind, 0, "attendant: %s", answer->data);
	else
		return answer;
	cs__attendant_packet_free(answer);
	return NULL;
}

static void add_words(struct cs_buf *words, const struct cs__attendant_packet *answer)
{
	if (words)
		cs_buf_add(words, answer->data, CS_MIN(answer->len, words->max - words->len));
}

static int pack(const struct cs_attendant_plan *plan, struct cs_buf *out)
{
	const char *texts[CS__ATTENDANT_TEXTS] = {
		[CS__ATTENDANT_ID] = plan->id,
		[CS__ATTENDANT_ENGINE_ROOT] = plan->engine_root,
		[CS__ATTENDANT_ENGINE_NAME] = plan->engine_name,
		[CS__ATTENDANT_ENGINE_VERSION] = plan->engine_version,
		[CS__ATTENDANT_STATE_DIR] = plan->state_dir,
		[CS__ATTENDANT_DIR_PATH] = plan->dir_path,
		[CS__ATTENDANT_CGROUP] = plan->cgroup_path,
		[CS__ATTENDANT_CONSOLE] = plan->console_socket,
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(texts); i++)
		cs_buf_add(out, texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) + 1 : 1);
	return out->failed ? -1 : 0;
}

int cs_attendant_setup(struct cs_attendant *attendant, const struct cs_attendant_plan *plan,
		       struct cs_attendant_stdio *ret, struct cs_err *err)
{
	struct cs__attendant_head head;
	cs_auto(buf) texts = CS_BUF_INIT(CS__ATTENDANT_PACKET_MAX);
	const int fds[] = { plan->dir_fd, plan->stdout_fd, plan->stderr_fd };
	struct cs__attendant_packet *answer;

	memset(&head, 0, sizeof(head));
	head.word = CS__ATTENDANT_SETUP;
	head.u.setup.bounds = plan->bounds;
	head.u.setup.is_exec = plan->is_exec;
	head.u.setup.terminal = plan->terminal;
	head.u.setup.hold_end = plan->hold_end;
	head.u.setup.uid = plan->uid;
	head.u.setup.gid = plan->gid;
	if (pack(plan, &texts) < 0)
		return cs_fail(err, CS_LIMIT, 0, "attendant: the names of the container are too long");
	answer = ask(attendant, &head, &texts, fds, CS_ARRAY_LEN(fds), ANSWER_NS, err);
	if (!answer)
		return -1;
	*ret = (struct cs_attendant_stdio){ .out_fd = cs_take_fd(&answer->fds[0]), .err_fd = cs_take_fd(&answer->fds[1]) };
	if (answer->len < sizeof(ret->console))
		memcpy(ret->console, answer->data, answer->len); /* the rest is NUL */
	cs__attendant_packet_free(answer);
	return 0;
}

int cs_attendant_arm(struct cs_attendant *attendant, const struct cs_pidref *process, const char *cgroup_path,
		     struct cs_buf *words, struct cs_err *err)
{
	struct cs__attendant_head head;
	cs_auto(buf) path = CS_BUF_INIT(CS__ATTENDANT_PACKET_MAX);
	struct cs__attendant_packet *answer;

	memset(&head, 0, sizeof(head));
	head.word = CS__ATTENDANT_ARM;
	head.u.arm.pid = process->pid;
	cs_buf_adds(&path, cgroup_path ? cgroup_path : "");
	answer = ask(attendant, &head, &path, &process->fd, 1, 2 * ANSWER_NS, err);
	if (!answer) {
		kill_off(attendant);
		return -1;
	}
	add_words(words, answer);
	cs__attendant_packet_free(answer);
	let_go(attendant);
	return 0;
}

void cs_attendant_dismiss(struct cs_attendant *attendant, struct cs_buf *words)
{
	struct cs__attendant_head head;
	struct cs__attendant_packet *answer;
	struct cs_err err = CS_ERR_INIT;

	if (attendant->socket < 0)
		return;
	memset(&head, 0, sizeof(head));
	head.word = CS__ATTENDANT_DISMISS;
	answer = ask(attendant, &head, NULL, NULL, 0, DISMISS_NS, &err);
	if (answer)
		add_words(words, answer);
	cs__attendant_packet_free(answer);
	kill_off(attendant);
}

int cs_attendant_begin(int dir_fd, struct cs_buf *words, struct cs_err *err)
{
	struct cs_ctl_client client = CS_CTL_CLIENT_INIT;
	cs_autojson struct cs_json *reply = NULL;
	const char *said;
	int r = cs_ctl_connect_in(dir_fd, ANSWER_NS, &client);

	if (r == -ENOENT || r == -ECONNREFUSED)
		return cs_fail(err, CS_NOT_FOUND, 0, "its attendant is gone: nothing would bound it");
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "talk to the attendant");
	r = cs_ctl_call(&client, cs_ctl_request("begin"), cs_clock_deadline_ns(ANSWER_NS), &reply, err);
	cs_ctl_client_release(&client);
	if (r < 0)
		return cs_wrap(err, "attendant");
	said = cs_json_string(cs_json_get(reply, "words"));
	if (words && said)
		cs_buf_add(words, said, CS_MIN(strlen(said), words->max - words->len));
	return 0;
}

int cs_attendant_await(int dir_fd, int64_t deadline_ns)
{
	struct cs_ctl_client client = CS_CTL_CLIENT_INIT;
	int r = cs_ctl_connect_in(dir_fd, CS_MAX(cs_clock_left_ns(deadline_ns), 1), &client);

	if (r == -ENOENT || r == -ECONNREFUSED)
		return 0;
	if (r < 0)
		return r == -EAGAIN ? -ETIMEDOUT : r;
	r = cs_ctl_wait_closed(&client, deadline_ns);
	cs_ctl_client_release(&client);
	return r;
}
