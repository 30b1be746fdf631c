/* What each verb does beside handing over: a table (verbs.c), one file for each that has work. */
#ifndef CS_OCI_VERBS_H
#define CS_OCI_VERBS_H

#include "shim/oci/face.h"

/* Returns 0 with the code to exit with, or -1 with an error that is still to be told. May not return at all. */
typedef int cs_oci_verb_fn(struct cs_oci_face *face, int *ret_code, struct cs_err *err);

cs_oci_verb_fn cs_oci_verb_run;  /* the row of the call */
cs_oci_verb_fn cs_oci_verb_pass; /* hands over, and no more */

#endif
