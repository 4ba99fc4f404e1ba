// For tests: machines of plain files, and pods to make groups for.
#ifndef PLIMSOLL_AGENT_GROUPS_GROUPS_FOR_TEST_H_
#define PLIMSOLL_AGENT_GROUPS_GROUPS_FOR_TEST_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/groups/pod_groups.h"
#include "base/dir_for_test.h"
#include "gtest/gtest.h"
#include "linux/cgroup/fake_tree_for_test.h"
#include "linux/cgroup/v1.h"
#include "linux/cgroup/v2.h"

namespace plimsoll::agent {

inline constexpr int64_t kMi = 1 << 20;

inline PodAmounts Amounts(resources::QosClass qos, int64_t cpu_milli, int64_t memory_bytes) {
  PodAmounts amounts{.qos = qos, .cpu_request_milli = cpu_milli, .settings = {}};
  amounts.settings.cpu_shares = resources::MilliCpuToShares(cpu_milli);
  amounts.settings.cpu_quota_us = resources::MilliCpuToQuota(cpu_milli).value_or(-1);
  amounts.settings.cpu_period_us = resources::kDefaultPeriodUs;
  amounts.settings.memory_limit_bytes = memory_bytes;
  return amounts;
}

// A machine with one hierarchy of files, on which CPU, memory, processes and huge pages of 2 MiB
// can be limited: of cgroup v1 (all controllers mounted together) or v2.
class FakeMachine {
 public:
  explicit FakeMachine(bool v2) : v2_(v2) {
    EXPECT_TRUE(host().MakeDirs("sys/kernel/mm/hugepages/hugepages-2048kB").ok());
    SetBoot("boot 1");
    tree_ = std::make_shared<linux::FakeCgroupTree>(groups_.root(), v2 ? V2Files() : V1Files(), v2);
  }

  const FsRoot& host() const { return host_.root(); }
  const FsRoot& state() const { return state_.root(); }
  linux::FakeCgroupTree& tree() { return *tree_; }
  void SetBoot(const std::string& id) {
    EXPECT_TRUE(host().MakeDirs("proc/sys/kernel/random").ok());
    EXPECT_TRUE(host().ReplaceFile("proc/sys/kernel/random/boot_id", id + "\n").ok());
  }

  std::unique_ptr<linux::CgroupManager> Cgroups() const {
    if (v2_) return std::make_unique<linux::CgroupV2>(tree_);
    std::vector<linux::CgroupHierarchy> one = {{tree_, {"cpu", "hugetlb", "memory", "pids"}}};
    return std::make_unique<linux::CgroupV1>(one, nullptr);
  }
  absl::StatusOr<std::unique_ptr<PodGroups>> Open(GroupOptions options) const {
    return PodGroups::OpenWith(Cgroups(), host(), state(), std::move(options));
  }
  // The kernel's values of a group.
  linux::CgroupSettings Read(const std::string& group) const {
    const auto settings = Cgroups()->Read(group);
    EXPECT_TRUE(settings.ok()) << settings.status();
    return settings.value_or(linux::CgroupSettings());
  }
  // Every group with its files, and the agent's file.
  std::map<std::string, std::string> Everything() const {
    std::map<std::string, std::string> all;
    all["groups.json"] = state().Read("groups.json").value_or("");
    const auto groups = tree_->Subtree("/");
    for (const std::string& group : *groups) {
      if (group == "/") continue;
      const auto files = static_cast<const linux::CgroupTree&>(*tree_).Files(group);
      for (const std::string& file : *files) {
        all[absl::StrCat(group, "/", file)] = tree_->Read(group, file).value_or("");
      }
    }
    return all;
  }

 private:
  using Files = linux::FakeCgroupTree::Files;
  static Files V1Files() {
    return {{"cpu",
             {{"cpu.shares", "1024\n"},
              {"cpu.cfs_quota_us", "-1\n"},
              {"cpu.cfs_period_us", "100000\n"}}},
            {"hugetlb", {{"hugetlb.2MB.limit_in_bytes", "9223372036853727232\n"}}},
            {"memory",
             {{"memory.limit_in_bytes", "9223372036854771712\n"},
              {"memory.usage_in_bytes", "0\n"},
              {"memory.stat", "total_inactive_file 0\n"}}},
            {"pids", {{"pids.max", "max\n"}}}};
  }
  static Files V2Files() {
    return {{"cpu", {{"cpu.weight", "100\n"}, {"cpu.max", "max 100000\n"}}},
            {"hugetlb", {{"hugetlb.2MB.max", "max\n"}}},
            {"memory",
             {{"memory.max", "max\n"}, {"memory.current", "0\n"}, {"memory.stat", "anon 0\n"}}},
            {"pids", {{"pids.max", "max\n"}}}};
  }

  const bool v2_;
  TestDir host_;
  TestDir state_;
  TestDir groups_;
  std::shared_ptr<linux::FakeCgroupTree> tree_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_GROUPS_GROUPS_FOR_TEST_H_
