#include <signal.h>
#include <string.h>

#include "shim/task/exit.h"
#include "tests/unit/unit.h"

/* Raw statuses as wait(2) makes them: code << 8, or the signal, with 0x80 for a core dump. */
START_TEST(raw_status_has_code_or_signal)
{
	struct cs_exit end = cs_exit_of_status(137 << 8);

	ck_assert_int_eq(end.code, 137);
	ck_assert_int_eq(end.signal, -1);
	end = cs_exit_of_status(SIGKILL);
	ck_assert_int_eq(end.code, -1);
	ck_assert_int_eq(end.signal, SIGKILL);
	end = cs_exit_of_status(SIGSEGV | 0x80);
	ck_assert_int_eq(end.signal, SIGSEGV);
}
END_TEST

START_TEST(outward_codes_are_those_of_the_contract)
{
	static const struct {
		enum cs_reason reason;
		struct cs_exit end;
		enum cs_start_kind kind;
		int cause, code;
	} rows[] = {
		{ CS_REASON_EXITED, { 0, -1 }, 0, 0, 0 },
		{ CS_REASON_EXITED, { 255, -1 }, 0, 0, 255 },
		{ CS_REASON_SIGNALED, { -1, SIGKILL }, 0, 0, 137 },
		{ CS_REASON_SIGNALED, { -1, SIGSEGV }, 0, 0, 139 },
		{ CS_REASON_WALL_LIMIT, { -1, SIGKILL }, 0, 0, 124 },
		{ CS_REASON_IDLE_LIMIT, { -1, SIGKILL }, 0, 0, 124 },
		{ CS_REASON_CPU_LIMIT, { -1, SIGKILL }, 0, 0, 152 },
		{ CS_REASON_OUTPUT_LIMIT, { -1, SIGKILL }, 0, 0, 153 },
		{ CS_REASON_OOM, { -1, SIGKILL }, 0, 0, 137 },
		{ CS_REASON_SECCOMP, { -1, SIGSYS }, 0, 0, 159 },
		{ CS_REASON_SANDBOX_FAILED, { -1, -1 }, 0, 0, 125 },
		{ CS_REASON_UNKNOWN, { -1, -1 }, 0, 0, 125 },
		{ CS_REASON_CANCELLED, { -1, SIGKILL }, 0, SIGTERM, 143 },
		{ CS_REASON_CANCELLED, { -1, SIGKILL }, 0, SIGINT, 130 },
		{ CS_REASON_CANCELLED, { -1, SIGKILL }, 0, 141, 141 },
		{ CS_REASON_CANCELLED, { -1, SIGKILL }, 0, 129, 129 },
		{ CS_REASON_START_FAILED, { -1, -1 }, CS_START_NOT_FOUND, 0, 127 },
		{ CS_REASON_START_FAILED, { -1, -1 }, CS_START_NOT_EXECUTABLE, 0, 126 },
		{ CS_REASON_START_FAILED, { -1, -1 }, CS_START_ENGINE_TIMEOUT, 0, 125 },
		{ CS_REASON_QUEUE_FULL, { -1, -1 }, 0, 0, 75 },
		{ CS_REASON_EXPIRED, { -1, -1 }, 0, 0, 124 },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++)
		ck_assert_int_eq(cs_exit_outward(rows[i].reason, rows[i].end, rows[i].kind, rows[i].cause),
				 rows[i].code);
}
END_TEST

START_TEST(words_are_there_and_differ)
{
	for (int i = 0; i < CS_REASONS; i++)
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(cs_reason_word(i), cs_reason_word(j));
	for (int i = 0; i < CS_START_KINDS; i++)
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(cs_start_kind_word(i), cs_start_kind_word(j));
}
END_TEST

CS_UNIT_SUITE(exit, raw_status_has_code_or_signal, outward_codes_are_those_of_the_contract,
	      words_are_there_and_differ)
