/* Between jobspec.c (who, with what, how much) and jobspec_files.c (root and volumes). */
#ifndef CS_TASK_JOBSPEC_INT_H
#define CS_TASK_JOBSPEC_INT_H

#include "oci-spec/spec_new.h"
#include "shim/files/hostroot.h"
#include "shim/task/jobspec.h"

/* What is put together on the way; the plan points into it. */
struct work {
	const struct cs_jobspec_plan *plan;
	const struct cs_settings *s;
	struct cs_jobspec *out;
	struct cs_spec_plan spec;
	struct cs_strv env, caps, annotations, masked;
	struct cs_hostroot hostroot;
	struct cs_spec_mount *volumes; /* owned, n_volumes of them parsed */
	size_t n_volumes;
	struct cs_spec_mount *mounts;  /* host root's, the init's and volumes' together; pointers are borrowed */
	struct cs_json *seccomp;
	char hostname[65];
	char *root;                    /* real path of --rootfs DIR */
	uint64_t writable_bytes;       /* the largest; CS_UNLIMITED: a volume that nothing bounds */
	uint64_t tmpfs_bytes;          /* of --tmpfs, all together */
	enum cs_start_kind kind;
};

/* jobspec_files.c; each sets w->kind for its own failures */
int cs__jobspec_find_root(struct work *w, struct cs_err *err);   /* w->root, of --rootfs DIR */
int cs__jobspec_init(struct work *w, struct cs_err *err);        /* w->out->init, of --init */
int cs__jobspec_volumes(struct work *w, struct cs_err *err);     /* --volume, --tmpfs; what can be written at most */
int cs__jobspec_root(struct work *w, struct cs_err *err);        /* the root itself, and points for the volumes */
int cs__jobspec_join_mounts(struct work *w, struct cs_err *err); /* the root's, the init's and the volumes' mounts, in this order */
int cs__jobspec_spare_root(struct work *w, struct cs_err *err);  /* after the config is made: an overlay, when DIR lacks points */

#endif
