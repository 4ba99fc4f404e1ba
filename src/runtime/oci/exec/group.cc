#include "runtime/oci/exec/group.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/fault_injection.h"
#include "base/monotonic_time.h"
#include "base/random_id.h"
#include "base/status.h"
#include "linux/cgroup/members.h"

namespace plimsoll::runtime {
namespace {

constexpr char kMount[] = "sys/fs/cgroup";

// Hierarchies of a v1 or hybrid machine, in the order of preference.
constexpr const char* kHierarchies[] = {"unified", "systemd", "freezer", "pids"};

constexpr char kPrefix[] = "exec-";
constexpr size_t kDigits = 16;

// For processes left by commands. Not the name of a command's group: recovery ignores it.
constexpr char kLeftGroup[] = "left-by-exec";

// Groups whose removal failed: no descriptor was free, or a process won't end.
constexpr size_t kMostLeft = 100;
struct LeftGroups {
  absl::Mutex mutex;
  std::vector<ExecGroup> groups ABSL_GUARDED_BY(mutex);
};
LeftGroups& Left() {
  static auto* const left = new LeftGroups;
  return *left;
}

// Where a hierarchy is, below the host's root; "" is v2's.
std::string MountOf(absl::string_view hierarchy) {
  return absl::StrCat(kMount, hierarchy.empty() ? "" : "/", hierarchy);
}

bool IsGroupName(absl::string_view name) {
  return absl::ConsumePrefix(&name, kPrefix) && name.size() == kDigits &&
         absl::c_all_of(name, [](char c) { return absl::ascii_isxdigit(c); });
}

}  // namespace

absl::StatusOr<std::vector<ExecGroup>> ExecGroup::FindAll(const FsRoot& host,
                                                          linux::CgroupLayout layout,
                                                          absl::string_view container_group) {
  std::vector<std::string> hierarchies = {""};
  if (layout != linux::CgroupLayout::kV2) {
    hierarchies.assign(std::begin(kHierarchies), std::end(kHierarchies));
  }
  std::vector<ExecGroup> found;
  for (const std::string& hierarchy : hierarchies) {
    const absl::StatusOr<std::vector<std::string>> names =
        host.List(absl::StrCat(MountOf(hierarchy), "/", container_group));
    if (absl::IsNotFound(names.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(names.status());
    for (const std::string& name : *names) {
      if (IsGroupName(name)) found.push_back(ExecGroup(host, hierarchy, container_group, name));
    }
  }
  return found;
}

absl::StatusOr<ExecGroup> ExecGroup::Make(const FsRoot& host, linux::CgroupLayout layout,
                                          absl::string_view container_group) {
  std::string hierarchy;
  if (layout != linux::CgroupLayout::kV2) {
    for (const char* candidate : kHierarchies) {
      if (!host.Exists(absl::StrCat(MountOf(candidate), "/", container_group))) continue;
      hierarchy = candidate;
      break;
    }
  }
  const absl::StatusOr<FsRoot> parent =
      host.Sub(absl::StrCat(MountOf(hierarchy), "/", container_group));
  if (!parent.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the container has no control group: ", parent.status().message()));
  }
  TryLeftAgain();
  const std::string name = absl::StrCat(kPrefix, RandomId().substr(0, kDigits));
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("make", parent->PathOf(name)));
  if (mkdirat(parent->fd(), name.c_str(), 0755) != 0) {
    if (errno == ENOENT) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the container has no control group: ", parent->path(), " has just been removed"));
    }
    return ErrnoStatus(errno, absl::StrCat("make ", parent->PathOf(name)));
  }
  return ExecGroup(host, hierarchy, container_group, name);
}

ExecGroup::ExecGroup(FsRoot host, std::string hierarchy, absl::string_view container_group,
                     std::string name)
    : host_(std::move(host)),
      hierarchy_(std::move(hierarchy)),
      container_(
          absl::StrCat("/", absl::StripPrefix(absl::StripSuffix(container_group, "/"), "/"))),
      name_(std::move(name)) {}

std::string ExecGroup::group() const {
  return absl::StrCat(container_ == "/" ? "" : container_, "/", name_);
}

std::string ExecGroup::Path(absl::string_view group) const {
  return absl::StrCat(MountOf(hierarchy_), group);
}

std::string ExecGroup::RuntimeOption() const {
  return hierarchy_.empty() ? absl::StrCat("--cgroup=", name_) : std::string();
}

bool ExecGroup::AddToPlan(PlanWriter* plan) const {
  if (hierarchy_.empty()) return false;
  plan->Add("private", host_.PathOf(kMount));
  plan->Add("bind", directory());
  plan->Add("over", host_.PathOf(Path(container_)));
  return true;
}

absl::StatusOr<linux::CgroupTree> ExecGroup::Tree() const {
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot mount, host_.Sub(MountOf(hierarchy_)));
  return linux::CgroupTree(std::move(mount));
}

absl::Status ExecGroup::Kill(absl::Time deadline) const {
  absl::StatusOr<linux::CgroupTree> tree = Tree();
  if (absl::IsNotFound(tree.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(tree.status());
  return linux::KillProcesses({&*tree}, /*freezer=*/nullptr, group(), deadline);
}

// A process in a command's group has a caller who waits for it; these become the container's.
void ExecGroup::MoveOut() const {
  absl::StatusOr<linux::CgroupTree> tree = Tree();
  if (!tree.ok() || MoveTo(&*tree, container_)) return;
  // On v2 a group that gives controllers to its children can't hold processes.
  const std::string beside = absl::StrCat(container_, "/", kLeftGroup);
  if (host_.MakeDirs(Path(beside), 0755).ok()) MoveTo(&*tree, beside);
}

bool ExecGroup::MoveTo(linux::CgroupTree* tree, const std::string& to) const {
  // Repeated for forks made meanwhile.
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    const auto processes = linux::ListProcesses({tree}, group(), /*recursive=*/false);
    if (!processes.ok() || processes->empty()) return true;
    for (const pid_t pid : *processes) {
      const absl::Status moved = tree->Write(to, "cgroup.procs", absl::StrCat(pid));
      if (!moved.ok() && ErrnoOf(moved) != ESRCH) return false;
    }
  }
  return false;
}

bool ExecGroup::TryRemove() const {
  const absl::Status removed = host_.RemoveDir(Path(group()));
  return removed.ok() || absl::IsNotFound(removed);
}

void ExecGroup::Remove() const {
  // The last process may still be ending: it is in the group, and can't be moved. On a busy machine
  // that takes some turns of the scheduler.
  constexpr absl::Duration kPatience = absl::Milliseconds(300);
  constexpr absl::Duration kLongestPause = absl::Milliseconds(10);
  const absl::Time deadline = MonotonicNow() + kPatience;
  absl::Duration pause = absl::Milliseconds(1);
  do {
    if (TryRemove()) return;
    MoveOut();
    if (TryRemove()) return;
    absl::SleepFor(pause);
    pause = std::min(2 * pause, kLongestPause);
  } while (MonotonicNow() < deadline);
  if (TryRemove()) return;
  LeftGroups& left = Left();
  absl::MutexLock lock(&left.mutex);
  if (left.groups.size() < kMostLeft) left.groups.push_back(*this);
}

void ExecGroup::TryLeftAgain() {
  LeftGroups& left = Left();
  std::vector<ExecGroup> groups;
  {
    const absl::MutexLock lock(&left.mutex);
    groups.swap(left.groups);
  }
  std::erase_if(groups, [](const ExecGroup& group) {
    group.MoveOut();
    return group.TryRemove();
  });
  const absl::MutexLock lock(&left.mutex);
  for (const ExecGroup& group : groups) {
    if (left.groups.size() < kMostLeft) left.groups.push_back(group);
  }
}

}  // namespace plimsoll::runtime
