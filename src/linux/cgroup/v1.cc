#include "linux/cgroup/v1.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/freeze.h"

namespace plimsoll::linux {
namespace {

// The most passes: with more, a fork bomb would hold up everybody else.
constexpr int kReturnPasses = 10;

// A new cpuset group has no CPUs and no memory nodes, and takes no process until it has both
// (Documentation/admin-guide/cgroup-v1/cpusets.rst). Its parent has them: groups are made from the
// root down.
absl::Status InheritCpuset(CgroupTree& tree, const std::string& group) {
  for (const char* file : {"cpuset.cpus", "cpuset.mems"}) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string own, tree.Read(group, file));
    if (!own.empty()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string parents, tree.Read(ParentGroup(group), file));
    PLIMSOLL_RETURN_IF_ERROR(tree.Write(group, file, parents));
  }
  return absl::OkStatus();
}

// The intersection of two sorted lists.
std::vector<pid_t> InBoth(const std::vector<pid_t>& a, const std::vector<pid_t>& b) {
  std::vector<pid_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

absl::Status NoSuchHierarchy(absl::string_view controller, absl::string_view file) {
  return absl::NotFoundError(
      absl::StrCat(file, ": no cgroup v1 hierarchy has controller \"", controller, "\""));
}

}  // namespace

CgroupTree* CgroupV1::Find(absl::string_view controller) const {
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    if (absl::c_linear_search(hierarchy.controllers, controller)) return hierarchy.tree.get();
  }
  return nullptr;
}

CgroupTree* CgroupV1::FindWith(absl::string_view controller, const std::string& group) const {
  CgroupTree* tree = Find(controller);
  return tree != nullptr && tree->Exists(group).value_or(false) ? tree : nullptr;
}

absl::StatusOr<CgroupTree*> CgroupV1::Need(absl::string_view controller,
                                           absl::string_view field) const {
  CgroupTree* tree = Find(controller);
  if (tree != nullptr) return tree;
  const bool in_unified = absl::c_linear_search(UnifiedControllersOnHybrid(), controller);
  return absl::FailedPreconditionError(absl::StrCat(
      field, ": this machine has no cgroup controller \"", controller, "\"",
      in_unified ? " in cgroup v1 (it is left to the v2 hierarchy, where it is not enabled)" : "",
      "; it has ", absl::StrJoin(Controllers(), ", ")));
}

CgroupTrees CgroupV1::AllTrees() const {
  CgroupTrees trees;
  for (const CgroupHierarchy& hierarchy : hierarchies_) trees.push_back(hierarchy.tree.get());
  if (unified_ != nullptr) trees.push_back(unified_.get());
  return trees;
}

std::vector<std::string> CgroupV1::Controllers() const {
  std::vector<std::string> controllers;
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    controllers.insert(controllers.end(), hierarchy.controllers.begin(),
                       hierarchy.controllers.end());
  }
  std::sort(controllers.begin(), controllers.end());
  return controllers;
}

std::vector<std::string> CgroupV1::UnifiedControllersOnHybrid() const {
  if (unified_ == nullptr) return {};
  const auto text = unified_->Read("/", "cgroup.controllers");
  if (!text.ok()) return {};
  std::vector<std::string> controllers = ParseWords(*text);
  std::sort(controllers.begin(), controllers.end());
  return controllers;
}

absl::Status CgroupV1::MakeIn(const CgroupHierarchy& hierarchy, const std::string& group,
                              std::vector<std::pair<CgroupTree*, std::string>>& made) {
  CgroupTree& tree = *hierarchy.tree;
  const absl::Status status = tree.Make(group);
  if (status.ok()) made.emplace_back(&tree, group);
  if (!status.ok() && !absl::IsAlreadyExists(status)) return status;
  if (absl::c_linear_search(hierarchy.controllers, "cpuset")) return InheritCpuset(tree, group);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> CgroupV1::Create(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  std::vector<std::pair<CgroupTree*, std::string>> made;
  absl::Cleanup undo = [&made] {
    for (auto each = made.rbegin(); each != made.rend(); ++each) {
      each->first->Remove(each->second).IgnoreError();
    }
  };
  std::vector<std::string> ours;
  for (const std::string& each : GroupAndParents(group)) {
    if (each == "/") continue;
    // A group that somebody else made in only one hierarchy is not ours to remove from all.
    PLIMSOLL_ASSIGN_OR_RETURN(const bool is_known, Exists(each));
    for (const CgroupHierarchy& hierarchy : hierarchies_) {
      if (hierarchy.controllers.empty()) continue;
      PLIMSOLL_RETURN_IF_ERROR(MakeIn(hierarchy, each, made));
    }
    if (!is_known) ours.push_back(each);
  }
  std::move(undo).Cancel();
  return ours;
}

absl::StatusOr<std::vector<std::string>> CgroupV1::MakeKeeper(absl::string_view path) {
  PLIMSOLL_RETURN_IF_ERROR(NormalizeCgroupPath(path).status());
  return std::vector<std::string>();
}

absl::StatusOr<bool> CgroupV1::Exists(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  for (const CgroupTree* tree : AllTrees()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, tree->Exists(group));
    if (exists) return true;
  }
  return false;
}

absl::Status CgroupV1::Remove(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  if (group == "/") return absl::InvalidArgumentError("the root cgroup can't be removed");
  return RemoveGroup(AllTrees(), group);
}

absl::Status CgroupV1::RemoveIfUnused(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  if (group == "/") return absl::OkStatus();
  return RemoveUnusedGroup(AllTrees(), group);
}

absl::Status CgroupV1::AddProcess(absl::string_view path, pid_t pid) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  // The kernel takes 0 for the writing process.
  if (pid <= 0) return absl::InvalidArgumentError(absl::StrCat("there is no process ", pid));
  CgroupTrees trees;
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    if (hierarchy.controllers.empty()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, hierarchy.tree->Exists(group));
    if (!exists) {
      return absl::NotFoundError(absl::StrCat("no cgroup ", hierarchy.tree->PathOf(group)));
    }
    trees.push_back(hierarchy.tree.get());
  }
  for (CgroupTree* tree : trees) {
    const absl::Status status = tree->Write(group, "cgroup.procs", absl::StrCat(pid));
    if (ErrnoOf(status) == ESRCH) return absl::NotFoundError(absl::StrCat("no process ", pid));
    PLIMSOLL_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<pid_t>> CgroupV1::ProcessesBeside(const CgroupTree* other,
                                                             const std::string& group) const {
  std::optional<std::vector<pid_t>> common;
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    if (hierarchy.controllers.empty() || hierarchy.tree.get() == other) continue;
    const auto listed = ListProcesses({hierarchy.tree.get()}, group, /*recursive=*/true);
    if (absl::IsNotFound(listed.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(listed.status());
    common = common ? InBoth(*common, *listed) : *listed;
  }
  return common.value_or(std::vector<pid_t>());
}

absl::Status CgroupV1::ReturnToCpuset(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  CgroupTree* const cpuset = FindWith("cpuset", group);
  if (cpuset == nullptr) return absl::OkStatus();
  // A process that forks while it is moved leaves a child above.
  bool moved = true;
  for (int pass = 0; moved && pass < kReturnPasses; ++pass) {
    moved = false;
    PLIMSOLL_ASSIGN_OR_RETURN(const auto ours, ProcessesBeside(cpuset, group));
    PLIMSOLL_ASSIGN_OR_RETURN(const auto here, ListProcesses({cpuset}, group, /*recursive=*/true));
    std::vector<pid_t> away;
    std::set_difference(ours.begin(), ours.end(), here.begin(), here.end(),
                        std::back_inserter(away));
    for (std::string above = group; above != "/" && !away.empty();) {
      above = ParentGroup(above);
      PLIMSOLL_ASSIGN_OR_RETURN(const auto there,
                                ListProcesses({cpuset}, above, /*recursive=*/false));
      for (const pid_t pid : InBoth(away, there)) {
        const absl::Status status = cpuset->Write(group, "cgroup.procs", absl::StrCat(pid));
        if (ErrnoOf(status) == ESRCH) continue;  // it has just ended
        PLIMSOLL_RETURN_IF_ERROR(status);
        moved = true;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CgroupV1::MoveInPlace(const FsRoot& host) {
  // One hierarchy will do: the wait is the same for all.
  for (const CgroupHierarchy& hierarchy : hierarchies_) {
    if (hierarchy.controllers.empty()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string group,
                              ReadOwnGroup(host, hierarchy.controllers.front()));
    return hierarchy.tree->MoveCaller(group, "tasks");
  }
  return absl::NotFoundError("no cgroup v1 hierarchy has a controller");
}

absl::StatusOr<std::vector<pid_t>> CgroupV1::Processes(absl::string_view path,
                                                       bool recursive) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  return ListProcesses(AllTrees(), group, recursive);
}

absl::Status CgroupV1::KillAll(absl::string_view path, absl::Time deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  if (group == "/") return absl::InvalidArgumentError("the root cgroup is never killed");
  return KillProcesses(AllTrees(), Find("freezer"), group, deadline);
}

absl::StatusOr<std::vector<pid_t>> CgroupV1::Threads(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  return ListThreads(AllTrees(), group);
}

absl::StatusOr<bool> CgroupV1::Freeze(absl::string_view path, absl::Time deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  PLIMSOLL_ASSIGN_OR_RETURN(CgroupTree * freezer, Need("freezer", "freezing"));
  return FreezeV1(*freezer, group, deadline);
}

absl::Status CgroupV1::Thaw(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  PLIMSOLL_ASSIGN_OR_RETURN(CgroupTree * freezer, Need("freezer", "thawing"));
  return freezer->Write(group, "freezer.state", "THAWED");
}

absl::StatusOr<std::string> CgroupV1::ReadFile(absl::string_view path, absl::string_view controller,
                                               absl::string_view file) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  CgroupTree* tree = Find(controller);
  if (tree == nullptr) return NoSuchHierarchy(controller, file);
  return tree->Read(group, file);
}

absl::Status CgroupV1::WriteFile(absl::string_view path, absl::string_view controller,
                                 absl::string_view file, absl::string_view value) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  CgroupTree* tree = Find(controller);
  if (tree == nullptr) return NoSuchHierarchy(controller, file);
  return tree->Write(group, file, value);
}

bool CgroupV1::HasFile(absl::string_view path, absl::string_view controller,
                       absl::string_view file) const {
  const auto group = NormalizeCgroupPath(path);
  CgroupTree* tree = Find(controller);
  return group.ok() && tree != nullptr && tree->HasFile(*group, file);
}

}  // namespace plimsoll::linux
