// Properties of the machine that decide how a container is started. Looked up once.
#ifndef PLIMSOLL_RUNTIME_OCI_MACHINE_H_
#define PLIMSOLL_RUNTIME_OCI_MACHINE_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "linux/selinux.h"
#include "runtime/oci/capabilities.h"

namespace plimsoll::runtime {

struct HostFeatures {
  linux::CgroupLayout layout = linux::CgroupLayout::kV2;
  std::vector<std::string> controllers;          // can set limits
  std::vector<std::string> unified_controllers;  // left to v2 on a hybrid machine
  CapabilityMask capabilities = 0;               // this process's own
  int oom_score_adj = 0;                         // this process's own
  bool lowers_oom_score_adj = true;              // false: values below our own are raised to it
  bool swap_accounting = true;                   // limits of swap exist
  // Sizes of huge pages, as control files spell them ("2MB"); nullopt: unknown.
  std::optional<std::set<std::string>> huge_page_sizes;
  bool overlayfs = true;  // root filesystems need it
  // OCI runtimes by path, beside the default one, with their versions ("runc 1.1.5"; empty:
  // unknown).
  std::map<std::string, std::string> programs;
  // The default OCI runtime, if it isn't crun or may not be: its path. Empty: crun.
  std::string default_program;
  bool recursive_read_only = true;  // the default one makes mounts read-only with those below them
  std::set<std::string> recursive_read_only_programs;  // other OCI runtimes that can
  // OCI runtimes that don't say they can, though the kernel could.
  std::set<std::string> programs_without_recursive_read_only;
  // OCI runtimes that a signal killed each time they were asked: what they can is unknown.
  std::set<std::string> killed_programs;
  bool root_is_shared = true;  // whether mounts spread from / by default
  bool apparmor = false;       // the kernel has it enabled
  // Labels that the policy gives containers; nullopt: SELinux is off, or `selinux_fault`.
  std::optional<linux::SelinuxLabels> selinux;
  absl::Status selinux_fault;  // the reason why containers can't be labelled though it is on
  // Whether pods may have user namespaces of their own: OK, or the reason why not. Set by the owner
  // of the directories.
  absl::Status user_namespaces;

  bool HasController(absl::string_view name) const;
  // The path of the OCI runtime that makes a container, unless it is crun or calls it: such a
  // program is asked by its own commands, and gets nothing that only crun reads. `program`: of a
  // CreateRequest.
  std::string OtherThanCrun(const std::string& program) const;
  // For the OCI runtime of this path; empty: the default one.
  bool HasRecursiveReadOnly(const std::string& program) const {
    return program.empty() ? recursive_read_only : recursive_read_only_programs.contains(program);
  }
};

// `restrict_oom_score_adj`: "auto", "true" or "false" (see OciOptions).
absl::StatusOr<HostFeatures> LookAtMachine(const FsRoot& host, const linux::CgroupManager& cgroups,
                                           absl::string_view restrict_oom_score_adj);

// Whether the kernel limits swap by control groups. On v2 a group shows it; as long as there is
// none, whether the kernel can swap at all.
bool AccountsSwap(const FsRoot& host, linux::CgroupLayout layout);

// Fills in the members about SELinux.
void LookAtSelinux(const FsRoot& host, HostFeatures* machine);

// Fills in the features that these OCI runtimes report. Runs them.
void LookAtPrograms(const std::set<std::string>& programs, HostFeatures* machine);

// Whether the mount that `host` is on is shared, so that mounts below it spread. False if unknown.
bool RootIsShared(const FsRoot& host);

// Whether user namespaces work with root filesystems made in these two: `state` has their layers,
// `run` their mount points. FAILED_PRECONDITION names the missing part.
absl::Status CheckUserNamespaces(const FsRoot& state, const FsRoot& run);
// The part of it that administrators control: crun looks for the root filesystem as the user
// namespace's root, who is nobody on the host, so every directory of the way has "x" for all.
absl::Status CheckOpenToOthers(const FsRoot& run);

// The machine's limitations and their cost, one sentence each.
std::vector<std::string> LimitationsOf(const HostFeatures& machine);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_MACHINE_H_
