#include "agent/node/read_topology.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/topology_file.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<topology::MachineMaps> Read(absl::string_view zones, bool cpu_ids = false) {
  const auto topology = topology::ParseTopology(zones, "t.yaml");
  EXPECT_TRUE(topology.ok()) << topology.status();
  return ReadTopology(*topology, cpu_ids);
}

constexpr char kTwoCpus[] =
    "zones: [{name: n0, type: NUMANode, resources: [{name: memory, capacity: 8Gi}, {name: "
    "hugepages-2Mi, capacity: 4Mi}]}, {name: c, type: Core, parent: n0, attributes: {cpu-ids: "
    "0-1}}]";

TEST(ReadTopologyTest, ErrorsNameTheZone) {
  EXPECT_EQ(Read(kTwoCpus)->cpu_count, 2);
  EXPECT_THAT(Read("zones: []").status().message(), HasSubstr("without zones"));
  EXPECT_THAT(Read("zones: [{name: a, parent: b}]").status().message(), HasSubstr("zone \"a\""));
  EXPECT_THAT(Read("zones: [{name: east, type: NUMANode}]").status().message(),
              HasSubstr("zone \"east\" is a NUMA node"));
}

TEST(ReadTopologyTest, NumbersOfCpusAreNeededIfAsked) {
  const char* unnumbered =
      "zones: [{name: c, resources: [{name: cpu, capacity: 2}, {name: memory, capacity: 1Gi}]}]";
  EXPECT_EQ(Read(unnumbered)->cpu_count, 2);
  EXPECT_THAT(Read(unnumbered, true).status().message(), HasSubstr("zone \"c\" has CPUs and no"));
  EXPECT_TRUE(Read(kTwoCpus, true).ok());
}

// The first is KEP-5224's printed example, but for its names.
TEST(ReadTopologyTest, ANodeHasCpusAndMemory) {
  const char* cpus = "zones: [{name: c, type: Core, resources: [{name: cpu, capacity: 2}]}]";
  EXPECT_TRUE(absl::IsInvalidArgument(Read(cpus).status())) << Read(cpus).status();
  EXPECT_THAT(Read(cpus).status().message(), HasSubstr("have no \"memory\""));
  EXPECT_THAT(
      Read("zones: [{name: m, resources: [{name: memory, capacity: 1Gi}]}]").status().message(),
      HasSubstr("have no \"cpu\""));
}

TEST(ReadTopologyTest, DifferencesAreOneLine) {
  const topology::MachineMaps before = *Read(kTwoCpus);
  const topology::MachineMaps after = *Read(
      "zones: [{name: n0, type: NUMANode, resources: [{name: memory, capacity: 16Gi}, {name: "
      "hugepages-1Gi, capacity: 1Gi}]}, {name: n1, type: NUMANode, resources: [{name: swap, "
      "capacity: 1Mi}]}, {name: c, type: Core, parent: n0, attributes: {cpu-ids: 1-3}}]");
  EXPECT_EQ(DifferenceOf(before, after),
            "cpu 2 -> 3 (CPUs 2-3 came, CPUs 0 went), memory 8Gi -> 16Gi, hugepages-2Mi 2 pages -> "
            "0, hugepages-1Gi 0 pages -> 1, swap 0 -> 1Mi, NUMA nodes 1 -> 2");
  EXPECT_THAT(DifferenceOf(before, before), HasSubstr("the same amounts"));
}

}  // namespace
}  // namespace plimsoll::agent
