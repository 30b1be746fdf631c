/*
 * Seccomp profiles as config.json holds them (runtime-spec config-linux.md,
 * "Seccomp"), with every name checked through libseccomp, so that a name that
 * this machine does not know can never break a run.
 *
 * The built-in profile allows what ordinary programs and the engines
 * themselves need. What is known and not allowed fails with EPERM; clone3 and
 * numbers that nobody here knows fail with ENOSYS, so that C libraries fall
 * back to what they used before.
 *
 * How ENOSYS for unknown numbers fits into a config.json: it is the default
 * action (defaultErrnoRet 38), and the known calls that are not allowed are
 * listed with EPERM. So it holds on every engine that reads defaultErrnoRet,
 * whatever it adds itself (runc's own stub for numbers above the highest one
 * listed stays out then), and also for calls whose names the engine's own
 * libseccomp lacks.
 *
 * A profile is a policy of the host's owner, so its file is read as plain
 * configuration: strictly, but without fear of where it points.
 */
#ifndef CS_OCI_SPEC_PROFILE_H
#define CS_OCI_SPEC_PROFILE_H

#include "oci-spec/json.h"

/*
 * The built-in profile for this machine's architectures, `allow` (may be NULL)
 * appended: whole calls, whatever their arguments. *ret is the caller's
 * (cs_json_free), in the form of linux.seccomp. CS_INVALID for a name in
 * `allow` that libseccomp does not know, CS_UNSUPPORTED for an architecture
 * that is not in the table, CS_LIMIT when memory ran out.
 */
int cs_profile_default(const struct cs_strv *allow, struct cs_json **ret, struct cs_err *err);

/*
 * The same for a run that has capabilities ("CAP_…", may be NULL): what the
 * kernel guards by one of these is allowed too, since refusing it twice would
 * make adding the capability useless. mount(2) and namespaces with
 * CAP_SYS_ADMIN, settimeofday(2) with CAP_SYS_TIME, and so on.
 */
int cs_profile_default_for(const struct cs_strv *allow, const struct cs_strv *capabilities,
			   struct cs_json **ret, struct cs_err *err);

/*
 * A profile from a file: either the runtime-spec form, or the form with
 * archMap, includes and excludes that Docker and Podman ship (resolved for
 * this kernel, this architecture and the given capabilities; may be NULL).
 * Names that libseccomp does not know are dropped and named in `ret_unknown`
 * (may be NULL). Keys that are not ours stay. `allow` (may be NULL) takes its
 * names out of every rule and allows them whole. A profile that then lacks a
 * call which engines make after loading it is refused with CS_INVALID, naming
 * it, rather than failing later with a riddle. Reads the file, may block on it.
 * CS_NOT_FOUND, CS_DENIED, CS_IO from reading; CS_INVALID, naming the place,
 * for what is no profile.
 */
int cs_profile_file(const char *path, const struct cs_strv *allow,
		    const struct cs_strv *capabilities, struct cs_json **ret,
		    struct cs_strv *ret_unknown, struct cs_err *err);

/*
 * A profile that lets through no call that either of two refuses: `theirs`,
 * its keys and architectures kept, with rules taken away or replaced by those
 * of `ours`. Where both allow a call under different conditions only the
 * conditions that both name stay, so the result may refuse a little more than both.
 * Done twice it changes nothing more. *ret is the caller's. CS_INVALID, naming
 * the place, for what is no profile of runtime-spec's form; CS_LIMIT.
 */
int cs_profile_both(const struct cs_json *theirs, const struct cs_json *ours, struct cs_json **ret,
		    struct cs_err *err);

/*
 * Takes out rules that refuse what the default refuses too and take nothing
 * from the allowing ones: they only give another errno. In what two profiles
 * have in common they would be in the way: conditions count as undecidable beside
 * them, and for architectures that have a call in socketcall(2) as well
 * libseccomp makes a rule without conditions of each, where two with different
 * actions are an error (seccomp_rule_add(3), EEXIST). Errors as cs_profile_both.
 */
int cs_profile_drop_idle(struct cs_json *profile, struct cs_err *err);

/*
 * Compiles a profile (the form of linux.seccomp) to the program that the kernel
 * runs, struct sock_filter after struct sock_filter (seccomp(2)), for an engine
 * that takes it ready-made: crun does, in base64, as the annotation
 * CS_PROFILE_BPF_ANNOTATION, and skips its own compilation then. That takes 3 to
 * 20 ms of CPU, so it pays only for a caller that keeps the result, keyed by
 * the profile's text and cs_profile_compiler(). Other engines pass the
 * annotation by and read linux.seccomp, so both belong into the config.json.
 *
 * Appends to ret_bpf. CS_UNSUPPORTED, with nothing lost, for what is more than a
 * program: flags, a listener, SCMP_ACT_NOTIFY. CS_INVALID, naming the
 * call, for conditions that libseccomp finds contradictory.
 */
int cs_profile_compile(const struct cs_json *profile, struct cs_buf *ret_bpf, struct cs_err *err);

#define CS_PROFILE_BPF_ANNOTATION "run.oci.seccomp_bpf_data"

/* What else the result depends on: "libseccomp 2.5.4 SCMP_ARCH_X86_64". */
void cs_profile_compiler(char ret[static 64]);

/* 0 when libseccomp knows the name; CS_INVALID with the nearest known one otherwise. */
int cs_profile_check_name(const char *name, struct cs_err *err);

/* Do the words mean something in a profile? "SCMP_ACT_…", "SCMP_ARCH_…", "SCMP_CMP_…". */
bool cs_profile_action_known(const char *action);
bool cs_profile_arch_known(const char *arch);
bool cs_profile_op_known(const char *op);

#endif
