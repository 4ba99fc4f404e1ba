#include "runtime/oci/exec_group.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/fault_injection.h"
#include "base/random_id.h"
#include "base/status.h"
#include "linux/process.h"

namespace plimsoll::runtime {
namespace {

constexpr char kMount[] = "sys/fs/cgroup";

// Hierarchies of a v1 or hybrid machine, in the order of preference.
constexpr const char* kHierarchies[] = {"unified", "systemd", "freezer", "pids"};

constexpr char kPrefix[] = "exec-";
constexpr size_t kDigits = 16;

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

absl::Status ExecGroup::Kill(absl::Time deadline) const {
  while (true) {
    const absl::StatusOr<std::string> processes = host_.Read(Path("cgroup.procs"));
    if (!processes.ok()) {
      return absl::IsNotFound(processes.status()) ? absl::OkStatus() : processes.status();
    }
    if (processes->empty()) return absl::OkStatus();
    // Linux 5.14, v2: all at once, forks under way included.
    const absl::Status at_once = host_.Write(Path("cgroup.kill"), "1");
    for (absl::string_view line : absl::StrSplit(*processes, '\n', absl::SkipEmpty())) {
      pid_t pid = 0;
      if (at_once.ok() || !absl::SimpleAtoi(line, &pid) || pid <= 0) continue;
      const absl::StatusOr<linux::ProcessId> process = linux::IdentifyProcess(host_, pid);
      if (!process.ok()) continue;
      linux::KillProcess(host_, *process).IgnoreError();  // what is left, the next round finds
    }
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "processes ", absl::StrJoin(absl::StrSplit(*processes, '\n', absl::SkipEmpty()), ", "),
          " of the command survive SIGKILL"));
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
}

void ExecGroup::Remove() const {
  // The last process may be on its way out still.
  for (int i = 0; i < 20; ++i) {
    const absl::Status removed = host_.RemoveDir(Path(""));
    if (removed.ok() || ErrnoOf(removed) != EBUSY) return;
    const absl::StatusOr<std::string> processes = host_.Read(Path("cgroup.procs"));
    if (processes.ok() && !processes->empty()) return;
    absl::SleepFor(absl::Milliseconds(1));
  }
}

}  // namespace plimsoll::runtime
