// Random lives of a node: pods come and go, the agent restarts, CPUs go and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/managers/allocation_ledger.h"
#include "agent/managers/managers_for_test.h"
#include "agent/managers/pod_demand.h"
#include "agent/managers/refit.h"

namespace plimsoll::agent {
namespace {

using resources::CpuSet;
using ::testing::IsEmpty;
using Role = resources::ContainerRequirements::Role;

constexpr int kSteps = 80;

// 24 CPUs in 4 nodes and 2 packages.
class RandomNode {
 public:
  explicit RandomNode(uint32_t seed)
      : random_(seed),
        whole_(MapsOf({.packages = 2, .nodes = 2, .cores = 3, .threads = 2, .pages = 64})) {
    options_ = StaticOptions();
    options_.topology.policy = static_cast<TopologyPolicy>(Number(0, 3));
    options_.topology.scope = static_cast<TopologyScope>(Number(0, 1));
    options_.cpu_options.distribute_cpus_across_numa = Number(0, 3) == 0;
    options_.cpu_options.full_pcpus_only = Number(0, 3) == 0;
    options_.cpu_options.strict_cpu_reservation = Number(0, 3) == 0;
    managers_ = ManagersOf(options_, whole_);
  }

  void Step() {
    switch (Number(0, 9)) {
      case 0:
      case 1:
        Release();
        break;
      case 2:
        Restart();
        break;
      case 3:
        Plug(RandomCpus());
        break;
      default:
        Admit();
    }
    Check();
  }
  // After all CPUs came back everybody has as many as it asked for, if there is room.
  void End() {
    Plug({});
    Check();
    size_t needed = 0;
    for (const GrantedPod& pod : pods_) {
      needed += static_cast<size_t>(DemandOf(*pod.manifest, true).pod.cpus);
    }
    if (needed > managers_->cpus()->exclusive().Size()) return;
    const absl::Status fit = CheckFit(*managers_, pods_);
    EXPECT_TRUE(fit.ok()) << fit;
  }
  size_t admitted() const { return admitted_; }

 private:
  int Number(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

  AmountsForTest RandomAmounts(bool may_share) {
    if (may_share && Number(0, 2) == 0) return {};
    const int milli = Number(0, 4) == 0 ? 500 : Number(1, 3) * 1000;
    AmountsForTest amounts = {{"cpu", absl::StrCat(milli, "m")},
                              {"memory", absl::StrCat(Number(1, 3), "Gi")}};
    if (Number(0, 5) == 0) amounts["hugepages-2Mi"] = "2Mi";
    return amounts;
  }
  pod::Manifest RandomPod() {
    const bool is_whole = Number(0, 3) == 0;
    std::vector<pod::ContainerManifest> containers;
    for (int i = Number(0, 2); i > 0; --i) {
      containers.push_back(ContainerOf(absl::StrCat("i", i), RandomAmounts(is_whole),
                                       Number(0, 1) == 0 ? Role::kInit : Role::kSidecar));
    }
    for (int i = Number(1, 2); i > 0; --i) {
      containers.push_back(ContainerOf(absl::StrCat("c", i), RandomAmounts(is_whole)));
    }
    if (!is_whole) return PodOf(std::move(containers));
    AmountsForTest own = {{"cpu", absl::StrCat(Number(4, 8))},
                          {"memory", absl::StrCat(Number(6, 10), "Gi")},
                          {"hugepages-2Mi", "16Mi"}};
    return PodOf(own, std::move(containers));
  }
  CpuSet RandomCpus() {
    CpuSet cpus;
    for (int i = Number(0, 14); i > 0; --i) cpus.Add(static_cast<uint32_t>(Number(1, 23)));
    return cpus;
  }

  AllocationLedger Ledger() const {
    AllocationLedger ledger(managers_, {}, nullptr);
    for (const GrantedPod& pod : pods_) ledger.Hold(pod.grant);
    return ledger;
  }
  void Admit() {
    manifests_.push_back(RandomPod());
    PodGrant grant;
    AllocationLedger ledger = Ledger();
    if (ledger.Allocate(manifests_.back(), grant)) return;
    // Released and allocated again it has the same, with a wish too.
    for (const PodGrant* wish :
         {static_cast<const PodGrant*>(nullptr), static_cast<const PodGrant*>(&grant)}) {
      PodGrant again;
      AllocationLedger anew = Ledger();
      EXPECT_FALSE(anew.Allocate(manifests_.back(), again, wish).has_value());
      EXPECT_EQ(ToJson(again), ToJson(grant));
      EXPECT_EQ(anew.exclusive_cpus(), ledger.exclusive_cpus());
    }
    ++admitted_;
    pods_.push_back({.uid = absl::StrCat(manifests_.size()),
                     .name = absl::StrCat("default/", manifests_.size()),
                     .created = absl::FromUnixSeconds(static_cast<int64_t>(manifests_.size())),
                     .manifest = &manifests_.back(),
                     .grant = std::move(grant)});
  }
  void Release() {
    if (pods_.empty()) return;
    pods_.erase(pods_.begin() + Number(0, static_cast<int>(pods_.size()) - 1));
  }
  void Restart() {
    for (GrantedPod& pod : pods_) {
      const auto read = PodGrantOf(nlohmann::json::parse(ToJson(pod.grant).dump()));
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(*read, pod.grant);
      pod.grant = *read;
    }
  }
  void Plug(const CpuSet& gone) {
    const std::vector<GrantedPod> before = pods_;
    managers_ = ManagersOf(options_, Without(whole_, gone));
    for (const Refitted& changed : Refit(managers_, pods_)) {
      for (GrantedPod& pod : pods_) {
        if (pod.uid == changed.uid) pod.grant = changed.grant;
      }
    }
    EXPECT_THAT(Refit(managers_, pods_), IsEmpty());
    // Containers kept whatever they had and could keep; ordinary init containers have ended.
    for (size_t i = 0; i < pods_.size(); ++i) {
      for (const pod::ContainerManifest& container : pods_[i].manifest->containers) {
        const auto had = before[i].grant.containers.find(container.name);
        if (had == before[i].grant.containers.end() || had->second.cpu_count == 0) continue;
        if (container.role == Role::kInit) continue;
        const CpuSet kept = had->second.cpus.Intersection(managers_->cpus()->exclusive());
        EXPECT_TRUE(kept.IsSubsetOf(pods_[i].grant.containers.at(container.name).cpus))
            << pods_[i].name << " " << container.name;
      }
    }
  }

  void Check() {
    CpuSet taken;
    for (const GrantedPod& pod : pods_) {
      const CpuSet own = pod.grant.ExclusiveCpus();
      EXPECT_TRUE(own.IsSubsetOf(managers_->cpus()->exclusive())) << pod.name;
      EXPECT_TRUE(own.Intersection(taken).Empty()) << pod.name;
      taken = taken.Union(own);
      CheckPod(pod);
    }
    const CpuSet shared = *Ledger().shared_cpus();
    EXPECT_TRUE(shared.Intersection(taken).Empty());
    CpuSet all = shared.Union(taken);
    if (options_.cpu_options.strict_cpu_reservation) all = all.Union(managers_->cpus()->reserved());
    EXPECT_EQ(all, managers_->cpus()->all()) << "a CPU was lost";
    CheckMemory();
  }
  void CheckPod(const GrantedPod& pod) {
    CpuSet of_sidecars;
    CpuSet of_staying;
    for (const pod::ContainerManifest& container : pod.manifest->containers) {
      const auto it = pod.grant.containers.find(container.name);
      if (it == pod.grant.containers.end()) continue;
      const ContainerGrant& own = it->second;
      if (!pod.grant.pod.cpus.Empty()) {
        EXPECT_TRUE(own.cpus.IsSubsetOf(pod.grant.pod.cpus));
      }
      if (own.cpu_count == 0) continue;
      EXPECT_LE(own.cpus.Size(), static_cast<size_t>(own.cpu_count));
      EXPECT_TRUE(own.cpus.Intersection(of_sidecars).Empty()) << container.name;
      if (container.role == Role::kInit) continue;
      EXPECT_TRUE(own.cpus.Intersection(of_staying).Empty()) << container.name;
      of_staying = of_staying.Union(own.cpus);
      if (container.role == Role::kSidecar) of_sidecars = of_sidecars.Union(own.cpus);
    }
  }
  void CheckMemory() {
    MemoryByNode free = managers_->memory()->allocatable();
    for (const GrantedPod& pod : pods_) {
      for (const MemoryBlock& block : MemoryOf(pod.grant)) {
        int64_t sum = 0;
        for (const auto& [node, bytes] : block.shares) {
          EXPECT_TRUE(block.nodes.Contains(node));
          sum += bytes;
          free[node][block.resource] -= bytes;
          EXPECT_GE(free[node][block.resource], 0) << block.resource << " of node " << node;
        }
        EXPECT_EQ(sum, block.bytes);
      }
    }
  }

  std::mt19937 random_;
  const topology::MachineMaps whole_;
  ManagerOptions options_;
  std::shared_ptr<const NodeManagers> managers_;
  std::list<pod::Manifest> manifests_;
  std::vector<GrantedPod> pods_;
  size_t admitted_ = 0;
};

class ManagersPropertyTest : public testing::TestWithParam<uint32_t> {};

TEST_P(ManagersPropertyTest, NoCpuIsSharedOrLost) {
  RandomNode node(GetParam());
  for (int i = 0; i < kSteps && !testing::Test::HasFailure(); ++i) node.Step();
  if (!testing::Test::HasFailure()) node.End();
  EXPECT_GT(node.admitted(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ManagersPropertyTest, testing::Range(1u, 17u));

}  // namespace
}  // namespace plimsoll::agent
