/*
 * The built-in policies: sets of values to begin with. A policy of the
 * configuration file builds on one of them (caisson.json(5)).
 */
#ifndef CS_TASK_POLICY_H
#define CS_TASK_POLICY_H

#include "shim/base/err.h"
#include "shim/task/settings.h"

/* Puts the values of a built-in policy with CS_ORIGIN_POLICY. CS_NOT_FOUND when there is none of that name. */
int cs_policy_apply_builtin(const char *name, struct cs_settings_tree *tree, struct cs_err *err);

/* Name of the i-th built-in policy; NULL past the end. */
const char *cs_policy_builtin_at(size_t i);
bool cs_policy_is_builtin(const char *name);

#endif
