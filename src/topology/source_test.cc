#include "topology/source.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/topology_file.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using ::testing::HasSubstr;

// Two NUMA nodes of two CPUs.
Machine TwoNodes() {
  return *ReadHwlocSynthetic("numa:2(memory=1073741824) core:2 pu:1");
}

Topology Parse(absl::string_view text) {
  return *ParseTopology(text, "t.yaml");
}

TEST(SourceTest, ATopologyIsHeldAgainstTheMachine) {
  const Machine machine = TwoNodes();
  EXPECT_TRUE(
      CheckAgainst(Parse("zones:\n- {name: a, type: Core, attributes: {cpu-ids: 0-3}}"), machine)
          .ok());
  const absl::Status cpus =
      CheckAgainst(Parse("zones:\n- {name: a, type: Core, attributes: {cpu-ids: 3-4}}"), machine);
  EXPECT_TRUE(absl::IsFailedPrecondition(cpus));
  EXPECT_THAT(cpus.message(), HasSubstr("zone \"a\" has CPUs 4"));
  const absl::Status node = CheckAgainst(Parse("zones:\n- {name: n2, type: numa}"), machine);
  EXPECT_TRUE(absl::IsFailedPrecondition(node));
  EXPECT_THAT(node.message(), HasSubstr("zone \"n2\" is NUMA node 2"));
  EXPECT_TRUE(
      absl::IsInvalidArgument(CheckAgainst(Parse("zones: [{name: a, parent: b}]"), machine)));
  const absl::Status twice = CheckAgainst(
      Parse("zones: [{name: n1, type: numa}, {name: b, type: numa, attributes: {id: 1}}]"),
      machine);
  EXPECT_TRUE(absl::IsInvalidArgument(twice));
  EXPECT_THAT(twice.message(), HasSubstr("zone \"b\" has the same number as NUMA node \"n1\""));
}

Partition PartitionOf(const Topology& topology, const Machine& machine) {
  const ZoneTree tree = *ZoneTree::Build(topology);
  return FitToMachine(*MakePartition({}, tree), tree, machine);
}

// CPUs without numbers can't be enforced: the partition has them all.
TEST(SourceTest, WithoutNumbersNothingIsKeptBack) {
  const Machine machine = TwoNodes();
  const Partition partition = PartitionOf(
      Parse("zones:\n- {name: a, type: core, resources: [{name: cpu, capacity: 1}]}"), machine);
  EXPECT_EQ(partition.cpus.ToString(), "0-3");
  EXPECT_EQ(partition.memory_nodes.ToString(), "0-1");
  EXPECT_TRUE(partition.is_whole);
}

TEST(SourceTest, WhatItNumbersIsEnforced) {
  const Machine machine = TwoNodes();
  const Partition partition = PartitionOf(Parse(R"(
zones:
- {name: n1, type: NUMANode, resources: [{name: memory, capacity: 1Gi}]}
- {name: a, type: Core, parent: n1, attributes: {cpu-ids: 2}, resources: [{name: cpu, capacity: 1}]}
)"),
                                          machine);
  EXPECT_EQ(partition.cpus.ToString(), "2");
  EXPECT_EQ(partition.memory_nodes.ToString(), "1");
  EXPECT_FALSE(partition.is_whole);
}

}  // namespace
}  // namespace plimsoll::topology
