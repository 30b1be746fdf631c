/* Values from a source that may only make things tighter. */
#include <string.h>

#include "shim/base/opt.h"

static void *place(const struct cs_opt_set *set, const struct cs_opt *row)
{
	return (char *)set->target + row->offset;
}

/* A scalar as a number that grows with looseness. */
static uint64_t looseness(const struct cs_opt_set *set, const struct cs_opt *row)
{
	const void *value = place(set, row);

	switch (row->type) {
	case CS_OPT_SWITCH:
		return !*(const bool *)value;
	case CS_OPT_CHOICE:
		return (uint64_t)*(const int *)value;
	case CS_OPT_DURATION:
		return (uint64_t)*(const int64_t *)value; /* CS_NEVER is the largest */
	default:
		return *(const uint64_t *)value;
	}
}

int cs_opt_tighten(const struct cs_opt_set *set, const struct cs_opt *row, const char *what,
		   const char *value, enum cs_opt_origin origin, struct cs_err *err)
{
	unsigned char *origin_at = set->origins ? &set->origins[row - set->rows] : NULL;
	unsigned char old_origin = origin_at ? *origin_at : 0;
	uint32_t *layers_at = set->layers ? &set->layers[row - set->rows] : NULL, old_layers = layers_at ? *layers_at : 0;
	union {
		uint64_t number;
		int64_t ns;
		int choice;
		bool on;
	} old = { 0 };
	size_t size = row->type == CS_OPT_SWITCH ? sizeof(bool) :
		      row->type == CS_OPT_CHOICE ? sizeof(int) : sizeof(uint64_t);
	uint64_t before;

	if (row->tighter == CS_TIGHTER_NEVER)
		return cs_fail(err, CS_INVALID, 0, "%s: this is not for others to say", what);
	if (row->tighter == CS_TIGHTER_MORE) {
		if (value[0] == '=')
			return cs_fail(err, CS_INVALID, 0, "%s: '%.64s': a list can only grow here", what, value);
		return cs_opt_put(set, row, what, value, origin, err);
	}
	before = looseness(set, row);
	memcpy(&old, place(set, row), size);
	if (cs_opt_put(set, row, what, value, origin, err) < 0)
		return -1;
	if (looseness(set, row) > before) {
		memcpy(place(set, row), &old, size);
		if (origin_at)
			*origin_at = old_origin;
		if (layers_at)
			*layers_at = old_layers;
	}
	return 0;
}
