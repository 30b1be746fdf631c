/* What a policy does to one value after another. Everything at once: test_tighten_random.c. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "tests/unit/task/tighten_case.h"

static void ck_resources(const char *in, const char *want)
{
	struct cs_tighten_plan p = plan();
	cs_autofree char *whole = NULL, *got = NULL;
	cs_autojson struct cs_json *config = NULL;

	ck_assert_int_ge(asprintf(&whole, "{'linux':{'resources':{%s}}}", in), 0);
	config = parse(whole);
	ck_ok(cs_tighten_config(&p, config, NULL, &err), err);
	got = text_of(cs_json_get(config, "linux.resources"));
	ck_assert_str_eq(got, want);
}

static void ck_update(const char *config_text, const char *in, const char *want)
{
	struct cs_tighten_plan p = plan();
	cs_autofree char *got = NULL;
	cs_autojson struct cs_json *config = config_text ? parse(config_text) : NULL;
	cs_autojson struct cs_json *resources = parse(in);

	ck_ok(cs_tighten_resources(&p, config, resources, NULL, &err), err);
	got = text_of(resources);
	ck_assert_str_eq(got, want);
}

/* A policy that bounds the one thing alone. */
static void only(const char *bound, const char *name, const char *value)
{
	begin("none");
	set("bound", bound);
	set(name, value);
}

START_TEST(every_encoding_of_no_limit_gets_one)
{
	static const char *const pids[] = { "", "'pids':null", "'pids':{}", "'pids':{'limit':null}",
					    "'pids':{'limit':0}", "'pids':{'limit':-1}", "'pids':{'limit':-7}" };
	static const char *const modes[] = { "always", "unbounded" };

	for (size_t mode = 0; mode < CS_ARRAY_LEN(modes); mode++)
		for (size_t i = 0; i < CS_ARRAY_LEN(pids); i++) {
			only(modes[mode], "pids-limit", "64");
			ck_resources(pids[i], "{'pids':{'limit':64}}");
		}
}
END_TEST

START_TEST(the_smaller_counts_or_only_gaps_are_filled)
{
	only("always", "pids-limit", "64");
	ck_resources("'pids':{'limit':63}", "{'pids':{'limit':63}}");
	ck_resources("'pids':{'limit':65}", "{'pids':{'limit':64}}");
	only("unbounded", "pids-limit", "64");
	ck_resources("'pids':{'limit':65}", "{'pids':{'limit':65}}");
}
END_TEST

START_TEST(twins_in_unified_are_bounded_too)
{
	only("always", "pids-limit", "64");
	ck_resources("'unified':{'pids.max':'max'}", "{'unified':{'pids.max':'64'},'pids':{'limit':64}}");
	ck_resources("'unified':{'pids.max':'7'},'pids':{'limit':-1}", "{'unified':{'pids.max':'7'},'pids':{'limit':64}}");
	only("always", "memory", "64k");
	ck_resources("'unified':{'memory.max':'1M'}",
		     "{'unified':{'memory.max':'65536','memory.swap.max':'0'},'memory':{'limit':65536,'swap':65536}}");
	only("always", "cpus", "0.5");
	ck_resources("'unified':{'cpu.max':'max 20000'}",
		     "{'unified':{'cpu.max':'10000 20000'},'cpu':{'quota':50000,'period':100000}}");
	/* without a period the kernel keeps the one that the other key has set */
	ck_resources("'unified':{'cpu.max':'50000'},'cpu':{'period':20000}",
		     "{'unified':{'cpu.max':'10000 20000'},'cpu':{'period':20000,'quota':10000}}");
	only("always", "cpuset-cpus", "0-1");
	ck_resources("'unified':{'cpuset.cpus':'1-3'}", "{'unified':{'cpuset.cpus':'1'},'cpu':{'cpus':'0-1'}}");
}
END_TEST

START_TEST(swap_counts_with_memory)
{
	only("always", "memory", "100k");
	ck_resources("", "{'memory':{'limit':102400,'swap':102400}}");
	ck_resources("'memory':{'limit':4096,'swap':-1}", "{'memory':{'limit':4096,'swap':102400}}");
	set("memory-swap", "200k");
	ck_resources("'memory':{'limit':4096,'swap':8192}", "{'memory':{'limit':4096,'swap':8192}}");
	ck_resources("'unified':{'memory.swap.max':'max'},'memory':{'limit':51200}",
		     "{'unified':{'memory.swap.max':'153600','memory.max':'51200'},'memory':{'limit':51200,'swap':204800}}");
	/* of two forms the least that either says */
	ck_resources("'unified':{'memory.max':'max'},'memory':{'limit':51200,'swap':204800}",
		     "{'unified':{'memory.max':'51200','memory.swap.max':'153600'},'memory':{'limit':51200,'swap':204800}}");
	/* 0 is no limit at a path and nothing at all in unified */
	ck_resources("'unified':{'memory.max':'0'}",
		     "{'unified':{'memory.max':'1','memory.swap.max':'204799'},'memory':{'limit':1,'swap':204800}}");
	only("unbounded", "memory", "100k");
	ck_resources("'memory':{'limit':204800}", "{'memory':{'limit':204800,'swap':204800}}");
}
END_TEST

START_TEST(a_quota_is_weighed_with_its_period)
{
	only("always", "cpus", "1");
	ck_resources("'cpu':{'quota':50000}", "{'cpu':{'quota':50000}}");
	ck_resources("'cpu':{'quota':50000,'period':10000}", "{'cpu':{'quota':10000,'period':10000}}");
	ck_resources("'cpu':{'period':250000}", "{'cpu':{'period':250000,'quota':250000}}");
	ck_resources("'cpu':{'quota':-1}", "{'cpu':{'quota':100000,'period':100000}}");
	/* the kernel takes no quota below a millisecond */
	only("always", "cpus", "0.01");
	ck_resources("'cpu':{'quota':1000,'period':1000}", "{'cpu':{'quota':1000,'period':100000}}");
}
END_TEST

START_TEST(an_update_touches_what_it_names)
{
	static const char config[] = "{'linux':{'resources':{'memory':{'limit':4096,'swap':8192},"
				     "'cpu':{'quota':10000,'period':20000},'pids':{'limit':10}}}}";

	begin("strict");
	ck_update(config, "{}", "{}");
	ck_update(config, "{'pids':{'limit':-1}}", "{'pids':{'limit':64}}");
	ck_update(config, "{'pids':{'limit':0}}", "{'pids':{'limit':0}}");
	ck_update(config, "{'memory':{'limit':-1}}", "{'memory':{'limit':268435456,'swap':8192}}");
	ck_update(config, "{'cpu':{'quota':50000}}", "{'cpu':{'quota':20000,'period':20000}}");
	ck_update(config, "{'cpu':{'period':1000}}", "{'cpu':{'period':1000,'quota':1000}}");
	ck_update(config, "{'cpu':{'shares':12}}", "{'cpu':{'shares':12}}");
	ck_update(NULL, "{'cpu':{'quota':50000}}", "{'cpu':{'quota':50000,'period':100000}}");
	ck_update(config, "{'devices':[{'allow':true}],'zzz':1.50}",
		  "{'devices':[{'allow':true},{'allow':false,'access':'rwm'}],'zzz':1.50}");
	begin("default");
	ck_update(config, "{'pids':{'limit':-1}}", "{'pids':{'limit':4096}}");
	ck_update(config, "{'pids':{'limit':10000}}", "{'pids':{'limit':10000}}");
	begin("none");
	ck_update(config, "{'pids':{'limit':-1}}", "{'pids':{'limit':-1}}");
}
END_TEST

START_TEST(an_update_is_kept)
{
	cs_autojson struct cs_json *config =
		parse("{'linux':{'resources':{'memory':{'limit':4096,'zzz':1},'cpu':{'period':20000}}}}");
	cs_autojson struct cs_json *update =
		parse("{'memory':{'limit':0,'swap':8192},'cpu':{'period':0,'quota':-1},'pids':{'limit':9},'devices':null}");
	cs_autofree char *got = NULL;

	ck_ok(cs_tighten_merge(config, update, &err), err);
	got = text_of(cs_json_get(config, "linux.resources"));
	ck_assert_str_eq(got, "{'memory':{'limit':4096,'zzz':1,'swap':8192},'cpu':{'period':20000,'quota':-1},'pids':{'limit':9}}");
}
END_TEST

START_TEST(what_cannot_be_read_is_refused_where_it_is_bounded)
{
	static const char *const wrong[] = { "1e9", "64.0", "'64'", "18446744073709551616", "[]", "{}", "true" };

	for (size_t i = 0; i < CS_ARRAY_LEN(wrong); i++) {
		cs_autofree char *pids = NULL, *swap = NULL;

		ck_assert_int_ge(asprintf(&pids, "{'linux':{'resources':{'pids':{'limit':%s}}}}", wrong[i]), 0);
		ck_assert_int_ge(asprintf(&swap, "'memory':{'swap':%s}", wrong[i]), 0);
		begin("default");
		ck_refused(pids, "linux.resources.pids.limit");
		/* nothing of the default policy bounds swap */
		only("always", "cpus", "1");
		{
			cs_autofree char *want = NULL;

			ck_assert_int_ge(asprintf(&want, "{%s,'cpu':{'quota':100000,'period':100000}}", swap), 0);
			ck_resources(swap, want);
		}
	}
	begin("default");
	ck_refused("{'linux':{'resources':{'pids':7}}}", "linux.resources.pids");
	ck_refused("{'linux':{'resources':{'unified':{'pids.max':7}}}}", "pids.max");
	ck_refused("{'linux':{'resources':{'unified':{'pids.max':'0x40'}}}}", "pids.max");
	ck_refused("{'linux':{'resources':{'unified':{'../x/pids.max':'9'}}}}", "no name of a cgroup file");
	ck_refused("{'linux':{'maskedPaths':'/proc'}}", "linux.maskedPaths");
	ck_refused("{'process':{'rlimits':[{'type':'RLIMIT_CORE','soft':1,'hard':'x'}]}}", "RLIMIT_CORE");
	only("always", "cpuset-cpus", "0-1");
	ck_refused("{'linux':{'resources':{'cpu':{'cpus':'2-3'}}}}", "none of '2-3'");
	ck_refused("{'linux':{'resources':{'cpu':{'cpus':'x'}}}}", "no list of CPUs");
}
END_TEST

/* encoding/json of Go matches a field's name without regard to case, and the last one wins */
START_TEST(keys_that_only_go_would_take_are_refused)
{
	static const char *const keys[] = { "Limit", "LIMIT", "limiT" };

	begin("default");
	for (size_t i = 0; i < CS_ARRAY_LEN(keys); i++) {
		cs_autofree char *text = NULL;

		ck_assert_int_ge(asprintf(&text, "{'linux':{'resources':{'pids':{'limit':5,'%s':-1}}}}", keys[i]), 0);
		ck_refused(text, keys[i]);
	}
	ck_refused("{'Linux':{}}", "Linux");
	ck_refused("{'linux':{'re\xc5\xbfource\xc5\xbf':{}}}", "linux.resources");
	ck_refused("{'process':{'rlimits':[{'type':'RLIMIT_AS','Hard':1}]}}", "Hard");
	ck_refused("{'linux':{'mas\xe2\x84\xaa" "edPaths':[]}}", "maskedPaths");
}
END_TEST

START_TEST(strict_takes_rights)
{
	cs_autojson struct cs_json *config = NULL;

	begin("strict");
	set("cap-add", "chown");
	config = tightened("{'process':{'noNewPrivileges':false,'capabilities':{'bounding':['CAP_CHOWN','CAP_SYS_ADMIN','ALL','cap_kill'],"
			   "'effective':null}},'root':{'path':'r','readonly':false},"
			   "'linux':{'namespaces':[{'type':'pid','path':'/proc/self/ns/pid'},{'type':'network','path':'/dev/null'}],"
			   "'devices':[{'path':'/dev/kvm'},{'path':'/dev/null'},{'path':'/dev/tty'}],"
			   "'resources':{'devices':[{'allow':true,'access':'rwm'}]}}}");
	ck_at(config, "linux.devices", "[{'path':'/dev/kvm'}]");
	ck_at(config, "process.capabilities", "{'bounding':['CAP_CHOWN'],'effective':null}");
	ck_at(config, "process.noNewPrivileges", "true");
	ck_at(config, "root", "{'path':'r','readonly':true}");
	ck_at(config, "linux.namespaces",
	      "[{'type':'pid'},{'type':'network','path':'/dev/null'},{'type':'ipc'},{'type':'uts'},{'type':'mount'},{'type':'cgroup'}]");
	ck_at(config, "linux.resources.devices", "[{'allow':true,'access':'rwm'},{'allow':false,'access':'rwm'}]");
	ck_assert_uint_gt(cs_json_count(cs_json_get(config, "linux.readonlyPaths")), 3);
	ck_assert_uint_gt(cs_json_count(cs_json_get(config, "linux.seccomp.syscalls")), 1);
	ck_at(config, "process.rlimits.1", "{'type':'RLIMIT_CORE','hard':1,'soft':1}");
}
END_TEST

START_TEST(default_takes_no_right_but_says_core_and_masked)
{
	cs_autojson struct cs_json *config = NULL;

	begin("default");
	config = tightened("{'process':{'capabilities':{'bounding':['CAP_SYS_ADMIN']},'rlimits':[{'type':'RLIMIT_NOFILE','hard':9,'soft':8}]},"
			   "'root':{},'linux':{'namespaces':[{'type':'mount'}],'maskedPaths':['/x','/proc/kcore']}}");
	ck_at(config, "process",
	      "{'capabilities':{'bounding':['CAP_SYS_ADMIN']},'rlimits':[{'type':'RLIMIT_NOFILE','hard':9,'soft':8},"
	      "{'type':'RLIMIT_CORE','hard':1,'soft':1}]}");
	ck_at(config, "root", "{}");
	ck_at(config, "linux.maskedPaths.0", "'/x'");
	ck_assert_uint_gt(cs_json_count(cs_json_get(config, "linux.maskedPaths")), 10);
	ck_assert_ptr_null(cs_json_get(config, "linux.seccomp"));
	ck_assert_ptr_null(cs_json_get(config, "linux.readonlyPaths"));
	ck_at(config, "linux.resources", "{'pids':{'limit':4096}}");
}
END_TEST

/* runc: "unable to restrict sys entries without a private MNT namespace" */
START_TEST(nothing_is_masked_in_the_hosts_own_mounts)
{
	cs_autojson struct cs_json *config = NULL;

	begin("default");
	config = tightened("{'process':{},'root':{},'linux':{'namespaces':[{'type':'pid'}]}}");
	ck_assert_ptr_null(cs_json_get(config, "linux.maskedPaths"));
}
END_TEST

START_TEST(a_finite_core_is_the_containers_own_under_default)
{
	cs_autojson struct cs_json *finite = NULL, *lifted = NULL, *strict = NULL;

	begin("default");
	finite = tightened("{'process':{'rlimits':[{'type':'RLIMIT_CORE','hard':4096,'soft':0}]}}");
	ck_at(finite, "process.rlimits", "[{'type':'RLIMIT_CORE','hard':4096,'soft':0}]");
	lifted = tightened("{'process':{'rlimits':[{'type':'RLIMIT_CORE','hard':18446744073709551615,'soft':-1}]}}");
	ck_at(lifted, "process.rlimits", "[{'type':'RLIMIT_CORE','hard':1,'soft':1}]");
	begin("strict");
	strict = tightened("{'process':{'rlimits':[{'type':'RLIMIT_CORE','hard':0,'soft':0}]}}");
	ck_at(strict, "process.rlimits.0", "{'type':'RLIMIT_CORE','hard':1,'soft':1}");
}
END_TEST

START_TEST(an_exec_gains_nothing)
{
	struct cs_tighten_plan p = plan();
	cs_autojson struct cs_json *config =
		parse("{'process':{'apparmorProfile':'docker-default','rlimits':[{'type':'RLIMIT_NOFILE','hard':9,'soft':8}]}}");
	cs_autojson struct cs_json *process =
		parse("{'args':['sh'],'apparmorProfile':'unconfined','capabilities':{'effective':['CAP_SYS_ADMIN'],'zzz':[1]}}");

	begin("strict");
	ck_ok(cs_tighten_process(&p, config, process, NULL, &err), err);
	ck_at(process, "capabilities", "{'effective':[],'zzz':[1]}");
	ck_at(process, "noNewPrivileges", "true");
	ck_at(process, "apparmorProfile", "'docker-default'");
	/* a list of its own replaces the container's, so that comes first */
	ck_at(process, "rlimits.0", "{'type':'RLIMIT_NOFILE','hard':9,'soft':8}");
	ck_at(process, "rlimits.1", "{'type':'RLIMIT_CORE','hard':1,'soft':1}");
}
END_TEST

START_TEST(flags_of_exec_become_a_process)
{
	cs_autojson struct cs_json *config = parse("{'process':{'args':['init'],'env':['A=1'],'user':{'uid':5,'gid':6,'umask':18},'zzz':0.50}}");
	cs_autojson struct cs_json *process = NULL;
	cs_auto(strv) args = CS_STRV_INIT, env = CS_STRV_INIT, cap = CS_STRV_INIT;
	cs_autofree char *got = NULL;
	struct cs_tighten_exec flags = { .args = &args, .env = &env, .cap = &cap, .user = "7:8", .cwd = "/w" };

	cs_strv_add(&args, "id");
	cs_strv_add(&env, "B=2");
	cs_strv_add(&cap, "CAP_KILL");
	ck_ok(cs_tighten_exec_process(config, &flags, &process, &err), err);
	got = text_of(process);
	ck_assert_str_eq(got, "{'args':['id'],'env':['A=1','B=2'],'user':{'uid':7,'gid':8,'umask':18},'zzz':0.50,'terminal':false,"
			      "'cwd':'/w','capabilities':{'bounding':['CAP_KILL'],'effective':['CAP_KILL'],'permitted':['CAP_KILL']}}");
	flags.user = "root";
	cs_json_free_ptr(&process);
	ck_fails(cs_tighten_exec_process(config, &flags, &process, &err), err, "numbers are wanted");
}
END_TEST

START_TEST(flags_of_update_become_resources)
{
	cs_autojson struct cs_json *resources = cs_json_new_object();

	ck_assert_int_eq(cs_tighten_update_flag(resources, "memory", "64m", &err), 1);
	ck_assert_int_eq(cs_tighten_update_flag(resources, "memory-swap", "-1", &err), 1);
	ck_assert_int_eq(cs_tighten_update_flag(resources, "pids-limit", "-1", &err), 1);
	ck_assert_int_eq(cs_tighten_update_flag(resources, "cpuset-cpus", "0-1", &err), 1);
	ck_assert_int_eq(cs_tighten_update_flag(resources, "resources", "-", &err), 0);
	ck_at(resources, "memory", "{'limit':67108864,'swap':-1}");
	ck_at(resources, "pids", "{'limit':-1}");
	ck_at(resources, "cpu", "{'cpus':'0-1'}");
	ck_fails(cs_tighten_update_flag(resources, "cpu-quota", "1e5", &err), err, "--cpu-quota");
}
END_TEST

static int annotate(const char *policy, const char *key, const char *value)
{
	cs_autofree char *text = NULL;
	cs_autojson struct cs_json *config = NULL;

	begin(policy);
	ck_assert_int_ge(asprintf(&text, "{'annotations':{'other':'x','io.caisson.%s':%s}}", key, value), 0);
	config = parse(text);
	return cs_tighten_annotations(&tree, config, &err);
}

START_TEST(annotations_only_tighten)
{
	ck_ok(annotate("strict", "timeout", "'5s'"), err);
	ck_assert_int_eq(tree.values.timeout_ns, 5 * CS_NSEC_PER_SEC);
	ck_assert_int_eq(tree.values.cpu_time_ns, 5 * CS_NSEC_PER_SEC); /* follows */
	ck_ok(annotate("strict", "timeout", "'1h'"), err);
	ck_assert_int_eq(tree.values.timeout_ns, 600 * CS_NSEC_PER_SEC);
	ck_ok(annotate("strict", "timeout", "'0'"), err);
	ck_assert_int_eq(tree.values.timeout_ns, 600 * CS_NSEC_PER_SEC);
	ck_ok(annotate("default", "timeout", "'1h'"), err);
	ck_assert_int_eq(tree.values.timeout_ns, 3600 * CS_NSEC_PER_SEC);
	ck_ok(annotate("default", "onOutputLimit", "'kill'"), err);
	ck_assert_int_eq(tree.values.on_output_limit, CS_AT_OUTPUT_KILL);
	ck_ok(annotate("strict", "onOutputLimit", "'discard'"), err);
	ck_assert_int_eq(tree.values.on_output_limit, CS_AT_OUTPUT_KILL);
	ck_ok(annotate("strict", "oomGroup", "'true'"), err);
	ck_assert(tree.values.oom_group);
	ck_ok(annotate("strict", "bound", "'unbounded'"), err);
	ck_assert_int_eq(tree.values.bound, CS_BOUND_ALWAYS);
	ck_ok(annotate("default", "outputLimit", "'1k'"), err);
	ck_assert_uint_eq(tree.values.stdout_limit_bytes, 1024);
	ck_assert_uint_eq(tree.values.stderr_limit_bytes, 1024);
	ck_ok(annotate("default", "confine", "'root'"), err);
	ck_assert_uint_eq(tree.values.confine.n, 2);
}
END_TEST

/* also where the policy only fills gaps */
START_TEST(a_number_of_an_annotation_is_a_bound)
{
	ck_ok(annotate("default", "pidsLimit", "'100'"), err);
	ck_resources("'pids':{'limit':200}", "{'pids':{'limit':100}}");
	ck_resources("'pids':{'limit':20}", "{'pids':{'limit':20}}");
	ck_ok(annotate("default", "memory", "'64k'"), err);
	ck_resources("'pids':{'limit':1},'memory':{'limit':1000000,'swap':-1}",
		     "{'pids':{'limit':1},'memory':{'limit':65536,'swap':65536}}");
}
END_TEST

START_TEST(wrong_annotations_are_errors)
{
	ck_fails(annotate("strict", "timeOut", "'5s'"), err, "io.caisson.timeout");
	ck_fails(annotate("strict", "timeout", "'soon'"), err, "io.caisson.timeout");
	ck_fails(annotate("strict", "timeout", "5"), err, "a string is wanted");
	ck_fails(annotate("strict", "rootfs", "'/'"), err, "only the host's configuration");
	ck_fails(annotate("strict", "policy", "'none'"), err, "only the host's configuration");
	ck_fails(annotate("strict", "confine", "'='"), err, "can only grow");
	ck_ok(annotate("none", "timeOut", "'5s'"), err);
}
END_TEST

START_TEST(annotations_that_engines_obey_past_the_policy)
{
	cs_autojson struct cs_json *config = NULL;

	begin("default");
	ck_refused("{'annotations':{'org.systemd.property.TasksMax':'uint64 9'}}", "TasksMax");
	config = tightened("{'annotations':{'org.systemd.property.MemoryMax':'uint64 9','run.oci.seccomp_bpf_data':'AA=='}}");
	ck_assert_uint_eq(cs_json_count(cs_json_get(config, "annotations")), 2);
	ck_refused("{'annotations':{'org.systemd.property.TasksMaxScale':'uint32 9'}}", "TasksMaxScale");
	ck_refused("{'annotations':{'org.systemd.property.OfTomorrow':'true'}}", "OfTomorrow");
	begin("strict");
	ck_refused("{'annotations':{'org.systemd.property.CPUQuotaPerSecSec':'9'}}", "CPUQuotaPerSecSec");
	cs_json_free_ptr(&config);
	config = tightened("{'annotations':{'org.systemd.property.CollectMode':'x'}}");
	ck_at(config, "annotations", "{'org.systemd.property.CollectMode':'x'}");
	cs_json_free_ptr(&config);
	config = tightened("{'annotations':{'a':'b','run.oci.seccomp_bpf_data':'AA=='}}");
	ck_at(config, "annotations", "{'a':'b'}");
}
END_TEST

/* A filter that looks like ours to one reader, and lets all pass for another. */
START_TEST(seccomp_arguments_have_one_meaning)
{
#define CLONE(args) "{'linux':{'seccomp':{'defaultAction':'SCMP_ACT_ERRNO','syscalls':[{'names':['clone'],'action':'SCMP_ACT_ALLOW'," \
		    "'args':[{'index':0,'value':2114060288,'op':'SCMP_CMP_MASKED_EQ'," args "}]}]}}}"
	begin("strict");
	ck_refused(CLONE("'valueTwo':0,'Value':0"), "Value");
	ck_refused(CLONE("'valueTwo':-18446744073441116160"), "valueTwo must be a whole number");
	ck_refused(CLONE("'valueTwo':0.0"), "valueTwo must be a whole number");
#undef CLONE
}
END_TEST

START_TEST(cgroups_cannot_be_written_where_limits_are_confined)
{
	cs_autojson struct cs_json *config = NULL;

	begin("strict");
	config = tightened("{'mounts':[{'destination':'/sys/fs/cgroup','type':'cgroup','options':['rw','nosuid']},"
			   "{'destination':'/a','type':'cgroup2','options':['ro','rw']},{'destination':'/b','type':'cgroup'},"
			   "{'destination':'/c','type':'tmpfs','options':['rw']}]}");
	ck_at(config, "mounts.0.options", "['nosuid','ro']");
	ck_at(config, "mounts.1.options", "['ro']");
	ck_at(config, "mounts.2.options", "['ro']");
	ck_at(config, "mounts.3.options", "['rw']");
	ck_refused("{'mounts':[{'destination':'/sys/fs/cgroup','type':'cgroup','Options':['rw']}]}", "Options");
	begin("default");
	cs_json_free_ptr(&config);
	config = tightened("{'mounts':[{'destination':'/sys/fs/cgroup','type':'cgroup','options':['rw']}]}");
	ck_at(config, "mounts.0.options", "['rw']");
}
END_TEST

/* Only where there are any: without /sys there is nothing to show. */
START_TEST(the_hosts_cgroups_are_not_shown_writable)
{
	cs_autojson struct cs_json *config = NULL;

	if (access("/sys/fs/cgroup", F_OK) < 0)
		return;
	begin("strict");
	ck_refused("{'mounts':[{'destination':'/host','type':'bind','source':'/','options':['rbind','ro']}]}", "holds the host's cgroups");
	config = tightened("{'mounts':[{'destination':'/host','type':'bind','source':'/','options':['bind']},"
			   "{'destination':'/t','type':'bind','source':'/tmp','options':['rbind','rw']}]}");
	ck_at(config, "mounts.0.options", "['bind']");
	ck_at(config, "mounts.1.options", "['rbind','rw']");
}
END_TEST

START_TEST(realtime_is_not_beside_bounded_cpus)
{
	cs_autojson struct cs_json *config = NULL;

	begin("strict");
	config = tightened("{'process':{'scheduler':{'policy':'SCHED_FIFO','priority':9}},'linux':{'resources':{'cpu':"
			   "{'realtimeRuntime':900000,'realtimePeriod':1000000}}}}");
	ck_assert_ptr_null(cs_json_get(config, "process.scheduler"));
	ck_assert_ptr_null(cs_json_get(config, "linux.resources.cpu.realtimeRuntime"));
	ck_assert_ptr_null(cs_json_get(config, "linux.resources.cpu.realtimePeriod"));
	cs_json_free_ptr(&config);
	config = tightened("{'process':{'scheduler':{'policy':'SCHED_BATCH','nice':5}}}");
	ck_at(config, "process.scheduler", "{'policy':'SCHED_BATCH','nice':5}");
	begin("default");
	cs_json_free_ptr(&config);
	config = tightened("{'process':{'scheduler':{'policy':'SCHED_RR'}}}");
	ck_at(config, "process.scheduler", "{'policy':'SCHED_RR'}");
}
END_TEST

START_TEST(namespaces_that_cannot_be_looked_at_are_refused)
{
	begin("strict");
	ck_refused("{'linux':{'namespaces':[{'type':'network','path':'rootfs/x'}]}}", "no absolute path");
	ck_refused("{'linux':{'namespaces':[{'type':'network','path':'/nonexistent/ns'}]}}", "no absolute path");
}
END_TEST

START_TEST(none_touches_nothing)
{
	static const char text[] = "{'Linux':1,'linux':{'resources':{'pids':{'limit':1e9}}},'process':{'capabilities':5}}";
	cs_autojson struct cs_json *config = NULL;
	cs_autofree char *got = NULL;

	begin("none");
	ck_assert(cs_tighten_is_none(&tree.values));
	config = tightened(text);
	got = text_of(config);
	ck_assert_str_eq(got, text);
	begin("default");
	ck_assert(!cs_tighten_is_none(&tree.values));
}
END_TEST

START_TEST(limits_of_an_exec)
{
	begin("strict");
	cs_tighten_exec_settings(&tree);
	ck_assert_int_eq(tree.values.timeout_ns, 600 * CS_NSEC_PER_SEC);
	ck_assert_int_eq(tree.values.cpu_time_ns, CS_NEVER);
	begin("strict");
	set("exec-timeout", "5s");
	set("exec-output-limit", "4k");
	cs_tighten_exec_settings(&tree);
	ck_assert_int_eq(tree.values.timeout_ns, 5 * CS_NSEC_PER_SEC);
	ck_assert_uint_eq(tree.values.stdout_limit_bytes, 4096);
	ck_assert_uint_eq(tree.values.stderr_limit_bytes, 4096);
}
END_TEST

/* some engines take the first of two rows, some the last */
START_TEST(rows_that_stand_twice)
{
	cs_autojson struct cs_json *config = NULL;

	begin("strict");
	config = tightened("{'process':{'rlimits':[{'type':'RLIMIT_NOFILE','hard':9999,'soft':8},{'type':'RLIMIT_NOFILE','hard':-1,'soft':-1}]}}");
	ck_at(config, "process.rlimits.0", "{'type':'RLIMIT_NOFILE','hard':1024,'soft':8}");
	ck_at(config, "process.rlimits.1", "{'type':'RLIMIT_NOFILE','hard':1024,'soft':1024}");
}
END_TEST

CS_UNIT_SUITE(tighten, every_encoding_of_no_limit_gets_one, the_smaller_counts_or_only_gaps_are_filled,
	      twins_in_unified_are_bounded_too, swap_counts_with_memory, a_quota_is_weighed_with_its_period,
	      an_update_touches_what_it_names, an_update_is_kept, what_cannot_be_read_is_refused_where_it_is_bounded,
	      keys_that_only_go_would_take_are_refused, strict_takes_rights, default_takes_no_right_but_says_core_and_masked,
	      nothing_is_masked_in_the_hosts_own_mounts, a_finite_core_is_the_containers_own_under_default, an_exec_gains_nothing, flags_of_exec_become_a_process,
	      flags_of_update_become_resources, annotations_only_tighten, a_number_of_an_annotation_is_a_bound,
	      wrong_annotations_are_errors, annotations_that_engines_obey_past_the_policy,
	      seccomp_arguments_have_one_meaning, cgroups_cannot_be_written_where_limits_are_confined,
	      the_hosts_cgroups_are_not_shown_writable, realtime_is_not_beside_bounded_cpus,
	      namespaces_that_cannot_be_looked_at_are_refused, none_touches_nothing,
	      limits_of_an_exec, rows_that_stand_twice)
