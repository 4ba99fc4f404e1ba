#include "linux/cgroup/members.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "linux/cgroup/files.h"

namespace plimsoll::linux {
namespace {

constexpr absl::Duration kRemovePatience = absl::Milliseconds(500);
constexpr absl::Duration kRemovePause = absl::Milliseconds(2);

absl::StatusOr<std::vector<pid_t>> MembersOf(const CgroupTree& tree, const std::string& group,
                                             const char* file) {
  const auto text = tree.Read(group, file);
  // The group is gone; or it is threaded, and the nearest group above lists its processes
  // (EOPNOTSUPP).
  if (absl::IsNotFound(text.status()) || absl::IsUnimplemented(text.status())) {
    return std::vector<pid_t>();
  }
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  return ParseProcesses(*text);
}

absl::Status RemoveOne(CgroupTree& tree, const std::string& group, absl::Time deadline) {
  while (true) {
    const absl::Status status = tree.Remove(group);
    if (status.ok() || ErrnoOf(status) != EBUSY || MonotonicNow() >= deadline) return status;
    absl::SleepFor(kRemovePause);
  }
}

// `file`: the file of the members in each tree.
absl::StatusOr<std::vector<pid_t>> ListMembers(const CgroupTrees& trees, const std::string& group,
                                               bool recursive,
                                               const char* (*file)(const CgroupTree&)) {
  std::set<pid_t> pids;
  bool found = false;
  for (const CgroupTree* tree : trees) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, tree->Exists(group));
    if (!exists) continue;
    found = true;
    std::vector<std::string> groups = {group};
    if (recursive) {
      PLIMSOLL_ASSIGN_OR_RETURN(groups, tree->Subtree(group));
    }
    for (const std::string& each : groups) {
      PLIMSOLL_ASSIGN_OR_RETURN(const auto some, MembersOf(*tree, each, file(*tree)));
      pids.insert(some.begin(), some.end());
    }
  }
  if (!found) return absl::NotFoundError(absl::StrCat("no cgroup ", group));
  return std::vector<pid_t>(pids.begin(), pids.end());
}

}  // namespace

absl::StatusOr<std::vector<pid_t>> ListProcesses(const CgroupTrees& trees, const std::string& group,
                                                 bool recursive) {
  return ListMembers(trees, group, recursive, [](const CgroupTree&) { return "cgroup.procs"; });
}

absl::StatusOr<std::vector<pid_t>> ListThreads(const CgroupTrees& trees, const std::string& group) {
  return ListMembers(trees, group, /*recursive=*/true, [](const CgroupTree& tree) {
    return tree.HasFile("/", "cgroup.threads") ? "cgroup.threads" : "tasks";
  });
}

std::string InWords(const std::vector<pid_t>& pids) {
  constexpr size_t kMostShown = 5;
  if (pids.size() <= kMostShown)
    return absl::StrCat("processes ", absl::StrJoin(pids, ", "), " are");
  return absl::StrCat(pids.size(), " processes (",
                      absl::StrJoin(pids.begin(), pids.begin() + kMostShown, ", "), ", ...) are");
}

absl::Status RemoveGroup(const CgroupTrees& trees, const std::string& group) {
  const absl::Time deadline = MonotonicNow() + kRemovePatience;
  while (true) {
    const auto pids = ListProcesses(trees, group, /*recursive=*/true);
    if (absl::IsNotFound(pids.status())) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(pids.status());
    if (pids->empty()) break;
    if (MonotonicNow() >= deadline) {
      return absl::FailedPreconditionError(
          absl::StrCat("cgroup ", group, " can't be removed: ", InWords(*pids), " still in it"));
    }
    absl::SleepFor(kRemovePause);
  }
  absl::Status status;
  for (CgroupTree* tree : trees) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto groups, tree->Subtree(group));
    for (const std::string& each : groups) {
      status = FirstError(status, RemoveOne(*tree, each, deadline));
    }
  }
  return status;
}

absl::Status RemoveUnusedGroup(const CgroupTrees& trees, const std::string& group) {
  absl::Status status;
  for (CgroupTree* tree : trees) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, tree->Exists(group));
    if (!exists) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const auto groups, tree->Subtree(group));
    if (groups.size() > 1) continue;
    // The kernel has the last word: rmdir(2) fails with EBUSY where something came in meanwhile.
    const absl::Status removed = tree->Remove(group);
    if (!absl::IsFailedPrecondition(removed)) status = FirstError(status, removed);
  }
  return status;
}

}  // namespace plimsoll::linux
