// cgroup v2: one hierarchy (Documentation/admin-guide/cgroup-v2.rst).
#ifndef PLIMSOLL_LINUX_CGROUP_V2_H_
#define PLIMSOLL_LINUX_CGROUP_V2_H_

#include <memory>
#include <string>
#include <vector>

#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/members.h"
#include "linux/cgroup/transaction.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::linux {

class CgroupV2 : public CgroupManager {
 public:
  explicit CgroupV2(std::shared_ptr<CgroupTree> tree) : tree_(std::move(tree)) {}

  CgroupLayout layout() const override { return CgroupLayout::kV2; }
  std::vector<std::string> Controllers() const override;
  std::vector<std::string> UnifiedControllersOnHybrid() const override { return {}; }

  absl::StatusOr<std::vector<std::string>> Create(absl::string_view path) override;
  absl::StatusOr<std::vector<std::string>> MakeKeeper(absl::string_view path) override;
  absl::StatusOr<bool> Exists(absl::string_view path) const override;
  absl::Status Remove(absl::string_view path) override;
  absl::Status RemoveIfUnused(absl::string_view path) override;
  absl::Status Apply(absl::string_view path, const CgroupSettings& settings) override;
  absl::StatusOr<CgroupSettings> Read(absl::string_view path) const override;
  absl::Status AddProcess(absl::string_view path, pid_t pid) override;
  absl::Status ReturnToCpuset(absl::string_view) override { return absl::OkStatus(); }
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
  // Enables every controller of `group` for the groups below it.
  absl::Status EnableControllers(const std::string& group);
  // FAILED_PRECONDITION, with the reason, when the group has no such file; names the `field` that
  // needs it.
  absl::Status NeedFile(const std::string& group, absl::string_view file,
                        absl::string_view field) const;
  // nullopt when the group has no such file: its controller isn't enabled there.
  absl::StatusOr<std::optional<int64_t>> ReadLimit(const std::string& group,
                                                   absl::string_view file) const;

  using Writes = std::vector<CgroupWrite>;
  absl::Status PlanCpu(const std::string& group, const CgroupSettings& settings, Writes& out) const;
  absl::Status PlanMemory(const std::string& group, const CgroupSettings& settings,
                          Writes& out) const;
  // The value for memory.swap.max; nullopt where nothing has to be written.
  absl::StatusOr<std::optional<int64_t>> SwapMax(const std::string& group, int64_t memory,
                                                 int64_t memory_and_swap) const;
  absl::Status PlanOthers(const std::string& group, const CgroupSettings& settings,
                          Writes& out) const;
  // True for a raw value of swap's file that asks for nothing: swap isn't accounted, and the value
  // is 0 or no limit.
  bool SaysNothingOfSwap(const std::string& group, const std::string& file,
                         absl::string_view value) const;
  absl::Status CheckUse(const std::string& group, int64_t memory_max) const;  // see RefuseToStarve
  absl::Status ReadMemorySettings(const std::string& group, CgroupSettings& settings) const;
  absl::Status ReadOtherSettings(const std::string& group, CgroupSettings& settings) const;

  const std::shared_ptr<CgroupTree> tree_;
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_V2_H_
