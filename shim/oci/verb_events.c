#include "shim/oci/verbs.h"

int cs_oci_verb_events(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	return cs_oci_verb_pass(face, ret_code, err);
}
