// cgroup v1: the same path in a hierarchy for each controller, or for several that are mounted
// together. Also the v1 half of a hybrid machine.
#ifndef PLIMSOLL_LINUX_CGROUP_V1_H_
#define PLIMSOLL_LINUX_CGROUP_V1_H_

#include <memory>
#include <string>
#include <vector>

#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/members.h"
#include "linux/cgroup/transaction.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::linux {

// On a hybrid machine the v2 hierarchy gets neither groups nor limits from here. Groups that others
// made there under our path (crun does) are searched for processes and removed with ours. The same
// holds for named v1 hierarchies, which have no controllers ("name=systemd").
class CgroupV1 : public CgroupManager {
 public:
  // `unified` is null unless the machine is hybrid.
  CgroupV1(std::vector<CgroupHierarchy> hierarchies, std::shared_ptr<CgroupTree> unified)
      : hierarchies_(std::move(hierarchies)), unified_(std::move(unified)) {}

  CgroupLayout layout() const override {
    return unified_ == nullptr ? CgroupLayout::kV1 : CgroupLayout::kHybrid;
  }
  std::vector<std::string> Controllers() const override;
  std::vector<std::string> UnifiedControllersOnHybrid() const override;

  absl::StatusOr<std::vector<std::string>> Create(absl::string_view path) override;
  absl::StatusOr<std::vector<std::string>> MakeKeeper(absl::string_view path) override;
  absl::StatusOr<bool> Exists(absl::string_view path) const override;
  absl::Status Remove(absl::string_view path) override;
  absl::Status RemoveIfUnused(absl::string_view path) override;
  absl::Status Apply(absl::string_view path, const CgroupSettings& settings) override;
  absl::StatusOr<CgroupSettings> Read(absl::string_view path) const override;
  absl::Status AddProcess(absl::string_view path, pid_t pid) override;
  absl::Status ReturnToCpuset(absl::string_view path) override;
  absl::Status MoveInPlace(const FsRoot& host) override;
  absl::StatusOr<std::vector<pid_t>> Processes(absl::string_view path,
                                               bool recursive) const override;
  absl::Status KillAll(absl::string_view path, absl::Time deadline) override;
  absl::StatusOr<std::vector<pid_t>> Threads(absl::string_view path) const override;
  absl::StatusOr<bool> Freeze(absl::string_view path, absl::Time deadline) override;
  absl::Status Thaw(absl::string_view path) override;
  absl::StatusOr<std::string> ReadFile(absl::string_view path, absl::string_view controller,
                                       absl::string_view file) const override;
  absl::Status WriteFile(absl::string_view path, absl::string_view controller,
                         absl::string_view file, absl::string_view value) override;
  bool HasFile(absl::string_view path, absl::string_view controller,
               absl::string_view file) const override;
  absl::StatusOr<CgroupStats> Stats(absl::string_view path) const override;
  absl::StatusOr<uint64_t> OomKills(absl::string_view path) const override;

 private:
  // Null when no hierarchy has that controller.
  CgroupTree* Find(absl::string_view controller) const;
  // FAILED_PRECONDITION when there is none; names the `field` that needs it.
  absl::StatusOr<CgroupTree*> Need(absl::string_view controller, absl::string_view field) const;
  CgroupTrees AllTrees() const;
  // Null unless that controller's hierarchy has the group.
  CgroupTree* FindWith(absl::string_view controller, const std::string& group) const;

  // The processes that every hierarchy with controllers, except `other`, has in the group or below.
  absl::StatusOr<std::vector<pid_t>> ProcessesBeside(const CgroupTree* other,
                                                     const std::string& group) const;
  absl::Status MakeIn(const CgroupHierarchy& hierarchy, const std::string& group,
                      std::vector<std::pair<CgroupTree*, std::string>>& made);

  // Each fills in its part of `settings`. False: the controller's hierarchy doesn't have the group.
  absl::StatusOr<bool> ReadCpuset(const std::string& group, CgroupSettings& settings) const;
  absl::StatusOr<bool> ReadHugetlb(const std::string& group, CgroupSettings& settings) const;

  using Writes = std::vector<CgroupWrite>;
  absl::Status PlanCpu(const std::string& group, const CgroupSettings& settings, Writes& out) const;
  absl::Status PlanCpuset(const std::string& group, const CgroupSettings& settings,
                          Writes& out) const;
  absl::Status PlanList(CgroupTree* tree, const std::string& group, const char* file,
                        const std::string& list, Writes& out) const;
  absl::Status CheckUse(CgroupTree& tree, const std::string& group, int64_t limit) const;
  absl::Status PlanMemory(const std::string& group, const CgroupSettings& settings,
                          Writes& out) const;
  absl::Status PlanPids(const std::string& group, const CgroupSettings& settings,
                        Writes& out) const;
  absl::Status PlanHugetlb(const std::string& group, const CgroupSettings& settings,
                           Writes& out) const;

  const std::vector<CgroupHierarchy> hierarchies_;
  const std::shared_ptr<CgroupTree> unified_;
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_V1_H_
