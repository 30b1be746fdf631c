/*
 * Compiler attributes and the few macros that every file uses.
 *
 * Cleanup attributes release memory and descriptors of this process only;
 * what outlives the process is a step of task/undo. See cleanup in GCC's
 * "Common Variable Attributes".
 */
#ifndef CS_BASE_ATTR_H
#define CS_BASE_ATTR_H

#include <stddef.h>
#include <stdlib.h>

#include "shim/base/banned.h"

#define CS_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define CS_MUST_CHECK __attribute__((warn_unused_result))
#define CS_UNUSED __attribute__((unused))
#define CS_NORETURN __attribute__((noreturn))

/* Number of elements of an array, an error for a pointer. */
#define CS_ARRAY_LEN(a) \
	(sizeof(a) / sizeof((a)[0]) + \
	 0 * sizeof(char[1 - 2 * !!__builtin_types_compatible_p(__typeof__(a), __typeof__(&(a)[0]))]))

#define CS_MIN(a, b) ((a) < (b) ? (a) : (b))
#define CS_MAX(a, b) ((a) > (b) ? (a) : (b))

/* cs_auto(buf) struct cs_buf b = …: calls cs_buf_release at the end of scope. */
#define cs_auto(type) __attribute__((cleanup(cs_##type##_release))) struct cs_##type

#define cs_autofree __attribute__((cleanup(cs_free_ptr)))
#define cs_autofd __attribute__((cleanup(cs_close_fd)))

/* Hands the pointer over: the value of p, and p becomes NULL. */
#define cs_take_ptr(pp) \
	({ \
		__typeof__(pp) cs_pp_ = (pp); \
		__typeof__(*cs_pp_) cs_p_ = *cs_pp_; \
		*cs_pp_ = NULL; \
		cs_p_; \
	})

/* free() of what a pointer variable holds; keeps errno. */
void cs_free_ptr(void *ptr_to_ptr);

/* Closes *fd unless it is negative, sets it to -1; keeps errno. */
void cs_close_fd(int *fd);

/* Hands the descriptor over: returns *fd, and *fd becomes -1. */
static inline int cs_take_fd(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

#endif
