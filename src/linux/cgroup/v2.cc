#include "linux/cgroup/v2.h"

#include <algorithm>
#include <cerrno>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/freeze.h"

namespace plimsoll::linux {

std::vector<std::string> CgroupV2::Controllers() const {
  const auto text = tree_->Read("/", "cgroup.controllers");
  if (!text.ok()) return {};
  std::vector<std::string> controllers = ParseWords(*text);
  std::sort(controllers.begin(), controllers.end());
  return controllers;
}

// One write for all: the kernel takes all of a line or none. Enabled controllers stay so when a
// later step fails: another group may rely on them by now. Groups made on the way are removed and
// take theirs along.
absl::Status CgroupV2::EnableControllers(const std::string& group) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string available, tree_->Read(group, "cgroup.controllers"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string enabled,
                            tree_->Read(group, "cgroup.subtree_control"));
  const std::vector<std::string> have = ParseWords(enabled);
  std::vector<std::string> missing;
  for (const std::string& controller : ParseWords(available)) {
    if (!absl::c_linear_search(have, controller)) missing.push_back("+" + controller);
  }
  if (missing.empty()) return absl::OkStatus();
  const absl::Status status =
      tree_->Write(group, "cgroup.subtree_control", absl::StrJoin(missing, " "));
  if (ErrnoOf(status) != EBUSY) return status;
  return Annotate(status, absl::StrCat("cgroup ", group,
                                       " holds processes itself, so no group with limits can be "
                                       "made below it (cgroup v2); move them to a group of their "
                                       "own"));
}

absl::StatusOr<std::vector<std::string>> CgroupV2::Create(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  std::vector<std::string> made;
  absl::Cleanup undo = [&] {
    for (auto each = made.rbegin(); each != made.rend(); ++each) {
      tree_->Remove(*each).IgnoreError();
    }
  };
  for (const std::string& each : GroupAndParents(group)) {
    if (each == "/") continue;
    PLIMSOLL_RETURN_IF_ERROR(EnableControllers(ParentGroup(each)));
    const absl::Status status = tree_->Make(each);
    if (status.ok()) made.push_back(each);
    if (!status.ok() && !absl::IsAlreadyExists(status)) return status;
  }
  std::move(undo).Cancel();
  return made;
}

absl::StatusOr<std::vector<std::string>> CgroupV2::MakeKeeper(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> made, Create(group));
  const absl::Status enabled = EnableControllers(group);
  if (enabled.ok()) return made;
  for (auto each = made.rbegin(); each != made.rend(); ++each) tree_->Remove(*each).IgnoreError();
  return enabled;
}

absl::StatusOr<bool> CgroupV2::Exists(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  return tree_->Exists(group);
}

absl::Status CgroupV2::Remove(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  if (group == "/") return absl::InvalidArgumentError("the root cgroup can't be removed");
  return RemoveGroup({tree_.get()}, group);
}

absl::Status CgroupV2::RemoveIfUnused(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  if (group == "/") return absl::OkStatus();
  return RemoveUnusedGroup({tree_.get()}, group);
}

absl::Status CgroupV2::AddProcess(absl::string_view path, pid_t pid) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  // The kernel takes 0 for the writing process.
  if (pid <= 0) return absl::InvalidArgumentError(absl::StrCat("there is no process ", pid));
  const absl::Status status = tree_->Write(group, "cgroup.procs", absl::StrCat(pid));
  if (ErrnoOf(status) == ESRCH) return absl::NotFoundError(absl::StrCat("no process ", pid));
  if (ErrnoOf(status) == EBUSY) {
    return Annotate(status, absl::StrCat("cgroup ", group,
                                         " has controllers enabled for groups below it and takes "
                                         "no processes itself (cgroup v2)"));
  }
  return status;
}

absl::Status CgroupV2::MoveInPlace(const FsRoot& host) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, ReadOwnGroup(host, ""));
  return tree_->MoveCaller(group, "cgroup.threads");
}

absl::StatusOr<std::vector<pid_t>> CgroupV2::Processes(absl::string_view path,
                                                       bool recursive) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  return ListProcesses({tree_.get()}, group, recursive);
}

absl::Status CgroupV2::KillAll(absl::string_view path, absl::Time deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  if (group == "/") return absl::InvalidArgumentError("the root cgroup is never killed");
  return KillProcesses({tree_.get()}, /*freezer=*/nullptr, group, deadline);
}

absl::StatusOr<CgroupStats> CgroupV2::Stats(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  CgroupStats stats;
  // The file exists with or without the cpu controller, which adds the throttling.
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string cpu, tree_->Read(group, "cpu.stat"));
  stats.cpu_usage_ns = FindKey(cpu, "usage_usec").value_or(0) * 1000;
  stats.cpu_periods = FindKey(cpu, "nr_periods").value_or(0);
  stats.cpu_throttled_periods = FindKey(cpu, "nr_throttled").value_or(0);
  stats.cpu_throttled_ns = FindKey(cpu, "throttled_usec").value_or(0) * 1000;
  ReadPressure(*tree_, group, stats);

  const auto read = [&](absl::string_view file) -> absl::StatusOr<std::optional<uint64_t>> {
    const absl::StatusOr<std::string> text = tree_->Read(group, file);
    if (absl::IsNotFound(text.status())) return std::nullopt;
    PLIMSOLL_RETURN_IF_ERROR(text.status());
    uint64_t value = 0;
    if (absl::SimpleAtoi(*text, &value)) return value;
    return absl::InternalError(absl::StrCat(tree_->PathOf(group, file), ": no number: ", *text));
  };
  PLIMSOLL_ASSIGN_OR_RETURN(const auto memory, read("memory.current"));
  if (memory.has_value()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, tree_->Read(group, "memory.stat"));
    const uint64_t inactive = FindKey(text, "inactive_file").value_or(0);
    stats.memory_usage_bytes = *memory;
    stats.memory_working_set_bytes = *memory > inactive ? *memory - inactive : 0;
    stats.memory_rss_bytes = FindKey(text, "anon").value_or(0);
    stats.page_faults = FindKey(text, "pgfault").value_or(0);
    stats.major_page_faults = FindKey(text, "pgmajfault").value_or(0);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(stats.swap_usage_bytes, read("memory.swap.current"));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto tasks, read("pids.current"));
  if (tasks.has_value()) {
    stats.process_count = *tasks;
  } else {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto pids, Processes(group, /*recursive=*/true));
    stats.process_count = pids.size();
  }
  return stats;
}

// memory.events counts the groups below too, unless the administrator mounted the hierarchy with
// memory_localevents.
absl::StatusOr<uint64_t> CgroupV2::OomKills(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, tree_->Exists(group));
  if (!exists) {
    return absl::NotFoundError(absl::StrCat("no cgroup ", tree_->PathOf(group)));
  }
  PLIMSOLL_RETURN_IF_ERROR(NeedFile(group, "memory.events", "oom_kill"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, tree_->Read(group, "memory.events"));
  return FindKey(text, "oom_kill").value_or(0);
}

absl::StatusOr<std::vector<pid_t>> CgroupV2::Threads(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  return ListThreads({tree_.get()}, group);
}

absl::StatusOr<bool> CgroupV2::Freeze(absl::string_view path, absl::Time deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  return FreezeV2(*tree_, group, deadline);
}

absl::Status CgroupV2::Thaw(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  return tree_->Write(group, "cgroup.freeze", "0");
}

absl::StatusOr<std::string> CgroupV2::ReadFile(absl::string_view path, absl::string_view,
                                               absl::string_view file) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  return tree_->Read(group, file);
}

absl::Status CgroupV2::WriteFile(absl::string_view path, absl::string_view, absl::string_view file,
                                 absl::string_view value) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  return tree_->Write(group, file, value);
}

bool CgroupV2::HasFile(absl::string_view path, absl::string_view, absl::string_view file) const {
  const auto group = NormalizeCgroupPath(path);
  return group.ok() && tree_->HasFile(*group, file);
}

}  // namespace plimsoll::linux
