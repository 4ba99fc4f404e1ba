#include "kube/publish/zone_amounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "kube/publish/reports_for_test.h"

namespace plimsoll::kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using topology::Topology;
using topology::ZoneTree;

// "numa-0 cpu 4/3" (capacity/available) of each amount, in the zones' order.
std::vector<std::string> AmountTexts(const Topology& topology, const Exclusive* exclusive) {
  const auto tree = ZoneTree::Build(topology);
  EXPECT_TRUE(tree.ok()) << tree.status();
  if (!tree.ok()) return {};
  std::vector<std::string> texts;
  const std::vector<ZoneAmounts> amounts = AmountsOf(*tree, exclusive);
  for (size_t i = 0; i < amounts.size(); ++i) {
    for (const auto& [resource, amount] : amounts[i]) {
      texts.push_back(absl::StrCat(tree->zone(i).name, " ", resource, " ",
                                   amount.capacity.Canonical(), "/", amount.available.Canonical()));
    }
  }
  return texts;
}

TEST(ZoneAmounts, NumaNodesTellTheCpusOfTheirCores) {
  EXPECT_THAT(AmountTexts(TopologyOf(kTwoPackages), nullptr),
              ElementsAre("numa-0 cpu 4/4", "numa-0 memory 1Gi/1Gi", "numa-1 cpu 4/4",
                          "numa-1 memory 1Gi/1Gi"));
  EXPECT_THAT(AmountTexts(TopologyOf(kCcx), nullptr),
              ElementsAre("numa-0 cpu 4/4", "numa-0 memory 2Gi/2Gi"));
}

TEST(ZoneAmounts, ExclusiveCpusAreTakenWhereTheyAre) {
  // CPUs 0-1 of numa-0, 2 of numa-1, and one that pods don't have.
  const Exclusive exclusive{.cpus = "0-2,99", .memory = {}, .devices = {}, .device_totals = {}};
  EXPECT_THAT(AmountTexts(TopologyOf(kSnc), &exclusive),
              ElementsAre("numa-0 cpu 2/0", "numa-0 memory 1Gi/1Gi", "numa-1 cpu 2/1",
                          "numa-1 memory 1Gi/1Gi", "numa-2 cpu 2/2", "numa-2 memory 1Gi/1Gi",
                          "numa-3 cpu 2/2", "numa-3 memory 1Gi/1Gi"));
}

TEST(ZoneAmounts, UnreadableCpusTakeNothing) {
  const Exclusive exclusive{.cpus = "0-", .memory = {}, .devices = {}, .device_totals = {}};
  EXPECT_THAT(AmountTexts(TopologyOf(kCcx), &exclusive),
              ElementsAre("numa-0 cpu 4/4", "numa-0 memory 2Gi/2Gi"));
}

TEST(ZoneAmounts, MemoryOfSeveralNodesIsTakenInAscendingOrder) {
  // 256 MiB of node 0 alone first; then 1 GiB of both: 768 MiB of node 0 and 256 of node 1.
  Exclusive exclusive;
  exclusive.memory = {{"memory", {1, 0}, 1u << 30}, {"memory", {0}, 256u << 20}};
  EXPECT_THAT(AmountTexts(TopologyOf(kTwoPackages), &exclusive),
              ElementsAre("numa-0 cpu 4/4", "numa-0 memory 1Gi/0", "numa-1 cpu 4/4",
                          "numa-1 memory 1Gi/768Mi"));
}

TEST(ZoneAmounts, NothingIsEverBelowZero) {
  Exclusive exclusive;
  exclusive.memory = {{"memory", {0, 1}, ~uint64_t{0}}, {"hugepages-2Mi", {0}, 1u << 30}};
  exclusive.device_totals = {{"vendor.com/nic", {0}, 1}};
  exclusive.devices = {{"vendor.com/nic", {0}, 5}, {"vendor.com/gpu", {0}, 1}};
  EXPECT_THAT(AmountTexts(TopologyOf(kTwoPackages), &exclusive),
              ElementsAre("numa-0 cpu 4/4", "numa-0 memory 1Gi/0", "numa-0 vendor.com/nic 1/0",
                          "numa-1 cpu 4/4", "numa-1 memory 1Gi/0"));
}

TEST(ZoneAmounts, DevicesCountAtEachNodeNearThem) {
  Exclusive exclusive;
  exclusive.device_totals = {
      {"vendor.com/nic", {0}, 2}, {"vendor.com/nic", {0, 1}, 1}, {"vendor.com/far", {}, 4}};
  exclusive.devices = {{"vendor.com/nic", {0, 1}, 1}};
  EXPECT_THAT(AmountTexts(TopologyOf(kTwoPackages), &exclusive),
              ElementsAre("numa-0 cpu 4/4", "numa-0 memory 1Gi/1Gi", "numa-0 vendor.com/nic 3/2",
                          "numa-1 cpu 4/4", "numa-1 memory 1Gi/1Gi", "numa-1 vendor.com/nic 1/0"));
}

TEST(ZoneAmounts, MemoryWithoutCpusHasNone) {
  EXPECT_THAT(AmountTexts(HybridWithCxl(), nullptr),
              ElementsAre("numa-0 cpu 4/4", "numa-0 memory 16Gi/16Gi", "numa-1 memory 32Gi/32Gi"));
}

// `show.hide: [NUMANode]`: CPUs stay with their cores, and memory with the package.
TEST(ZoneAmounts, HiddenNodesLeaveAmountsWhereTheyAreTold) {
  Topology topology;
  topology.zones = {ZoneOf("root", topology::kMachine, ""),
                    ZoneOf("package-0", topology::kPackage, "root", "", "3Gi"),
                    ZoneOf("core-0-0", topology::kCore, "package-0", "0-1"),
                    ZoneOf("core-0-1", topology::kCore, "package-0", "2-3")};
  Exclusive exclusive;
  exclusive.cpus = "3";
  exclusive.memory = {{"memory", {0}, 1u << 30}};
  EXPECT_THAT(AmountTexts(topology, &exclusive),
              ElementsAre("package-0 memory 3Gi/2Gi", "core-0-0 cpu 2/2", "core-0-1 cpu 2/1"));
}

// The sum over all zones stays the node's, whatever the shape.
TEST(ZoneAmounts, SumsAreTheNodes) {
  for (const char* shape : {kTwoPackages, kSnc, kCcx, "group:2 pack:2 die:2 l2:2 core:2 pu:2"}) {
    const Topology topology = TopologyOf(shape);
    const auto tree = ZoneTree::Build(topology);
    ASSERT_TRUE(tree.ok()) << tree.status();
    std::map<std::string, resources::Quantity> sums;
    for (const ZoneAmounts& amounts : AmountsOf(*tree, nullptr)) {
      for (const auto& [resource, amount] : amounts) {
        sums[resource] = sums[resource] + amount.capacity;
      }
    }
    EXPECT_EQ(sums, topology::Capacity(topology)) << shape;
  }
}

}  // namespace
}  // namespace plimsoll::kube
