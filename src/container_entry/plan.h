// The plan of plimsoll-exec: how a command enters a container. A list of "key=value" strings, each
// ended by a NUL byte (monitor/launch_plan.h). Descriptors and numbers are decimal, masks of
// capabilities hexadecimal with bit n for capability n of <linux/capability.h>.
//   log         descriptor of a file for the reason of a failure to enter
//   entered     descriptor that is closed once the command is executed
//   init        descriptor of a pidfd of the container's init
//   pid         the same init's pid, by which its namespaces are compared with ours
//   enter       file to write the own pid to (a resctrl group's tasks); repeated
//   group       file of a control group, to which "0" is written for the writer itself; repeated
//   into        directory of a v2 control group to be born in
//   oom         oom_score_adj             nofile      RLIMIT_NOFILE, "soft:hard"
//   rlimit      a limit, "NUMBER:soft:hard", after nofile; repeated
//   label       what /proc/thread-self/attr/exec gets: AppArmor's or SELinux's word
//   filter      descriptor of a file with a seccomp filter
//   console     socket, relative to the working directory, that is sent the master of a terminal;
//               without it, the command has none
//   cwd         working directory
//   uid, gid    of the command            groups      supplemental ones, "1,2,3"; may be empty
//   bounding, effective, permitted, inheritable, ambient     capabilities
//   nnp         is there for no_new_privs
//   env         variable; repeated        arg         word of the command; repeated
#ifndef PLIMSOLL_CONTAINER_ENTRY_PLAN_H_
#define PLIMSOLL_CONTAINER_ENTRY_PLAN_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "monitor/launch_plan.h"

namespace plimsoll::entry {

// SECCOMP filters have at most this many instructions (BPF_MAXINSNS).
inline constexpr size_t kMaxFilter = 4096;
inline constexpr size_t kMaxGroups = 65536;  // NGROUPS_MAX

// Capability sets of a process.
struct CapabilitySets {
  uint64_t bounding = 0;
  uint64_t effective = 0;
  uint64_t permitted = 0;
  uint64_t inheritable = 0;
  uint64_t ambient = 0;
};

// The plan as read before anything else is done. Pointers lead into its text.
struct Plan {
  monitor::LaunchPlan text;
  int log = -1;
  int entered = -1;
  int init = -1;
  int filter = -1;
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  CapabilitySets capabilities;
  bool no_new_privileges = false;
  char** arguments = nullptr;    // null-terminated
  char** environment = nullptr;  // null-terminated
};

// Reads the plan from a descriptor and closes that. False: it holds no plan.
bool ReadPlan(int descriptor, Plan* plan);
// The same from a text, which must outlive the plan. The two lists have memory of their own.
bool ParsePlan(const char* text, size_t size, Plan* plan);

// Parses `groups` ("1,2,3"; empty for none) into an array of kMaxGroups. False: it is no such list,
// or is longer.
bool ParseGroups(const char* list, gid_t* groups, size_t* count);

// Parses the two numbers of `nofile`. False: it has no such numbers.
bool ParseLimits(const char* text, uint64_t* soft, uint64_t* hard);
// Parses the three of `rlimit`.
bool ParseResourceLimit(const char* text, int* resource, uint64_t* soft, uint64_t* hard);

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_CONTAINER_ENTRY_PLAN_H_
