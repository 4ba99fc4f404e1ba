// The RuntimeDefault profile.
#include <linux/sched.h>
#include <sys/socket.h>

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "runtime/oci/seccomp.h"
#include "runtime/oci/seccomp_filter.h"

namespace plimsoll::runtime {
namespace {

// Calls for any process. Names of other architectures' calls (the "...32" and "...64" ones) are
// there for 32-bit programs.
constexpr char kAllowed[] =
    // files and directories
    "access chdir chmod chown chown32 close close_range copy_file_range creat dup dup2 dup3 "
    "faccessat faccessat2 fadvise64 fadvise64_64 fallocate fchdir fchmod fchmodat fchmodat2 fchown "
    "fchown32 fchownat fcntl fcntl64 fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr "
    "fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futimesat getcwd "
    "getdents "
    "getdents64 getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch lchown "
    "lchown32 lgetxattr link linkat listxattr llistxattr _llseek lremovexattr lseek lsetxattr "
    "lstat "
    "lstat64 mkdir mkdirat mknod mknodat name_to_handle_at newfstatat open openat openat2 pipe "
    "pipe2 "
    "pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv "
    "removexattr rename renameat renameat2 rmdir sendfile sendfile64 setxattr splice stat stat64 "
    "statfs statfs64 statx symlink symlinkat sync sync_file_range sync_file_range2 syncfs tee "
    "truncate truncate64 umask unlink unlinkat utime utimensat utimensat_time64 utimes vmsplice "
    "write writev "
    // memory
    "arch_prctl brk madvise map_shadow_stack membarrier memfd_create "
    "memfd_secret mincore mlock mlock2 mlockall mmap mmap2 modify_ldt mprotect mremap mseal msync "
    "munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_mrelease "
    "remap_file_pages "
    // processes, threads, identity
    "capget capset execve execveat exit exit_group fork getcpu getegid getegid32 geteuid geteuid32 "
    "getgid getgid32 getgroups getgroups32 getpgid getpgrp getpid getppid getpriority getresgid "
    "getresgid32 getresuid getresuid32 get_robust_list getrlimit getrusage getsid get_thread_area "
    "gettid getuid getuid32 ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset "
    "landlock_restrict_self pidfd_open pidfd_send_signal prctl prlimit64 restart_syscall rseq "
    "sched_getaffinity sched_getattr sched_getparam sched_get_priority_max sched_get_priority_min "
    "sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64 sched_setaffinity "
    "sched_setattr sched_setparam sched_setscheduler sched_yield seccomp setfsgid setfsgid32 "
    "setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setpgid setpriority setregid "
    "setregid32 setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setrlimit "
    "set_robust_list setsid set_thread_area set_tid_address setuid setuid32 tgkill tkill "
    "ugetrlimit "
    "vfork wait4 waitid waitpid "
    // information and time
    "adjtimex clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime "
    "clock_gettime64 clock_nanosleep clock_nanosleep_time64 getitimer getrandom gettimeofday "
    "nanosleep setitimer sysinfo time timer_create timer_delete timer_getoverrun timer_gettime "
    "timer_gettime64 timer_settime timer_settime64 timerfd_create timerfd_gettime "
    "timerfd_gettime64 "
    "timerfd_settime timerfd_settime64 times uname "
    // signals, waiting, locks
    "alarm epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait "
    "epoll_wait_old eventfd eventfd2 futex futex_requeue futex_time64 futex_wait futex_waitv "
    "futex_wake io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64 io_setup "
    "io_submit ioctl pause poll ppoll ppoll_time64 pselect6 pselect6_time64 rt_sigaction "
    "rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait "
    "rt_sigtimedwait_time64 rt_tgsigqueueinfo select _newselect sigaltstack signal signalfd "
    "signalfd4 sigaction sigpending sigprocmask sigreturn sigsuspend "
    // between processes; the network (socket itself: see below)
    "accept accept4 bind connect getpeername getsockname getsockopt ipc listen mq_getsetattr "
    "mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 "
    "mq_unlink msgctl msgget msgrcv msgsnd recv recvfrom recvmmsg recvmmsg_time64 recvmsg semctl "
    "semget semop semtimedop semtimedop_time64 send sendmmsg sendmsg sendto setsockopt shmat "
    "shmctl "
    "shmdt shmget shutdown socketcall socketpair "
    // tracing one's own children: safe since Linux 4.8, where the tracer can't escape a filter
    "kcmp pidfd_getfd process_madvise process_vm_readv process_vm_writev ptrace "
    // 32-bit ARM alone: its thread pointer and caches, calls with their arguments in another order
    "arm_fadvise64_64 arm_sync_file_range breakpoint cacheflush set_tls";

// Calls that need a capability anyway are allowed with it.
struct Privileged {
  const char* capability;
  const char* calls;
};
constexpr Privileged kPrivileged[] = {
    {"DAC_READ_SEARCH", "open_by_handle_at"},
    {"SYS_ADMIN",
     "bpf clone clone3 fanotify_init fanotify_mark fsconfig fsmount fsopen fspick listmount "
     "lookup_dcookie mount mount_setattr move_mount open_tree perf_event_open pivot_root quotactl "
     "quotactl_fd setdomainname sethostname setns statmount syslog umount umount2 unshare"},
    {"SYS_BOOT", "reboot"},
    {"SYS_CHROOT", "chroot"},
    {"SYS_MODULE", "delete_module finit_module init_module"},
    {"SYS_NICE", "get_mempolicy mbind set_mempolicy set_mempolicy_home_node"},
    {"SYS_PACCT", "acct"},
    {"SYS_RAWIO", "ioperm iopl"},
    {"SYS_TIME", "clock_settime clock_settime64 settimeofday stime"},
    {"SYS_TTY_CONFIG", "vhangup"},
    {"SYSLOG", "syslog"},
    {"BPF", "bpf"},
    {"PERFMON", "perf_event_open"},
};

// Never allowed; the answer "no such call" would make programs look for another way. Shared kernel
// keyrings, replacing the kernel, userfaultfd (a favourite of exploits), io_uring (its operations
// pass no filter).
constexpr char kRefused[] =
    "_sysctl add_key create_module get_kernel_syms io_uring_enter io_uring_register io_uring_setup "
    "kexec_file_load kexec_load keyctl migrate_pages move_pages nfsservctl query_module "
    "request_key "
    "swapoff swapon sysfs uselib userfaultfd ustat vm86 vm86old";

absl::Status AddAll(SeccompFilter* filter, uint32_t action, absl::string_view calls) {
  for (absl::string_view call : absl::StrSplit(calls, ' ', absl::SkipEmpty())) {
    PLIMSOLL_RETURN_IF_ERROR(filter->AddRule(action, std::string(call)));
  }
  return absl::OkStatus();
}

// clone(2) without new namespaces; clone3 hides its flags in memory, where no filter can see them,
// so it "doesn't exist" (the default action) and the C library uses clone.
absl::Status AddClone(SeccompFilter* filter) {
  constexpr uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                   CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP;
#ifdef __s390x__
  constexpr unsigned kFlags = 1;
#else
  constexpr unsigned kFlags = 0;
#endif
  return filter->AddRule(SCMP_ACT_ALLOW, "clone", {{kFlags, SCMP_CMP_MASKED_EQ, kNamespaces, 0}});
}

absl::Status AddPersonalities(SeccompFilter* filter) {
  // PER_LINUX, PER_LINUX32, each also with UNAME26, and the query.
  for (const uint64_t persona : {0x0ULL, 0x8ULL, 0x20000ULL, 0x20008ULL, 0xffffffffULL}) {
    PLIMSOLL_RETURN_IF_ERROR(
        filter->AddRule(SCMP_ACT_ALLOW, "personality", {{0, SCMP_CMP_EQ, persona, 0}}));
  }
  return absl::OkStatus();
}

// AF_VSOCK reaches the hypervisor past every network policy.
absl::Status AddSockets(SeccompFilter* filter) {
  return filter->AddRule(SCMP_ACT_ALLOW, "socket", {{0, SCMP_CMP_NE, AF_VSOCK, 0}});
}

absl::Status AddArchitectures(uint32_t architecture, SeccompFilter* filter) {
  if (architecture == SCMP_ARCH_X86_64) {
    PLIMSOLL_RETURN_IF_ERROR(filter->AddArchitecture(SCMP_ARCH_X86));
    return filter->AddArchitecture(SCMP_ARCH_X32);
  }
  if (architecture == SCMP_ARCH_AARCH64) return filter->AddArchitecture(SCMP_ARCH_ARM);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Seccomp> CompileDefaultSeccomp(CapabilityMask capabilities) {
  return CompileDefaultSeccompOf(seccomp_arch_native(), capabilities);
}

absl::StatusOr<Seccomp> CompileDefaultSeccompOf(uint32_t architecture,
                                                CapabilityMask capabilities) {
  PLIMSOLL_ASSIGN_OR_RETURN(SeccompFilter filter,
                            SeccompFilter::Make(SCMP_ACT_ERRNO(ENOSYS), architecture));
  PLIMSOLL_RETURN_IF_ERROR(AddArchitectures(architecture, &filter));
  PLIMSOLL_RETURN_IF_ERROR(AddAll(&filter, SCMP_ACT_ALLOW, kAllowed));
  PLIMSOLL_RETURN_IF_ERROR(AddPersonalities(&filter));
  PLIMSOLL_RETURN_IF_ERROR(AddSockets(&filter));

  std::string held;
  std::string missing;
  for (const Privileged& privileged : kPrivileged) {
    PLIMSOLL_ASSIGN_OR_RETURN(const CapabilityMask bit, CapabilityBit(privileged.capability));
    absl::StrAppend((capabilities & bit) != 0 ? &held : &missing, " ", privileged.calls);
  }
  PLIMSOLL_RETURN_IF_ERROR(AddAll(&filter, SCMP_ACT_ALLOW, held));
  PLIMSOLL_ASSIGN_OR_RETURN(const CapabilityMask admin, CapabilityBit("SYS_ADMIN"));
  if ((capabilities & admin) == 0) PLIMSOLL_RETURN_IF_ERROR(AddClone(&filter));
  for (absl::string_view call : absl::StrSplit(missing, ' ', absl::SkipEmpty())) {
    const std::string padded = absl::StrCat(held, " ");
    // clone has a rule above; clone3 must seem not to exist.
    if (call == "clone" || call == "clone3") continue;
    if (absl::StrContains(padded, absl::StrCat(" ", call, " "))) continue;
    PLIMSOLL_RETURN_IF_ERROR(filter.AddRule(SCMP_ACT_ERRNO(EPERM), std::string(call)));
  }
  PLIMSOLL_RETURN_IF_ERROR(AddAll(&filter, SCMP_ACT_ERRNO(EPERM), kRefused));
  return filter.Export();
}

}  // namespace plimsoll::runtime
