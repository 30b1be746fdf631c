#include "shim/oci/verbs.h"

#include "shim/base/attr.h"

int cs_oci_verb_pass(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	/* an engine that chokes on its arguments may say so on stderr only */
	if (face->call.odd && cs_oci_global(&face->call, "log"))
		return cs_oci_face_run(face, ret_code, err);
	return cs_oci_face_exec(face, err);
}

int cs_oci_verb_run(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	return cs_oci_verb_pass(face, ret_code, err);
}
