#include "runtime/oci/exec_group.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/fault_injection.h"
#include "base/monotonic_time.h"
#include "base/random_id.h"
#include "base/status.h"
#include "linux/cgroup/pinned_members.h"
#include "linux/process.h"

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
    const std::string container =
        absl::StrCat(kMount, hierarchy.empty() ? "" : "/", hierarchy, "/", container_group);
    const absl::StatusOr<std::vector<std::string>> names = host.List(container);
    if (absl::IsNotFound(names.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(names.status());
    for (const std::string& name : *names) {
      if (IsGroupName(name)) found.push_back(ExecGroup(host, hierarchy, container, name));
    }
  }
  return found;
}

absl::StatusOr<ExecGroup> ExecGroup::Make(const FsRoot& host, linux::CgroupLayout layout,
                                          absl::string_view container_group) {
  std::string hierarchy;
  if (layout != linux::CgroupLayout::kV2) {
    for (const char* candidate : kHierarchies) {
      if (!host.Exists(absl::StrCat(kMount, "/", candidate, "/", container_group))) continue;
      hierarchy = candidate;
      break;
    }
  }
  const std::string container =
      absl::StrCat(kMount, hierarchy.empty() ? "" : "/", hierarchy, "/", container_group);
  const absl::StatusOr<FsRoot> parent = host.Sub(container);
  if (!parent.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the container has no control group: ", parent.status().message()));
  }
  TryLeftAgain();
  const std::string name = absl::StrCat(kPrefix, RandomId().substr(0, kDigits));
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("make", parent->PathOf(name)));
  if (mkdirat(parent->fd(), name.c_str(), 0755) != 0) {
    return ErrnoStatus(errno, absl::StrCat("make ", parent->PathOf(name)));
  }
  return ExecGroup(host, hierarchy, container, name);
}

std::string ExecGroup::Path(absl::string_view file) const {
  return absl::StrCat(container_, "/", name_, file.empty() ? "" : "/", file);
}

std::string ExecGroup::RuntimeOption() const {
  return hierarchy_.empty() ? absl::StrCat("--cgroup=", name_) : std::string();
}

bool ExecGroup::AddToPlan(LaunchPlan* plan) const {
  if (hierarchy_.empty()) return false;
  plan->Add("private", host_.PathOf(kMount));
  plan->Add("bind", host_.PathOf(Path("")));
  plan->Add("over", host_.PathOf(container_));
  return true;
}

absl::StatusOr<std::vector<pid_t>> ExecGroup::Processes() const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, host_.Read(Path("cgroup.procs")));
  std::vector<pid_t> pids;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(line, &pid) && pid > 0) pids.push_back(pid);
  }
  return pids;
}

absl::Status ExecGroup::Kill(absl::Time deadline) const {
  while (true) {
    const auto processes = Processes();
    if (absl::IsNotFound(processes.status())) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(processes.status());
    if (processes->empty()) return absl::OkStatus();
    // Linux 5.14, v2: all at once, forks under way included.
    if (!host_.Write(Path("cgroup.kill"), "1").ok()) {
      const auto members = linux::PinMembers([this] { return Processes(); });
      if (absl::IsNotFound(members.status())) return absl::OkStatus();
      PLIMSOLL_RETURN_IF_ERROR(members.status());
      for (const linux::Member& member : *members) {
        // The next round finds survivors.
        linux::SignalProcess(member.pidfd, SIGKILL).IgnoreError();
      }
    }
    if (MonotonicNow() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("processes ", absl::StrJoin(*processes, ", "),
                                                      " of the command survive SIGKILL"));
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
}

// A process in a command's group has a caller who waits for it; these become the container's.
void ExecGroup::MoveOut() const {
  if (MoveTo(container_)) return;
  // On v2 a group that gives controllers to its children can't hold processes.
  const std::string beside = absl::StrCat(container_, "/", kLeftGroup);
  if (host_.MakeDirs(beside, 0755).ok()) MoveTo(beside);
}

bool ExecGroup::MoveTo(const std::string& group) const {
  // Repeated for forks made meanwhile.
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    const absl::StatusOr<std::string> processes = host_.Read(Path("cgroup.procs"));
    if (!processes.ok() || processes->empty()) return true;
    for (absl::string_view pid : absl::StrSplit(*processes, '\n', absl::SkipEmpty())) {
      const absl::Status moved = host_.Write(absl::StrCat(group, "/cgroup.procs"), pid);
      if (!moved.ok() && ErrnoOf(moved) != ESRCH) return false;
    }
  }
  return false;
}

bool ExecGroup::TryRemove() const {
  const absl::Status removed = host_.RemoveDir(Path(""));
  return removed.ok() || absl::IsNotFound(removed);
}

void ExecGroup::Remove() const {
  // The last process may still be ending.
  for (int i = 0; i < 20; ++i) {
    if (TryRemove()) return;
    MoveOut();
    if (TryRemove()) return;
    absl::SleepFor(absl::Milliseconds(1));
  }
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
