/*
 * Functions that nobody here may call: each has a replacement that carries
 * the size of its target or says why it failed.
 *
 *   strcpy strcat sprintf vsprintf gets   -> snprintf, cs_buf
 *   strncpy strncat                       -> snprintf, memcpy
 *   strtok strtol atoi atol atoll         -> cs_parse_*
 *   system popen                          -> cs_spawn
 *   alloca                                -> a fixed array or malloc
 *
 * The system headers that declare them are read first, so that the poison
 * hits calls only.
 */
#ifndef CS_BASE_BANNED_H
#define CS_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* with clang, glibc's _FORTIFY_SOURCE makes macros of these, which may not be poisoned */
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat sprintf vsprintf gets strncpy strncat
#pragma GCC poison strtok atoi atol atoll popen

#endif
