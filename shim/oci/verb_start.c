/* start: the attendant hears of it first, so that not a byte or a moment is missed. */
#include "shim/oci/verbs.h"
#include "shim/task/attendant.h"

int cs_oci_verb_start(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	if (face->kept && cs_attendant_begin(face->foreign.dir_fd, NULL, err) < 0)
		return -1;
	return cs_oci_verb_pass(face, ret_code, err);
}
