// Cpusets as the kernel's cgroup v1 has them: stricter than v2's, and forgetful.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_V1_CPUSETS_FOR_TEST_H_
#define PLIMSOLL_RUNTIME_CGROUPS_V1_CPUSETS_FOR_TEST_H_

#include <cerrno>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "linux/cgroup/tree.h"
#include "resources/cpu_set.h"
#include "runtime/objects/fakes_for_test.h"

namespace plimsoll::runtime {

// Groups' CPUs (kernel/cgroup/cpuset.c, without cpuset_v2_mode). Memory nodes are not looked at.
class V1Cpusets : public FakeCgroups {
 public:
  explicit V1Cpusets(const std::string& online) {
    machine = linux::CgroupLayout::kHybrid;
    groups_["/"] = *resources::CpuSet::Parse(online);
  }
  void Make(const std::string& group, const std::string& cpus) {
    absl::MutexLock lock(&lists_mutex_);
    groups_[group] = *resources::CpuSet::Parse(cpus);
  }
  // Every group loses it.
  void TakeOffline(uint32_t cpu) {
    absl::MutexLock lock(&lists_mutex_);
    for (auto& [group, cpus] : groups_) cpus.Remove(cpu);
  }
  // The root alone gets it.
  void BringOnline(uint32_t cpu) {
    absl::MutexLock lock(&lists_mutex_);
    groups_["/"].Add(cpu);
  }
  std::string Of(const std::string& group) const {
    absl::MutexLock lock(&lists_mutex_);
    return groups_.at(group).ToString();
  }

  absl::Status Apply(absl::string_view path, const linux::CgroupSettings& settings) override {
    if (absl::Status fault = faults.Check("Apply"); !fault.ok()) return fault;
    absl::MutexLock lock(&lists_mutex_);
    const std::string group(path);
    if (!groups_.contains(group)) return absl::NotFoundError(group);
    if (!settings.cpuset_cpus) return absl::OkStatus();
    const resources::CpuSet& parent = groups_.at(linux::ParentGroup(group));
    const resources::CpuSet cpus =
        settings.cpuset_cpus->empty() ? parent : *resources::CpuSet::Parse(*settings.cpuset_cpus);
    const auto refuse = [&](int error) {
      return ErrnoStatus(error, absl::StrCat("write ", cpus.ToString(), " to ", group));
    };
    if (!cpus.IsSubsetOf(groups_.at("/"))) return refuse(EINVAL);
    if (!cpus.IsSubsetOf(parent)) return refuse(EACCES);
    for (const auto& [other, has] : groups_) {
      const bool is_child = other != "/" && linux::ParentGroup(other) == group;
      if (is_child && !has.IsSubsetOf(cpus)) return refuse(EBUSY);
    }
    groups_[group] = cpus;
    return absl::OkStatus();
  }
  absl::StatusOr<linux::CgroupSettings> Read(absl::string_view path) const override {
    absl::MutexLock lock(&lists_mutex_);
    const auto group = groups_.find(std::string(path));
    if (group == groups_.end()) return absl::NotFoundError(path);
    linux::CgroupSettings settings;
    settings.cpuset_cpus = group->second.ToString();
    settings.cpuset_mems = "0";
    return settings;
  }

 private:
  mutable absl::Mutex lists_mutex_;
  std::map<std::string, resources::CpuSet> groups_ ABSL_GUARDED_BY(lists_mutex_);
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_V1_CPUSETS_FOR_TEST_H_
