/*
 * Which processes inside a sandbox belong together, learned from the packets
 * of a trace session (trace.h): sentry/clone names parent and child, so a
 * descendant is known for one when its parents have gone and it has become a
 * child of init.
 *
 * A root is a process that nobody inside cloned: init and what `exec` starts.
 * Numbers are those inside. The packets come from a kernel that the guest may
 * have taken over: whatever they say, memory is bounded, and every number is
 * only ever used to signal processes of the same sandbox.
 */
#ifndef CS_ENGINE_TRACE_TREE_H
#define CS_ENGINE_TRACE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/engine/trace.h"

struct cs_trace_tree; /* opaque */

/* NULL without memory. Some 500 KiB, of which pages are touched as numbers come up. */
struct cs_trace_tree *cs_trace_tree_new(void);
void cs_trace_tree_free(struct cs_trace_tree *tree); /* NULL allowed */

/* Takes a packet of the container in; kinds other than clone and exit are passed over. */
void cs_trace_tree_note(struct cs_trace_tree *tree, const struct cs_trace_packet *packet);

/*
 * Living processes that descend from root, itself not among them, ascending:
 * at most max. Returns how many there are.
 */
size_t cs_trace_tree_live(const struct cs_trace_tree *tree, uint32_t root, uint32_t *ret, size_t max);

/* Does the process, not a root, descend from root (1), from another one (0), or is nothing known of it (-ENODATA)? */
int cs_trace_tree_is_of(const struct cs_trace_tree *tree, uint32_t process, uint32_t root);

/* Raw wait status of a root that has ended: 0, or -ENODATA when it lives or ended long ago. */
int cs_trace_tree_status(const struct cs_trace_tree *tree, uint32_t root, int *ret_status);

/* False when a number did not fit: then there may be processes that are not known. */
bool cs_trace_tree_is_whole(const struct cs_trace_tree *tree);

#endif
