/*
 * How an OCI runtime tells its caller that something went wrong: a line in the
 * file of --log (which go-runc and podman read), and the same words on stderr, in one write
 * (conmon reads once). In the file: one JSON object, of which containerd takes
 * the last with level "error"; podman wants no second one in it.
 */
#ifndef CS_OCI_SAY_H
#define CS_OCI_SAY_H

#include <sys/types.h>

#include "shim/oci/argv.h"

/* Both. The message goes out as it is. */
void cs_oci_say(const struct cs_oci_call *call, const char *message);

/* On stderr alone, in one write, what somebody else has said. */
void cs_oci_say_words(const char *words, size_t len);

/* Where the log of this call ends now; 0 without one. To tell later whether the engine added to it. */
off_t cs_oci_log_end(const struct cs_oci_call *call);

/*
 * An engine said no and may have left nothing in the log: when it holds no
 * error behind `from`, the message is added there. False when there is one already.
 */
bool cs_oci_log_complete(const struct cs_oci_call *call, off_t from, const char *message);

#endif
