#include "runtime/oci/machine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "linux/apparmor.h"
#include "linux/huge_page_sizes.h"
#include "linux/namespaces/mounts.h"
#include "linux/namespaces/user_namespace.h"
#include "linux/process.h"
#include "runtime/oci/crun/crun.h"
#include "runtime/oci/program_features.h"

namespace plimsoll::runtime {

bool HostFeatures::HasController(absl::string_view name) const {
  return std::find(controllers.begin(), controllers.end(), name) != controllers.end();
}

std::string HostFeatures::OtherThanCrun(const std::string& program) const {
  if (program.empty()) return default_program;
  const auto known = programs.find(program);
  return known != programs.end() && IsCrun(known->second) ? "" : program;
}

// Before Linux 6.1 a group of v2 has no memory.swap.* with swapaccount=0, nor by default in some
// kernels (CONFIG_MEMCG_SWAP_ENABLED; mm/memcontrol.c, mem_cgroup_swap_init), and none has it
// without CONFIG_SWAP. The machine's root has no files of controllers, but the root of a
// container's cgroup namespace has; if any group has those of memory, so has one directly below the
// root.
bool AccountsSwap(const FsRoot& host, linux::CgroupLayout layout) {
  constexpr absl::string_view kMount = "sys/fs/cgroup/";
  if (layout != linux::CgroupLayout::kV2) {
    return host.Exists(absl::StrCat(kMount, "memory/memory.memsw.limit_in_bytes"));
  }
  std::vector<std::string> groups = {""};
  for (const std::string& name : host.List(kMount).value_or(std::vector<std::string>())) {
    groups.push_back(absl::StrCat(name, "/"));
  }
  for (const std::string& group : groups) {
    const std::string files = absl::StrCat(kMount, group, "memory.");
    if (host.Exists(files + "max")) return host.Exists(files + "swap.max");
  }
  return host.Exists("proc/swaps");
}

void LookAtSelinux(const FsRoot& host, HostFeatures* machine) {
  machine->selinux.reset();
  machine->selinux_fault = absl::OkStatus();
  if (!linux::HasSelinux(host)) return;
  absl::StatusOr<linux::SelinuxLabels> labels = linux::ReadSelinuxLabels(host);
  machine->selinux_fault = labels.status();
  if (labels.ok()) machine->selinux = *std::move(labels);
}

absl::StatusOr<HostFeatures> LookAtMachine(const FsRoot& host, const linux::CgroupManager& cgroups,
                                           absl::string_view restrict_oom_score_adj) {
  HostFeatures machine;
  machine.layout = cgroups.layout();
  machine.controllers = cgroups.Controllers();
  if (machine.layout == linux::CgroupLayout::kHybrid) {
    machine.unified_controllers = cgroups.UnifiedControllersOnHybrid();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(machine.capabilities, OwnCapabilities(host));
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::ProcessId self, linux::IdentifyProcess(host, getpid()));
  PLIMSOLL_ASSIGN_OR_RETURN(machine.oom_score_adj, linux::ReadOomScoreAdj(host, self));
  if (restrict_oom_score_adj == "auto") {
    PLIMSOLL_ASSIGN_OR_RETURN(const CapabilityMask bit, CapabilityBit("SYS_RESOURCE"));
    machine.lowers_oom_score_adj = (machine.capabilities & bit) != 0;
  } else if (restrict_oom_score_adj == "true" || restrict_oom_score_adj == "false") {
    machine.lowers_oom_score_adj = restrict_oom_score_adj == "false";
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("restrict_oom_score_adj is \"", restrict_oom_score_adj,
                     "\"; valid are \"auto\", \"true\" and \"false\""));
  }
  machine.swap_accounting = AccountsSwap(host, machine.layout);
  machine.huge_page_sizes = linux::ReadHugePageSizes(host);
  machine.overlayfs = linux::HasFileSystem("overlay");
  machine.recursive_read_only = linux::HasMountSetattr();
  machine.apparmor = linux::HasAppArmor(host);
  LookAtSelinux(host, &machine);
  machine.root_is_shared = RootIsShared(host);
  return machine;
}

void LookAtPrograms(const std::set<std::string>& programs, HostFeatures* machine) {
  for (const std::string& program : programs) {
    machine->programs[program] = VersionOf(program).value_or("");
    if (!linux::HasMountSetattr()) continue;  // if the kernel can't, no program can
    const absl::StatusOr<bool> knows = KnowsRecursiveReadOnly(program);
    if (!knows.ok()) {
      machine->killed_programs.insert(program);
      continue;
    }
    (*knows ? machine->recursive_read_only_programs : machine->programs_without_recursive_read_only)
        .insert(program);
  }
}

bool RootIsShared(const FsRoot& host) {
  const absl::StatusOr<UniqueFd> root = host.OpenFile(".", O_PATH);
  if (!root.ok()) return false;
  const absl::StatusOr<linux::MountInfo> mount = linux::MountOf(host, *root);
  return mount.ok() && mount->shared;
}

absl::Status CheckUserNamespaces(const FsRoot& state, const FsRoot& run) {
  struct utsname kernel = {};
  int major = 0;
  int minor = 0;
  if (uname(&kernel) != 0 || sscanf(kernel.release, "%d.%d", &major, &minor) != 2) {
    return absl::FailedPreconditionError("the kernel's version is unknown");
  }
  if (major < 5 || (major == 5 && minor < 19)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "Linux ", kernel.release, " has no overlays of id-mapped layers: it needs 5.19 or newer"));
  }
  PLIMSOLL_RETURN_IF_ERROR(linux::CheckIdMappedMounts(state));
  return CheckOpenToOthers(run);
}

absl::Status CheckOpenToOthers(const FsRoot& run) {
  const std::vector<std::string> parts = absl::StrSplit(run.path(), '/', absl::SkipEmpty());
  std::string path;
  for (const std::string& part : parts) {
    absl::StrAppend(&path, "/", part);
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("look at ", path));
    if ((info.st_mode & S_IXOTH) != 0) continue;
    return absl::FailedPreconditionError(absl::StrCat("other users can't reach the run directory ",
                                                      run.path(), ": ", path,
                                                      " lacks the permission \"x\" for them"));
  }
  return absl::OkStatus();
}

namespace {

void AddPrograms(const HostFeatures& machine, std::vector<std::string>* lacks) {
  for (const std::string& program : machine.programs_without_recursive_read_only) {
    lacks->push_back(absl::StrCat(
        "no recursive read-only mounts for runtime handlers with the program ", program,
        ": it doesn't list the mount option rro (\"", program, " features\")"));
  }
  for (const auto& [program, version] : machine.programs) {
    if (!version.empty() || machine.killed_programs.contains(program)) continue;
    lacks->push_back(absl::StrCat("the program ", program,
                                  " of a runtime handler may be no OCI runtime: it doesn't answer "
                                  "--version with \"NAME version VERSION\", as crun and runc do"));
  }
  for (const std::string& program : machine.killed_programs) {
    lacks->push_back(absl::StrCat(
        "the OCI runtime ", program.empty() ? "crun" : program,
        " was killed each of three times that it was asked what it can (out of memory?), or "
        "did not answer: until plimsolld's next start it gets no recursive read-only mounts"));
  }
}

}  // namespace

std::vector<std::string> LimitationsOf(const HostFeatures& machine) {
  std::vector<std::string> lacks;
  if (!machine.overlayfs) {
    lacks.push_back("the kernel has no overlay file system (module overlay): no container starts");
  }
  if (!machine.lowers_oom_score_adj) {
    lacks.push_back(absl::StrCat(
        "oom_score_adj can't be lowered (no CAP_SYS_RESOURCE, or restrict_oom_score_adj is set): "
        "containers that ask for less than ",
        machine.oom_score_adj, " get ", machine.oom_score_adj,
        ", so the kernel's OOM killer doesn't spare guaranteed pods"));
  }
  constexpr CapabilityMask kAll = (CapabilityMask{1} << 41) - 1;
  if (const CapabilityMask missing = kAll & ~machine.capabilities; missing != 0) {
    lacks.push_back(absl::StrCat("no ", absl::StrJoin(CapabilityNames(missing), ", "),
                                 ": privileged containers run without them"));
  }
  if (!machine.unified_controllers.empty()) {
    lacks.push_back(absl::StrCat(
        "cgroup controllers ", absl::StrJoin(machine.unified_controllers, ", "),
        " are on the v2 hierarchy of a hybrid machine: their limits are not enforced"));
  }
  for (const char* controller : {"cpu", "cpuset", "memory", "pids", "hugetlb"}) {
    const auto& unified = machine.unified_controllers;
    if (machine.HasController(controller)) continue;
    if (std::find(unified.begin(), unified.end(), controller) != unified.end()) continue;
    lacks.push_back(
        absl::StrCat("no cgroup controller ", controller, ": its limits are not enforced"));
  }
  if (!machine.user_namespaces.ok()) {
    lacks.push_back(
        absl::StrCat("no user namespaces for pods: ", machine.user_namespaces.message()));
  }
  if (!machine.recursive_read_only) {
    lacks.push_back("no recursive read-only mounts: they need Linux 5.12 and crun 1.4");
  }
  AddPrograms(machine, &lacks);
  if (!machine.root_is_shared) {
    lacks.push_back(
        "the mount at / is not shared: mounts with propagation HostToContainer or Bidirectional "
        "are refused, except on a shared mount (\"mount --make-rshared /\" shares all)");
  }
  if (!machine.selinux_fault.ok()) {
    lacks.push_back(absl::StrCat("SELinux is on, but containers get no labels: ",
                                 machine.selinux_fault.message()));
  }
  if (!machine.swap_accounting) {
    lacks.push_back("no swap accounting in the kernel: swap limits are not enforced");
  }
  return lacks;
}

}  // namespace plimsoll::runtime
