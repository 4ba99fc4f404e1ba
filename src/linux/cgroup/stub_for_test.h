// For tests: a CgroupManager that fails at everything a test's own class doesn't override.
#ifndef PLIMSOLL_LINUX_CGROUP_STUB_FOR_TEST_H_
#define PLIMSOLL_LINUX_CGROUP_STUB_FOR_TEST_H_

#include <string>
#include <vector>

#include "linux/cgroup/cgroup.h"

namespace plimsoll::linux {

class CgroupStub : public CgroupManager {
 public:
  CgroupLayout layout() const override { return CgroupLayout::kV2; }
  std::vector<std::string> Controllers() const override { return {}; }
  std::vector<std::string> UnifiedControllersOnHybrid() const override { return {}; }
  absl::StatusOr<std::vector<std::string>> Create(absl::string_view) override { return Never(); }
  absl::StatusOr<std::vector<std::string>> MakeKeeper(absl::string_view) override {
    return Never();
  }
  absl::StatusOr<bool> Exists(absl::string_view) const override { return Never(); }
  absl::Status Remove(absl::string_view) override { return Never(); }
  absl::Status RemoveIfUnused(absl::string_view) override { return Never(); }
  absl::Status Apply(absl::string_view, const CgroupSettings&) override { return Never(); }
  absl::StatusOr<CgroupSettings> Read(absl::string_view) const override { return Never(); }
  absl::Status AddProcess(absl::string_view, pid_t) override { return Never(); }
  absl::Status ReturnToCpuset(absl::string_view) override { return Never(); }
  absl::Status MoveInPlace(const FsRoot&) override { return Never(); }
  absl::StatusOr<std::vector<pid_t>> Processes(absl::string_view, bool) const override {
    return Never();
  }
  absl::Status KillAll(absl::string_view, absl::Time) override { return Never(); }
  absl::StatusOr<std::vector<pid_t>> Threads(absl::string_view) const override { return Never(); }
  absl::StatusOr<bool> Freeze(absl::string_view, absl::Time) override { return Never(); }
  absl::Status Thaw(absl::string_view) override { return Never(); }
  absl::StatusOr<std::string> ReadFile(absl::string_view, absl::string_view,
                                       absl::string_view) const override {
    return Never();
  }
  absl::Status WriteFile(absl::string_view, absl::string_view, absl::string_view,
                         absl::string_view) override {
    return Never();
  }
  bool HasFile(absl::string_view, absl::string_view, absl::string_view) const override {
    return false;
  }
  absl::StatusOr<CgroupStats> Stats(absl::string_view) const override { return Never(); }
  absl::StatusOr<uint64_t> OomKills(absl::string_view) const override { return Never(); }

 private:
  static absl::Status Never() { return absl::UnimplementedError("not for this test"); }
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_STUB_FOR_TEST_H_
