// Properties after any order of events, on every machine of tests/allocation: pods come and go, the
// agent restarts, CPUs go offline and come back. A failure names the machine and the seed.
#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/managers/case_file_for_test.h"
#include "agent/managers/case_node_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using resources::CpuSet;
using Role = resources::ContainerRequirements::Role;

class Dice {
 public:
  explicit Dice(uint32_t seed) : engine_(seed) {}
  // 0 to sides - 1.
  uint32_t Roll(uint32_t sides) { return static_cast<uint32_t>(engine_() % sides); }
  bool Chance(uint32_t percent) { return Roll(100) < percent; }
  template <typename T>
  const T& Of(const std::vector<T>& values) {
    return values[Roll(static_cast<uint32_t>(values.size()))];
  }

 private:
  std::mt19937 engine_;
};

resources::ResourceList Amounts(const std::vector<std::pair<std::string, std::string>>& amounts) {
  resources::ResourceList list;
  for (const auto& [name, amount] : amounts) {
    list.emplace(name, *resources::Quantity::Parse(amount));
  }
  return list;
}

CaseAgent RandomAgent(Dice& dice, const topology::MachineMaps& maps) {
  CaseAgent agent;
  agent.cpu_policy = dice.Chance(90) ? "static" : "none";
  const std::vector<std::string> options = {"full-pcpus-only",
                                            "distribute-cpus-across-numa",
                                            "align-by-socket",
                                            "",
                                            "distribute-cpus-across-cores",
                                            "prefer-align-cpus-by-uncorecache"};
  const std::string& option = dice.Of(options);
  if (!option.empty()) agent.cpu_options[option] = "true";
  if (dice.Chance(30)) agent.cpu_options["strict-cpu-reservation"] = "true";
  agent.system_reserved = Amounts({{"cpu", dice.Of<std::string>({"500m", "1", "2"})}});
  if (dice.Chance(60)) {
    agent.memory_policy = "Static";
    for (const auto& [node, map] : maps.nodes) {
      if (map.memory_bytes < int64_t{1} << 30) continue;
      agent.reserved_memory[node]["memory"] = int64_t{512} << 20;
      agent.system_reserved.emplace("memory", *resources::Quantity::Parse("512Mi"));
      break;
    }
  }
  agent.topology_policy =
      dice.Of<std::string>({"none", "best-effort", "restricted", "single-numa-node"});
  agent.topology_scope = dice.Of<std::string>({"container", "pod"});
  if (dice.Chance(30)) agent.topology_options["prefer-closest-numa-nodes"] = "true";
  if (maps.nodes.size() > 8) agent.topology_options["max-allowable-numa-nodes"] = "16";
  return agent;
}

DeviceStock RandomDevices(Dice& dice, const topology::MachineMaps& maps) {
  std::vector<uint32_t> nodes;
  for (const auto& [node, map] : maps.nodes) nodes.push_back(node);
  DeviceStock stock;
  for (uint32_t number = 0; number < 6; ++number) {
    Device device{absl::StrCat("gpu-", number), dice.Chance(90), std::nullopt};
    if (dice.Chance(80)) device.nodes = NodeMask::Of(dice.Of(nodes));
    stock["example.com/gpu"].devices.push_back(std::move(device));
  }
  return stock;
}

pod::ContainerManifest RandomContainer(Dice& dice, const std::string& name, Role role) {
  pod::ContainerManifest container;
  container.name = name;
  container.role = role;
  std::vector<std::pair<std::string, std::string>> limits;
  if (dice.Chance(90)) {
    limits = {{"cpu", dice.Of<std::string>({"1", "2", "2", "3", "4", "8", "500m"})},
              {"memory", dice.Of<std::string>({"128Mi", "1Gi", "3Gi", "20Gi"})}};
  }
  if (dice.Chance(25)) limits.emplace_back("example.com/gpu", dice.Of<std::string>({"1", "2"}));
  container.resources.limits = Amounts(limits);
  return container;
}

pod::Manifest RandomPod(Dice& dice, const std::string& name) {
  pod::Manifest pod;
  pod.name = name;
  for (uint32_t number = dice.Chance(30) ? 1 + dice.Roll(2) : 0; number > 0; --number) {
    pod.containers.push_back(RandomContainer(dice, absl::StrCat("i", number),
                                             dice.Chance(50) ? Role::kInit : Role::kSidecar));
  }
  for (uint32_t number = 1 + dice.Roll(2); number > 0; --number) {
    pod.containers.push_back(RandomContainer(dice, absl::StrCat("c", number), Role::kContainer));
  }
  if (dice.Chance(20)) {
    pod.resources.emplace();
    pod.resources->limits =
        Amounts({{"cpu", dice.Of<std::string>({"2", "4", "8"})}, {"memory", "8Gi"}});
  }
  return pod;
}

// Some CPUs go offline, but never all, and the lowest stays, as on a real machine.
std::shared_ptr<const topology::MachineMaps> WithCpusOffline(Dice& dice,
                                                             const topology::MachineMaps& maps) {
  topology::MachineMaps left = maps;
  for (const auto& [cpu, place] : maps.cpus) {
    if (left.cpus.size() < 4 || cpu == maps.cpus.begin()->first || !dice.Chance(30)) continue;
    left.cpus.erase(cpu);
    left.nodes[place.numa_node].cpus.Remove(cpu);
    --left.cpu_count;
  }
  std::map<uint32_t, uint32_t> cores;  // the lowest CPU that is left, by that of before
  for (auto& [cpu, place] : left.cpus) {
    place.core = cores.emplace(place.core, cpu).first->second;
  }
  left.core_count = static_cast<int64_t>(cores.size());
  return std::make_shared<const topology::MachineMaps>(std::move(left));
}

// Adds `cpus` to `all`; none may be there.
void AddDistinct(const CpuSet& cpus, CpuSet& all, const std::string& whose) {
  EXPECT_TRUE(cpus.Intersection(all).Empty())
      << whose << " shares " << cpus.Intersection(all).ToString();
  all = all.Union(cpus);
}

class Story {
 public:
  Story(const std::string& machine, uint32_t seed) : dice_(seed), machine_(machine) {}

  // False: the managers refuse this configuration on this machine.
  bool Begin() {
    maps_ = CaseMachine(PLIMSOLL_ALLOCATION_CASES, machine_).value();
    AllocationCase allocation;
    allocation.agent = RandomAgent(dice_, *maps_);
    allocation.devices = RandomDevices(dice_, *maps_);
    auto node = CaseNode::Start(allocation, maps_);
    if (!node.ok()) {
      EXPECT_FALSE(node.status().message().empty());
      return false;
    }
    node_.emplace(*std::move(node));
    return true;
  }
  void Step() {
    const uint32_t roll = dice_.Roll(100);
    if (roll < 55) {
      Admit();
    } else if (roll < 85) {
      if (!node_->pods().empty()) node_->Remove(dice_.Of(node_->pods()).manifest.name);
    } else if (roll < 93) {
      Restart();
    } else {
      Plug();
    }
    Check();
  }
  void End() {
    while (!node_->pods().empty()) node_->Remove(node_->pods().front().manifest.name);
    EXPECT_EQ(node_->Change(maps_), absl::OkStatus());
    Check();
    const StaticCpuPolicy* cpus = node_->managers().cpus();
    if (cpus != nullptr) {
      EXPECT_EQ(node_->Ledger().shared_cpus(), cpus->SharedBeside(CpuSet()));
    }
  }

 private:
  void Admit() {
    const pod::Manifest pod = RandomPod(dice_, absl::StrCat("p", ++pods_made_));
    const CpuSet before = node_->Ledger().exclusive_cpus();
    const auto rejection = node_->Admit(pod);
    if (rejection) {
      EXPECT_FALSE(rejection->reason.empty());
      EXPECT_FALSE(rejection->message.empty());
      EXPECT_EQ(node_->Ledger().exclusive_cpus(), before);
      return;
    }
    // Released and taken again, the newest pod gets the same.
    const PodGrant first = node_->pods().back().grant;
    node_->Remove(pod.name);
    EXPECT_EQ(node_->Ledger().exclusive_cpus(), before);
    ASSERT_FALSE(node_->Admit(pod).has_value());
    EXPECT_EQ(node_->pods().back().grant, first);
    // Every container that asks has as many as it asks for.
    for (const auto& [name, has] : first.containers) {
      EXPECT_EQ(static_cast<int64_t>(has.cpus.Size()),
                has.cpu_count != 0 ? has.cpu_count : static_cast<int64_t>(has.cpus.Size()))
          << name;
    }
  }
  void Restart() {
    const auto before = node_->Granted();
    EXPECT_EQ(node_->Restart(), absl::OkStatus());
    const auto after = node_->Granted();
    ASSERT_EQ(before.size(), after.size());
    for (size_t index = 0; index < before.size(); ++index) {
      EXPECT_EQ(before[index].grant, after[index].grant) << before[index].name;
    }
  }
  void Plug() {
    const auto maps = dice_.Chance(50) ? maps_ : WithCpusOffline(dice_, *maps_);
    const auto before = node_->managers().maps();
    // An error, say because fewer are left than are reserved, changes nothing.
    if (!node_->Change(maps).ok()) {
      EXPECT_EQ(node_->managers().maps(), before);
      return;
    }
    EXPECT_TRUE(Refit(node_->shared_managers(), node_->Granted()).empty())
        << "refitting a result changes it";
  }

  // Containers that have fewer CPUs than they asked for, which only a change of the machine does.
  bool IsShort() const {
    for (const CaseNode::Pod& pod : node_->pods()) {
      const auto is_short = [](const ContainerGrant& has) {
        return has.cpu_count > static_cast<int64_t>(has.cpus.Size());
      };
      if (is_short(pod.grant.pod)) return true;
      for (const auto& [name, has] : pod.grant.containers) {
        if (is_short(has)) return true;
      }
    }
    return false;
  }
  void Check() {
    const absl::Status fit = node_->Fit();
    EXPECT_EQ(fit.ok(), !IsShort()) << fit;
    CpuSet exclusive;
    std::map<std::string, std::set<std::string>> devices;
    std::vector<MemoryBlock> memory;
    for (const CaseNode::Pod& pod : node_->pods()) {
      AddDistinct(pod.grant.ExclusiveCpus(), exclusive, pod.manifest.name);
      CheckContainers(pod, devices);
      for (const auto& [name, has] : pod.grant.containers) {
        memory.insert(memory.end(), has.memory.begin(), has.memory.end());
      }
    }
    CheckCpus(exclusive);
    CheckMemory(memory);
  }
  // No two containers that run at a time have anything in common.
  void CheckContainers(const CaseNode::Pod& pod,
                       std::map<std::string, std::set<std::string>>& devices) {
    CpuSet cpus;
    for (const pod::ContainerManifest& container : pod.manifest.containers) {
      if (container.role == Role::kInit) continue;
      const std::string whose = absl::StrCat(pod.manifest.name, "/", container.name);
      const auto has = pod.grant.containers.find(container.name);
      if (has != pod.grant.containers.end() && has->second.cpu_count > 0) {
        AddDistinct(has->second.cpus, cpus, whose);
      }
      const auto claims = pod.grant.devices.find(container.name);
      if (claims == pod.grant.devices.end()) continue;
      for (const auto& [resource, ids] : claims->second) {
        for (const std::string& id : ids) {
          EXPECT_TRUE(devices[resource].insert(id).second) << whose << " shares " << id;
        }
      }
    }
    EXPECT_TRUE(cpus.IsSubsetOf(pod.grant.ExclusiveCpus())) << pod.manifest.name;
  }
  void CheckCpus(const CpuSet& exclusive) {
    const StaticCpuPolicy* policy = node_->managers().cpus();
    const auto shared = node_->Ledger().shared_cpus();
    ASSERT_EQ(shared.has_value(), policy != nullptr);
    if (policy == nullptr) {
      EXPECT_TRUE(exclusive.Empty());
      return;
    }
    EXPECT_TRUE(exclusive.Intersection(policy->reserved()).Empty()) << exclusive.ToString();
    EXPECT_TRUE(exclusive.Intersection(*shared).Empty()) << exclusive.ToString();
    // None is lost: each CPU is somebody's, shared, or reserved.
    EXPECT_EQ(exclusive.Union(*shared).Union(policy->reserved()).ToString(),
              policy->all().ToString());
    EXPECT_EQ(node_->Ledger().exclusive_cpus(), exclusive);
  }
  // No node gives more than it has.
  void CheckMemory(const std::vector<MemoryBlock>& blocks) {
    const StaticMemoryPolicy* policy = node_->managers().memory();
    if (policy == nullptr) {
      EXPECT_TRUE(blocks.empty());
      return;
    }
    MemoryByNode used;
    for (const MemoryBlock& block : blocks) {
      int64_t sum = 0;
      for (const auto& [node, bytes] : block.shares) {
        EXPECT_TRUE(block.nodes.Contains(node));
        used[node][block.resource] += bytes;
        sum += bytes;
      }
      EXPECT_EQ(sum, block.bytes);
    }
    for (const auto& [node, amounts] : used) {
      for (const auto& [resource, bytes] : amounts) {
        const auto of_node = policy->allocatable().find(node);
        ASSERT_NE(of_node, policy->allocatable().end()) << node;
        const auto most = of_node->second.find(resource);
        EXPECT_LE(bytes, most == of_node->second.end() ? 0 : most->second)
            << resource << " of node " << node;
      }
    }
  }

  Dice dice_;
  const std::string machine_;
  std::shared_ptr<const topology::MachineMaps> maps_;
  std::optional<CaseNode> node_;
  uint32_t pods_made_ = 0;
};

std::vector<std::string> Machines() {
  std::vector<std::string> names;
  const std::string directory = absl::StrCat(PLIMSOLL_ALLOCATION_CASES, "/machines");
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class LedgerProperties : public ::testing::TestWithParam<std::string> {};

TEST_P(LedgerProperties, HoldAfterAnyOrderOfEvents) {
  int begun = 0;
  for (uint32_t seed = 0; seed < 40 && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("machine ", GetParam(), ", seed ", seed));
    Story story(GetParam(), seed);
    if (!story.Begin()) continue;
    ++begun;
    for (int step = 0; step < 30 && !HasFailure(); ++step) {
      SCOPED_TRACE(absl::StrCat("step ", step));
      story.Step();
    }
    story.End();
  }
  EXPECT_GT(begun, 0);
}

INSTANTIATE_TEST_SUITE_P(Machines, LedgerProperties, ::testing::ValuesIn(Machines()),
                         [](const ::testing::TestParamInfo<std::string>& machine) {
                           std::string name = machine.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace plimsoll::agent
