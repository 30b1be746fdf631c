#include "oci-spec/profile.h"
#include "oci-spec/profile_table.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/socket.h>

/*
 * ALLOW is what programs and language runtimes use and what the kernel guards
 * by itself well enough (permissions, capabilities, limits). DENY is what acts
 * on the host rather than on the run (modules, clocks, mounts, namespaces),
 * what is not divided by namespaces (keyrings), and large interfaces with a
 * poor record that ordinary programs do without (bpf, perf, io_uring,
 * userfaultfd), and socketcall, the door of 32-bit programs to all of socket(2):
 * its arguments lie in memory, where a filter cannot see them. ABSENT is what
 * Linux has no longer, and clone3, whose flags lie in memory too: C libraries
 * then take clone.
 *
 * A call that is not here is ABSENT.
 */
#define ALLOW CS_PROFILE_ALLOW
#define FILTER CS_PROFILE_FILTER
#define DENY CS_PROFILE_DENY
#define ABSENT CS_PROFILE_ABSENT

/* clang-format off */
static const struct cs_profile_row rows[] = {
	{ "_llseek", ALLOW, { NULL } },
	{ "_newselect", ALLOW, { NULL } },
	{ "_sysctl", ABSENT, { NULL } },
	{ "accept", ALLOW, { NULL } },
	{ "accept4", ALLOW, { NULL } },
	{ "access", ALLOW, { NULL } },
	{ "acct", DENY, { "CAP_SYS_PACCT" } },
	{ "add_key", DENY, { NULL } },
	{ "adjtimex", ALLOW, { NULL } },
	{ "afs_syscall", ABSENT, { NULL } },
	{ "alarm", ALLOW, { NULL } },
	{ "arch_prctl", ALLOW, { NULL } },
	{ "arm_fadvise64_64", ALLOW, { NULL } },
	{ "arm_sync_file_range", ALLOW, { NULL } },
	{ "bdflush", ABSENT, { NULL } },
	{ "bind", ALLOW, { NULL } },
	{ "bpf", DENY, { "CAP_SYS_ADMIN", "CAP_BPF" } },
	{ "break", ABSENT, { NULL } },
	{ "breakpoint", ALLOW, { NULL } },
	{ "brk", ALLOW, { NULL } },
	{ "cachectl", DENY, { NULL } },
	{ "cacheflush", ALLOW, { NULL } },
	{ "cachestat", ALLOW, { NULL } },
	{ "capget", ALLOW, { NULL } },
	{ "capset", ALLOW, { NULL } },
	{ "chdir", ALLOW, { NULL } },
	{ "chmod", ALLOW, { NULL } },
	{ "chown", ALLOW, { NULL } },
	{ "chown32", ALLOW, { NULL } },
	{ "chroot", DENY, { "CAP_SYS_CHROOT" } },
	{ "clock_adjtime", ALLOW, { NULL } },
	{ "clock_adjtime64", ALLOW, { NULL } },
	{ "clock_getres", ALLOW, { NULL } },
	{ "clock_getres_time64", ALLOW, { NULL } },
	{ "clock_gettime", ALLOW, { NULL } },
	{ "clock_gettime64", ALLOW, { NULL } },
	{ "clock_nanosleep", ALLOW, { NULL } },
	{ "clock_nanosleep_time64", ALLOW, { NULL } },
	{ "clock_settime", DENY, { "CAP_SYS_TIME" } },
	{ "clock_settime64", DENY, { "CAP_SYS_TIME" } },
	{ "clone", FILTER, { NULL } },
	{ "clone3", ABSENT, { NULL } },
	{ "close", ALLOW, { NULL } },
	{ "close_range", ALLOW, { NULL } },
	{ "connect", ALLOW, { NULL } },
	{ "copy_file_range", ALLOW, { NULL } },
	{ "creat", ALLOW, { NULL } },
	{ "create_module", ABSENT, { NULL } },
	{ "delete_module", DENY, { "CAP_SYS_MODULE" } },
	{ "dup", ALLOW, { NULL } },
	{ "dup2", ALLOW, { NULL } },
	{ "dup3", ALLOW, { NULL } },
	{ "epoll_create", ALLOW, { NULL } },
	{ "epoll_create1", ALLOW, { NULL } },
	{ "epoll_ctl", ALLOW, { NULL } },
	{ "epoll_ctl_old", ABSENT, { NULL } },
	{ "epoll_pwait", ALLOW, { NULL } },
	{ "epoll_pwait2", ALLOW, { NULL } },
	{ "epoll_wait", ALLOW, { NULL } },
	{ "epoll_wait_old", ABSENT, { NULL } },
	{ "eventfd", ALLOW, { NULL } },
	{ "eventfd2", ALLOW, { NULL } },
	{ "execve", ALLOW, { NULL } },
	{ "execveat", ALLOW, { NULL } },
	{ "exit", ALLOW, { NULL } },
	{ "exit_group", ALLOW, { NULL } },
	{ "faccessat", ALLOW, { NULL } },
	{ "faccessat2", ALLOW, { NULL } },
	{ "fadvise64", ALLOW, { NULL } },
	{ "fadvise64_64", ALLOW, { NULL } },
	{ "fallocate", ALLOW, { NULL } },
	{ "fanotify_init", DENY, { "CAP_SYS_ADMIN" } },
	{ "fanotify_mark", ALLOW, { NULL } },
	{ "fchdir", ALLOW, { NULL } },
	{ "fchmod", ALLOW, { NULL } },
	{ "fchmodat", ALLOW, { NULL } },
	{ "fchmodat2", ALLOW, { NULL } },
	{ "fchown", ALLOW, { NULL } },
	{ "fchown32", ALLOW, { NULL } },
	{ "fchownat", ALLOW, { NULL } },
	{ "fcntl", ALLOW, { NULL } },
	{ "fcntl64", ALLOW, { NULL } },
	{ "fdatasync", ALLOW, { NULL } },
	{ "fgetxattr", ALLOW, { NULL } },
	{ "file_getattr", ALLOW, { NULL } },
	{ "file_setattr", ALLOW, { NULL } },
	{ "finit_module", DENY, { "CAP_SYS_MODULE" } },
	{ "flistxattr", ALLOW, { NULL } },
	{ "flock", ALLOW, { NULL } },
	{ "fork", ALLOW, { NULL } },
	{ "fremovexattr", ALLOW, { NULL } },
	{ "fsconfig", DENY, { "CAP_SYS_ADMIN" } },
	{ "fsetxattr", ALLOW, { NULL } },
	{ "fsmount", DENY, { "CAP_SYS_ADMIN" } },
	{ "fsopen", DENY, { "CAP_SYS_ADMIN" } },
	{ "fspick", DENY, { "CAP_SYS_ADMIN" } },
	{ "fstat", ALLOW, { NULL } },
	{ "fstat64", ALLOW, { NULL } },
	{ "fstatat64", ALLOW, { NULL } },
	{ "fstatfs", ALLOW, { NULL } },
	{ "fstatfs64", ALLOW, { NULL } },
	{ "fsync", ALLOW, { NULL } },
	{ "ftime", ABSENT, { NULL } },
	{ "ftruncate", ALLOW, { NULL } },
	{ "ftruncate64", ALLOW, { NULL } },
	{ "futex", ALLOW, { NULL } },
	{ "futex_requeue", ALLOW, { NULL } },
	{ "futex_time64", ALLOW, { NULL } },
	{ "futex_wait", ALLOW, { NULL } },
	{ "futex_waitv", ALLOW, { NULL } },
	{ "futex_wake", ALLOW, { NULL } },
	{ "futimesat", ALLOW, { NULL } },
	{ "get_kernel_syms", ABSENT, { NULL } },
	{ "get_mempolicy", DENY, { "CAP_SYS_NICE" } },
	{ "get_robust_list", ALLOW, { NULL } },
	{ "get_thread_area", ALLOW, { NULL } },
	{ "get_tls", ALLOW, { NULL } },
	{ "getcpu", ALLOW, { NULL } },
	{ "getcwd", ALLOW, { NULL } },
	{ "getdents", ALLOW, { NULL } },
	{ "getdents64", ALLOW, { NULL } },
	{ "getegid", ALLOW, { NULL } },
	{ "getegid32", ALLOW, { NULL } },
	{ "geteuid", ALLOW, { NULL } },
	{ "geteuid32", ALLOW, { NULL } },
	{ "getgid", ALLOW, { NULL } },
	{ "getgid32", ALLOW, { NULL } },
	{ "getgroups", ALLOW, { NULL } },
	{ "getgroups32", ALLOW, { NULL } },
	{ "getitimer", ALLOW, { NULL } },
	{ "getpeername", ALLOW, { NULL } },
	{ "getpgid", ALLOW, { NULL } },
	{ "getpgrp", ALLOW, { NULL } },
	{ "getpid", ALLOW, { NULL } },
	{ "getpmsg", ABSENT, { NULL } },
	{ "getppid", ALLOW, { NULL } },
	{ "getpriority", ALLOW, { NULL } },
	{ "getrandom", ALLOW, { NULL } },
	{ "getresgid", ALLOW, { NULL } },
	{ "getresgid32", ALLOW, { NULL } },
	{ "getresuid", ALLOW, { NULL } },
	{ "getresuid32", ALLOW, { NULL } },
	{ "getrlimit", ALLOW, { NULL } },
	{ "getrusage", ALLOW, { NULL } },
	{ "getsid", ALLOW, { NULL } },
	{ "getsockname", ALLOW, { NULL } },
	{ "getsockopt", ALLOW, { NULL } },
	{ "gettid", ALLOW, { NULL } },
	{ "gettimeofday", ALLOW, { NULL } },
	{ "getuid", ALLOW, { NULL } },
	{ "getuid32", ALLOW, { NULL } },
	{ "getxattr", ALLOW, { NULL } },
	{ "getxattrat", ALLOW, { NULL } },
	{ "gtty", ABSENT, { NULL } },
	{ "idle", ABSENT, { NULL } },
	{ "init_module", DENY, { "CAP_SYS_MODULE" } },
	{ "inotify_add_watch", ALLOW, { NULL } },
	{ "inotify_init", ALLOW, { NULL } },
	{ "inotify_init1", ALLOW, { NULL } },
	{ "inotify_rm_watch", ALLOW, { NULL } },
	{ "io_cancel", ALLOW, { NULL } },
	{ "io_destroy", ALLOW, { NULL } },
	{ "io_getevents", ALLOW, { NULL } },
	{ "io_pgetevents", ALLOW, { NULL } },
	{ "io_pgetevents_time64", ALLOW, { NULL } },
	{ "io_setup", ALLOW, { NULL } },
	{ "io_submit", ALLOW, { NULL } },
	{ "io_uring_enter", DENY, { NULL } },
	{ "io_uring_register", DENY, { NULL } },
	{ "io_uring_setup", DENY, { NULL } },
	{ "ioctl", ALLOW, { NULL } },
	{ "ioperm", DENY, { "CAP_SYS_RAWIO" } },
	{ "iopl", DENY, { "CAP_SYS_RAWIO" } },
	{ "ioprio_get", ALLOW, { NULL } },
	{ "ioprio_set", ALLOW, { NULL } },
	{ "ipc", ALLOW, { NULL } },
	{ "kcmp", DENY, { "CAP_SYS_PTRACE" } },
	{ "kexec_file_load", DENY, { NULL } },
	{ "kexec_load", DENY, { NULL } },
	{ "keyctl", DENY, { NULL } },
	{ "kill", ALLOW, { NULL } },
	{ "landlock_add_rule", ALLOW, { NULL } },
	{ "landlock_create_ruleset", ALLOW, { NULL } },
	{ "landlock_restrict_self", ALLOW, { NULL } },
	{ "lchown", ALLOW, { NULL } },
	{ "lchown32", ALLOW, { NULL } },
	{ "lgetxattr", ALLOW, { NULL } },
	{ "link", ALLOW, { NULL } },
	{ "linkat", ALLOW, { NULL } },
	{ "listen", ALLOW, { NULL } },
	{ "listmount", ALLOW, { NULL } },
	{ "listxattr", ALLOW, { NULL } },
	{ "listxattrat", ALLOW, { NULL } },
	{ "llistxattr", ALLOW, { NULL } },
	{ "lock", ABSENT, { NULL } },
	{ "lookup_dcookie", DENY, { "CAP_SYS_ADMIN" } },
	{ "lremovexattr", ALLOW, { NULL } },
	{ "lseek", ALLOW, { NULL } },
	{ "lsetxattr", ALLOW, { NULL } },
	{ "lsm_get_self_attr", DENY, { NULL } },
	{ "lsm_list_modules", DENY, { NULL } },
	{ "lsm_set_self_attr", DENY, { NULL } },
	{ "lstat", ALLOW, { NULL } },
	{ "lstat64", ALLOW, { NULL } },
	{ "madvise", ALLOW, { NULL } },
	{ "map_shadow_stack", ALLOW, { NULL } },
	{ "mbind", DENY, { "CAP_SYS_NICE" } },
	{ "membarrier", ALLOW, { NULL } },
	{ "memfd_create", ALLOW, { NULL } },
	{ "memfd_secret", ALLOW, { NULL } },
	{ "migrate_pages", DENY, { NULL } },
	{ "mincore", ALLOW, { NULL } },
	{ "mkdir", ALLOW, { NULL } },
	{ "mkdirat", ALLOW, { NULL } },
	{ "mknod", ALLOW, { NULL } },
	{ "mknodat", ALLOW, { NULL } },
	{ "mlock", ALLOW, { NULL } },
	{ "mlock2", ALLOW, { NULL } },
	{ "mlockall", ALLOW, { NULL } },
	{ "mmap", ALLOW, { NULL } },
	{ "mmap2", ALLOW, { NULL } },
	{ "modify_ldt", DENY, { NULL } },
	{ "mount", DENY, { "CAP_SYS_ADMIN" } },
	{ "mount_setattr", DENY, { "CAP_SYS_ADMIN" } },
	{ "move_mount", DENY, { "CAP_SYS_ADMIN" } },
	{ "move_pages", DENY, { NULL } },
	{ "mprotect", ALLOW, { NULL } },
	{ "mpx", ABSENT, { NULL } },
	{ "mq_getsetattr", ALLOW, { NULL } },
	{ "mq_notify", ALLOW, { NULL } },
	{ "mq_open", ALLOW, { NULL } },
	{ "mq_timedreceive", ALLOW, { NULL } },
	{ "mq_timedreceive_time64", ALLOW, { NULL } },
	{ "mq_timedsend", ALLOW, { NULL } },
	{ "mq_timedsend_time64", ALLOW, { NULL } },
	{ "mq_unlink", ALLOW, { NULL } },
	{ "mremap", ALLOW, { NULL } },
	{ "mseal", ALLOW, { NULL } },
	{ "msgctl", ALLOW, { NULL } },
	{ "msgget", ALLOW, { NULL } },
	{ "msgrcv", ALLOW, { NULL } },
	{ "msgsnd", ALLOW, { NULL } },
	{ "msync", ALLOW, { NULL } },
	{ "multiplexer", ABSENT, { NULL } },
	{ "munlock", ALLOW, { NULL } },
	{ "munlockall", ALLOW, { NULL } },
	{ "munmap", ALLOW, { NULL } },
	{ "name_to_handle_at", ALLOW, { NULL } },
	{ "nanosleep", ALLOW, { NULL } },
	{ "newfstatat", ALLOW, { NULL } },
	{ "nfsservctl", ABSENT, { NULL } },
	{ "nice", ALLOW, { NULL } },
	{ "oldfstat", DENY, { NULL } },
	{ "oldlstat", DENY, { NULL } },
	{ "oldolduname", DENY, { NULL } },
	{ "oldstat", DENY, { NULL } },
	{ "olduname", DENY, { NULL } },
	{ "open", ALLOW, { NULL } },
	{ "open_by_handle_at", DENY, { "CAP_DAC_READ_SEARCH" } },
	{ "open_tree", DENY, { "CAP_SYS_ADMIN" } },
	{ "open_tree_attr", DENY, { "CAP_SYS_ADMIN" } },
	{ "openat", ALLOW, { NULL } },
	{ "openat2", ALLOW, { NULL } },
	{ "pause", ALLOW, { NULL } },
	{ "pciconfig_iobase", DENY, { NULL } },
	{ "pciconfig_read", DENY, { NULL } },
	{ "pciconfig_write", DENY, { NULL } },
	{ "perf_event_open", DENY, { "CAP_SYS_ADMIN", "CAP_PERFMON" } },
	{ "personality", FILTER, { NULL } },
	{ "pidfd_getfd", DENY, { "CAP_SYS_PTRACE" } },
	{ "pidfd_open", ALLOW, { NULL } },
	{ "pidfd_send_signal", ALLOW, { NULL } },
	{ "pipe", ALLOW, { NULL } },
	{ "pipe2", ALLOW, { NULL } },
	{ "pivot_root", DENY, { "CAP_SYS_ADMIN" } },
	{ "pkey_alloc", ALLOW, { NULL } },
	{ "pkey_free", ALLOW, { NULL } },
	{ "pkey_mprotect", ALLOW, { NULL } },
	{ "poll", ALLOW, { NULL } },
	{ "ppoll", ALLOW, { NULL } },
	{ "ppoll_time64", ALLOW, { NULL } },
	{ "prctl", ALLOW, { NULL } },
	{ "pread64", ALLOW, { NULL } },
	{ "preadv", ALLOW, { NULL } },
	{ "preadv2", ALLOW, { NULL } },
	{ "prlimit64", ALLOW, { NULL } },
	{ "process_madvise", DENY, { "CAP_SYS_PTRACE" } },
	{ "process_mrelease", ALLOW, { NULL } },
	{ "process_vm_readv", ALLOW, { NULL } },
	{ "process_vm_writev", ALLOW, { NULL } },
	{ "prof", ABSENT, { NULL } },
	{ "profil", ABSENT, { NULL } },
	{ "pselect6", ALLOW, { NULL } },
	{ "pselect6_time64", ALLOW, { NULL } },
	{ "ptrace", ALLOW, { NULL } },
	{ "putpmsg", ABSENT, { NULL } },
	{ "pwrite64", ALLOW, { NULL } },
	{ "pwritev", ALLOW, { NULL } },
	{ "pwritev2", ALLOW, { NULL } },
	{ "query_module", ABSENT, { NULL } },
	{ "quotactl", DENY, { "CAP_SYS_ADMIN" } },
	{ "quotactl_fd", DENY, { "CAP_SYS_ADMIN" } },
	{ "read", ALLOW, { NULL } },
	{ "readahead", ALLOW, { NULL } },
	{ "readdir", DENY, { NULL } },
	{ "readlink", ALLOW, { NULL } },
	{ "readlinkat", ALLOW, { NULL } },
	{ "readv", ALLOW, { NULL } },
	{ "reboot", DENY, { "CAP_SYS_BOOT" } },
	{ "recv", ALLOW, { NULL } },
	{ "recvfrom", ALLOW, { NULL } },
	{ "recvmmsg", ALLOW, { NULL } },
	{ "recvmmsg_time64", ALLOW, { NULL } },
	{ "recvmsg", ALLOW, { NULL } },
	{ "remap_file_pages", ALLOW, { NULL } },
	{ "removexattr", ALLOW, { NULL } },
	{ "removexattrat", ALLOW, { NULL } },
	{ "rename", ALLOW, { NULL } },
	{ "renameat", ALLOW, { NULL } },
	{ "renameat2", ALLOW, { NULL } },
	{ "request_key", DENY, { NULL } },
	{ "restart_syscall", ALLOW, { NULL } },
	{ "riscv_flush_icache", ALLOW, { NULL } },
	{ "riscv_hwprobe", ALLOW, { NULL } },
	{ "rmdir", ALLOW, { NULL } },
	{ "rseq", ALLOW, { NULL } },
	{ "rt_sigaction", ALLOW, { NULL } },
	{ "rt_sigpending", ALLOW, { NULL } },
	{ "rt_sigprocmask", ALLOW, { NULL } },
	{ "rt_sigqueueinfo", ALLOW, { NULL } },
	{ "rt_sigreturn", ALLOW, { NULL } },
	{ "rt_sigsuspend", ALLOW, { NULL } },
	{ "rt_sigtimedwait", ALLOW, { NULL } },
	{ "rt_sigtimedwait_time64", ALLOW, { NULL } },
	{ "rt_tgsigqueueinfo", ALLOW, { NULL } },
	{ "rtas", DENY, { NULL } },
	{ "s390_guarded_storage", DENY, { NULL } },
	{ "s390_pci_mmio_read", DENY, { NULL } },
	{ "s390_pci_mmio_write", DENY, { NULL } },
	{ "s390_runtime_instr", DENY, { NULL } },
	{ "s390_sthyi", DENY, { NULL } },
	{ "sched_get_priority_max", ALLOW, { NULL } },
	{ "sched_get_priority_min", ALLOW, { NULL } },
	{ "sched_getaffinity", ALLOW, { NULL } },
	{ "sched_getattr", ALLOW, { NULL } },
	{ "sched_getparam", ALLOW, { NULL } },
	{ "sched_getscheduler", ALLOW, { NULL } },
	{ "sched_rr_get_interval", ALLOW, { NULL } },
	{ "sched_rr_get_interval_time64", ALLOW, { NULL } },
	{ "sched_setaffinity", ALLOW, { NULL } },
	{ "sched_setattr", ALLOW, { NULL } },
	{ "sched_setparam", ALLOW, { NULL } },
	{ "sched_setscheduler", ALLOW, { NULL } },
	{ "sched_yield", ALLOW, { NULL } },
	{ "seccomp", ALLOW, { NULL } },
	{ "security", ABSENT, { NULL } },
	{ "select", ALLOW, { NULL } },
	{ "semctl", ALLOW, { NULL } },
	{ "semget", ALLOW, { NULL } },
	{ "semop", ALLOW, { NULL } },
	{ "semtimedop", ALLOW, { NULL } },
	{ "semtimedop_time64", ALLOW, { NULL } },
	{ "send", ALLOW, { NULL } },
	{ "sendfile", ALLOW, { NULL } },
	{ "sendfile64", ALLOW, { NULL } },
	{ "sendmmsg", ALLOW, { NULL } },
	{ "sendmsg", ALLOW, { NULL } },
	{ "sendto", ALLOW, { NULL } },
	{ "set_mempolicy", DENY, { "CAP_SYS_NICE" } },
	{ "set_mempolicy_home_node", DENY, { "CAP_SYS_NICE" } },
	{ "set_robust_list", ALLOW, { NULL } },
	{ "set_thread_area", ALLOW, { NULL } },
	{ "set_tid_address", ALLOW, { NULL } },
	{ "set_tls", ALLOW, { NULL } },
	{ "setdomainname", DENY, { "CAP_SYS_ADMIN" } },
	{ "setfsgid", ALLOW, { NULL } },
	{ "setfsgid32", ALLOW, { NULL } },
	{ "setfsuid", ALLOW, { NULL } },
	{ "setfsuid32", ALLOW, { NULL } },
	{ "setgid", ALLOW, { NULL } },
	{ "setgid32", ALLOW, { NULL } },
	{ "setgroups", ALLOW, { NULL } },
	{ "setgroups32", ALLOW, { NULL } },
	{ "sethostname", DENY, { "CAP_SYS_ADMIN" } },
	{ "setitimer", ALLOW, { NULL } },
	{ "setns", DENY, { "CAP_SYS_ADMIN" } },
	{ "setpgid", ALLOW, { NULL } },
	{ "setpriority", ALLOW, { NULL } },
	{ "setregid", ALLOW, { NULL } },
	{ "setregid32", ALLOW, { NULL } },
	{ "setresgid", ALLOW, { NULL } },
	{ "setresgid32", ALLOW, { NULL } },
	{ "setresuid", ALLOW, { NULL } },
	{ "setresuid32", ALLOW, { NULL } },
	{ "setreuid", ALLOW, { NULL } },
	{ "setreuid32", ALLOW, { NULL } },
	{ "setrlimit", ALLOW, { NULL } },
	{ "setsid", ALLOW, { NULL } },
	{ "setsockopt", ALLOW, { NULL } },
	{ "settimeofday", DENY, { "CAP_SYS_TIME" } },
	{ "setuid", ALLOW, { NULL } },
	{ "setuid32", ALLOW, { NULL } },
	{ "setxattr", ALLOW, { NULL } },
	{ "setxattrat", ALLOW, { NULL } },
	{ "sgetmask", DENY, { NULL } },
	{ "shmat", ALLOW, { NULL } },
	{ "shmctl", ALLOW, { NULL } },
	{ "shmdt", ALLOW, { NULL } },
	{ "shmget", ALLOW, { NULL } },
	{ "shutdown", ALLOW, { NULL } },
	{ "sigaction", ALLOW, { NULL } },
	{ "sigaltstack", ALLOW, { NULL } },
	{ "signal", ALLOW, { NULL } },
	{ "signalfd", ALLOW, { NULL } },
	{ "signalfd4", ALLOW, { NULL } },
	{ "sigpending", ALLOW, { NULL } },
	{ "sigprocmask", ALLOW, { NULL } },
	{ "sigreturn", ALLOW, { NULL } },
	{ "sigsuspend", ALLOW, { NULL } },
	{ "socket", FILTER, { NULL } },
	{ "socketcall", DENY, { NULL } },
	{ "socketpair", ALLOW, { NULL } },
	{ "splice", ALLOW, { NULL } },
	{ "spu_create", DENY, { NULL } },
	{ "spu_run", DENY, { NULL } },
	{ "ssetmask", DENY, { NULL } },
	{ "stat", ALLOW, { NULL } },
	{ "stat64", ALLOW, { NULL } },
	{ "statfs", ALLOW, { NULL } },
	{ "statfs64", ALLOW, { NULL } },
	{ "statmount", ALLOW, { NULL } },
	{ "statx", ALLOW, { NULL } },
	{ "stime", DENY, { "CAP_SYS_TIME" } },
	{ "stty", ABSENT, { NULL } },
	{ "subpage_prot", DENY, { NULL } },
	{ "swapcontext", ALLOW, { NULL } },
	{ "swapoff", DENY, { NULL } },
	{ "swapon", DENY, { NULL } },
	{ "switch_endian", DENY, { NULL } },
	{ "symlink", ALLOW, { NULL } },
	{ "symlinkat", ALLOW, { NULL } },
	{ "sync", ALLOW, { NULL } },
	{ "sync_file_range", ALLOW, { NULL } },
	{ "sync_file_range2", ALLOW, { NULL } },
	{ "syncfs", ALLOW, { NULL } },
	{ "sys_debug_setcontext", DENY, { NULL } },
	{ "syscall", DENY, { NULL } },
	{ "sysfs", DENY, { NULL } },
	{ "sysinfo", ALLOW, { NULL } },
	{ "syslog", DENY, { "CAP_SYSLOG", "CAP_SYS_ADMIN" } },
	{ "sysmips", DENY, { NULL } },
	{ "tee", ALLOW, { NULL } },
	{ "tgkill", ALLOW, { NULL } },
	{ "time", ALLOW, { NULL } },
	{ "timer_create", ALLOW, { NULL } },
	{ "timer_delete", ALLOW, { NULL } },
	{ "timer_getoverrun", ALLOW, { NULL } },
	{ "timer_gettime", ALLOW, { NULL } },
	{ "timer_gettime64", ALLOW, { NULL } },
	{ "timer_settime", ALLOW, { NULL } },
	{ "timer_settime64", ALLOW, { NULL } },
	{ "timerfd", ABSENT, { NULL } },
	{ "timerfd_create", ALLOW, { NULL } },
	{ "timerfd_gettime", ALLOW, { NULL } },
	{ "timerfd_gettime64", ALLOW, { NULL } },
	{ "timerfd_settime", ALLOW, { NULL } },
	{ "timerfd_settime64", ALLOW, { NULL } },
	{ "times", ALLOW, { NULL } },
	{ "tkill", ALLOW, { NULL } },
	{ "truncate", ALLOW, { NULL } },
	{ "truncate64", ALLOW, { NULL } },
	{ "tuxcall", ABSENT, { NULL } },
	{ "ugetrlimit", ALLOW, { NULL } },
	{ "ulimit", ABSENT, { NULL } },
	{ "umask", ALLOW, { NULL } },
	{ "umount", DENY, { "CAP_SYS_ADMIN" } },
	{ "umount2", DENY, { "CAP_SYS_ADMIN" } },
	{ "uname", ALLOW, { NULL } },
	{ "unlink", ALLOW, { NULL } },
	{ "unlinkat", ALLOW, { NULL } },
	{ "unshare", DENY, { "CAP_SYS_ADMIN" } },
	{ "uprobe", ALLOW, { NULL } },
	{ "uretprobe", ALLOW, { NULL } },
	{ "uselib", DENY, { NULL } },
	{ "userfaultfd", DENY, { NULL } },
	{ "usr26", ALLOW, { NULL } },
	{ "usr32", ALLOW, { NULL } },
	{ "ustat", DENY, { NULL } },
	{ "utime", ALLOW, { NULL } },
	{ "utimensat", ALLOW, { NULL } },
	{ "utimensat_time64", ALLOW, { NULL } },
	{ "utimes", ALLOW, { NULL } },
	{ "vfork", ALLOW, { NULL } },
	{ "vhangup", DENY, { "CAP_SYS_TTY_CONFIG" } },
	{ "vm86", DENY, { NULL } },
	{ "vm86old", DENY, { NULL } },
	{ "vmsplice", ALLOW, { NULL } },
	{ "vserver", ABSENT, { NULL } },
	{ "wait4", ALLOW, { NULL } },
	{ "waitid", ALLOW, { NULL } },
	{ "waitpid", ALLOW, { NULL } },
	{ "write", ALLOW, { NULL } },
	{ "writev", ALLOW, { NULL } },
};
/* clang-format on */

const struct cs_profile_row *cs_profile_row_at(size_t i)
{
	return i < CS_ARRAY_LEN(rows) ? &rows[i] : NULL;
}

/* --- by argument ----------------------------------------------------------------- */

#define NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/* CLONE_NEWTIME has the place of a signal number in clone(2): clone3 and unshare alone know it. */
#define CLONE_WITHOUT(mask) \
	{ \
		"clone", "SCMP_ACT_ALLOW", 0, 0, 1, "SCMP_CMP_MASKED_EQ", (mask), 0 \
	}
#define CLONE_WITH(flag) \
	{ \
		"clone", "SCMP_ACT_ERRNO", EPERM, 0, 1, "SCMP_CMP_MASKED_EQ", (flag), (flag) \
	}
#define PERSONALITY(value) \
	{ \
		"personality", "SCMP_ACT_ALLOW", 0, 0, 0, "SCMP_CMP_EQ", (value), 0 \
	}
#define SOCKET(family) \
	{ \
		"socket", "SCMP_ACT_ALLOW", 0, 0, 0, "SCMP_CMP_EQ", (family), 0 \
	}

static const struct cs_profile_filter filters[] = {
	CLONE_WITHOUT(NAMESPACES),
	CLONE_WITH(CLONE_NEWNS),
	CLONE_WITH(CLONE_NEWCGROUP),
	CLONE_WITH(CLONE_NEWUTS),
	CLONE_WITH(CLONE_NEWIPC),
	CLONE_WITH(CLONE_NEWUSER),
	CLONE_WITH(CLONE_NEWPID),
	CLONE_WITH(CLONE_NEWNET),
	/* those that only change what uname(2) says, and the question which is set */
	PERSONALITY(PER_LINUX),
	PERSONALITY(PER_LINUX32),
	PERSONALITY(UNAME26),
	PERSONALITY(PER_LINUX32 | UNAME26),
	PERSONALITY(0xffffffff),
	/*
	 * What programs talk over. The rest (AF_ALG, AF_VSOCK to the hypervisor, AF_BLUETOOTH, …)
	 * is code that anybody could have the kernel load: above the last of ours the answer is
	 * that of a kernel without it.
	 */
	SOCKET(AF_UNIX),
	SOCKET(AF_INET),
	SOCKET(AF_INET6),
	SOCKET(AF_NETLINK),
	SOCKET(AF_PACKET),
	{ "socket", "SCMP_ACT_ERRNO", EAFNOSUPPORT, 0, 0, "SCMP_CMP_GT", AF_PACKET, 0 },
};

const struct cs_profile_filter *cs_profile_filter_at(size_t i)
{
	return i < CS_ARRAY_LEN(filters) ? &filters[i] : NULL;
}

/* --- architectures ----------------------------------------------------------------- */

static const struct cs_profile_arch arches[] = {
	{ SCMP_ARCH_X86_64, "SCMP_ARCH_X86_64", "amd64", { SCMP_ARCH_X86, SCMP_ARCH_X32 } },
	{ SCMP_ARCH_X86, "SCMP_ARCH_X86", "x86", { 0 } },
	{ SCMP_ARCH_X32, "SCMP_ARCH_X32", "x32", { 0 } },
	{ SCMP_ARCH_AARCH64, "SCMP_ARCH_AARCH64", "arm64", { SCMP_ARCH_ARM } },
	{ SCMP_ARCH_ARM, "SCMP_ARCH_ARM", "arm", { 0 } },
	{ SCMP_ARCH_PPC64LE, "SCMP_ARCH_PPC64LE", "ppc64le", { 0 } },
	{ SCMP_ARCH_RISCV64, "SCMP_ARCH_RISCV64", "riscv64", { 0 } },
	{ SCMP_ARCH_S390X, "SCMP_ARCH_S390X", "s390x", { SCMP_ARCH_S390 } },
	{ SCMP_ARCH_S390, "SCMP_ARCH_S390", "s390", { 0 } },
	{ SCMP_ARCH_MIPS64, "SCMP_ARCH_MIPS64", "mips64", { SCMP_ARCH_MIPS, SCMP_ARCH_MIPS64N32 } },
	{ SCMP_ARCH_MIPS64N32, "SCMP_ARCH_MIPS64N32", "mips64n32", { 0 } },
	{ SCMP_ARCH_MIPS, "SCMP_ARCH_MIPS", "mips", { 0 } },
	{ SCMP_ARCH_MIPSEL64,
	  "SCMP_ARCH_MIPSEL64",
	  "mips64le",
	  { SCMP_ARCH_MIPSEL, SCMP_ARCH_MIPSEL64N32 } },
	{ SCMP_ARCH_MIPSEL64N32, "SCMP_ARCH_MIPSEL64N32", "mips64len32", { 0 } },
	{ SCMP_ARCH_MIPSEL, "SCMP_ARCH_MIPSEL", "mipsle", { 0 } },
#ifdef SCMP_ARCH_LOONGARCH64
	{ SCMP_ARCH_LOONGARCH64, "SCMP_ARCH_LOONGARCH64", "loong64", { 0 } },
#endif
};

const struct cs_profile_arch *cs_profile_arch(uint32_t token)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(arches); i++)
		if (arches[i].token == token)
			return &arches[i];
	return NULL;
}

/* --- what engines need -------------------------------------------------------------- */

/*
 * Found by refusing one call after the other to a program that only exits:
 * without these, create or start fails. Go's scheduler adds futex, when a
 * thread of it waits, and rt_sigreturn, when it is preempted.
 */
static const struct cs_profile_need needs[] = {
	{ "close", "runc" },   { "execve", "every engine" }, { "fstat", "runc 1.5" },
	{ "fstatfs", "runc" }, { "futex", "runc" },          { "getdents64", "runc" },
	{ "openat", "runc" },  { "rt_sigreturn", "runc" },   { "statx", "runc 1.5" },
	{ "write", "runc" },
};

const struct cs_profile_need *cs_profile_need_at(size_t i)
{
	return i < CS_ARRAY_LEN(needs) ? &needs[i] : NULL;
}

/* --- words ------------------------------------------------------------------------------ */

/* TRACE and NOTIFY leave it to somebody else, who may let the call go on. */
static const struct {
	const char *word;
	int allows;
} actions[] = {
	{ "SCMP_ACT_ALLOW", 1 },        { "SCMP_ACT_ERRNO", 0 },       { "SCMP_ACT_KILL", 0 },
	{ "SCMP_ACT_KILL_PROCESS", 0 }, { "SCMP_ACT_KILL_THREAD", 0 }, { "SCMP_ACT_LOG", 1 },
	{ "SCMP_ACT_NOTIFY", 1 },       { "SCMP_ACT_TRACE", 1 },       { "SCMP_ACT_TRAP", 0 },
};

int cs_profile_action_allows(const char *action)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(actions); i++)
		if (strcmp(actions[i].word, action) == 0)
			return actions[i].allows;
	return -1;
}

static const char *const ops[] = {
	"SCMP_CMP_NE", "SCMP_CMP_LT", "SCMP_CMP_LE",        "SCMP_CMP_EQ",
	"SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ",
};

bool cs_profile_action_known(const char *action)
{
	return cs_profile_action_allows(action) >= 0;
}

bool cs_profile_op_known(const char *op)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(ops); i++)
		if (strcmp(ops[i], op) == 0)
			return true;
	return false;
}

/* Those of runtime-spec that no machine of ours runs, but that a profile may name. */
static const char *const other_arches[] = {
	"SCMP_ARCH_PPC",  "SCMP_ARCH_PPC64",       "SCMP_ARCH_PARISC", "SCMP_ARCH_PARISC64",
	"SCMP_ARCH_M68K", "SCMP_ARCH_LOONGARCH64", "SCMP_ARCH_SH",     "SCMP_ARCH_SHEB",
};

bool cs_profile_arch_known(const char *arch)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(arches); i++)
		if (strcmp(arches[i].name, arch) == 0)
			return true;
	for (size_t i = 0; i < CS_ARRAY_LEN(other_arches); i++)
		if (strcmp(other_arches[i], arch) == 0)
			return true;
	return false;
}
