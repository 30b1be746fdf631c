/* caisson-runtime: an OCI runtime's command line that tightens by policy and hands over to an engine. */
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/oci/face.h"
#include "shim/oci/say.h"
#include "shim/oci/verbs.h"

int main(int argc, char *argv[])
{
	const struct cs_log_config log = { .program = "caisson-runtime", .level = CS_LOG_ERROR, .fd = -1 };
	struct cs_oci_face face = CS_OCI_FACE_INIT;
	struct cs_err err = CS_ERR_INIT;
	int code;

	if (cs_fd_fill_stdio() < 0)
		return 1;
	cs_log_setup(&log); /* stderr is the container's, or captured for its words */
	code = cs_oci_verb_row(CS_OCI_OTHER)->fail_code;
	if (cs_oci_call_parse(argc, argv, &face.call, &err) < 0 || cs_oci_face_open(&face, &err) < 0 ||
	    cs_oci_verb_run(&face, &code, &err) < 0) {
		cs_wrap(&err, "caisson");
		cs_oci_say(&face.call, err.text);
		code = cs_oci_verb_row(face.call.verb)->fail_code;
	}
	cs_oci_face_release(&face);
	return code;
}
