/*
 * Read before each file that the analyzer looks at. It sees one file at a
 * time, so it must be told what the house's error functions return: else
 * every "return cs_fail(…)" might be a success to it. err.c itself, where the
 * functions are defined, cannot be read this way.
 */
#ifndef CS_LINT_ANALYZER_H
#define CS_LINT_ANALYZER_H

#include "config.h"
#include "shim/base/err.h"

#define cs_fail(...) (cs_fail(__VA_ARGS__), -1)
#define cs_wrap(...) (cs_wrap(__VA_ARGS__), -1)

#endif
