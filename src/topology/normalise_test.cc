#include "topology/normalise.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/make_zones.h"
#include "topology/topology_file.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {
namespace {

using ::testing::HasSubstr;

Topology Of(absl::string_view yaml, const std::map<std::string, std::string>* ids = nullptr) {
  const auto parsed = ParseTopology(yaml, "t.yaml");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  auto made = Normalise(*parsed, ids);
  EXPECT_TRUE(made.ok()) << made.status();
  if (!made.ok()) return {};
  // The client of the proposal's author expects one tree, where each parent is a zone.
  size_t roots = 0;
  for (const Zone& zone : made->zones) {
    if (zone.parent.empty()) ++roots;
  }
  EXPECT_EQ(roots, 1u);
  EXPECT_TRUE(ZoneTree::Build(*made).ok());
  EXPECT_EQ(*Normalise(*made, ids), *made) << "again is the same";
  return *made;
}
// A line for each zone: its name, type, parent and attributes.
std::string Text(const Topology& topology) {
  std::string text = "\n";
  for (const Zone& zone : topology.zones) {
    absl::StrAppend(&text, zone.name, " ", zone.type, zone.parent.empty() ? "" : " in ",
                    zone.parent);
    for (const auto& [name, value] : zone.attributes) absl::StrAppend(&text, " ", name, "=", value);
    absl::StrAppend(&text, "\n");
  }
  return text;
}

TEST(NormaliseTest, TheProposalsExampleGetsARootAndTheTypesThatKubeletKnows) {
  const Topology made = Of(R"(
zones:
- {name: socket-1, type: socket, parent: root}
- {name: core-1, type: core, parent: socket-1, resources: [{name: cpu, capacity: 1}]}
- {name: socket-2, type: socket, parent: root}
)");
  EXPECT_EQ(Text(made), R"(
root Machine
socket-1 Package in root id=1
core-1 Core in socket-1
socket-2 Package in root id=2
)");
}

TEST(NormaliseTest, AZoneAroundAllIsTheRoot) {
  const Topology made = Of(R"(
zones:
- {name: c, type: CORE, parent: n7}
- {name: n7, type: Numa, parent: system}
- {name: system, type: board, parent: root}
)");
  ASSERT_EQ(made.zones.size(), 3u);
  EXPECT_EQ(made.zones[0], (Zone{.name = "system", .type = "board"}));
  EXPECT_EQ(made.zones[1].name, "n7") << "outermost first";
  EXPECT_EQ(made.zones[1].type, kNumaNode);
  EXPECT_EQ(made.zones[1].parent, "system");
  EXPECT_EQ(made.zones[2].type, kCore);
}

// When hidden, it would leave no zone for its resources.
TEST(NormaliseTest, ALevelThatMayBeHiddenIsNoRoot) {
  const Topology made = Of("zones: [{name: p0, type: Package}]");
  ASSERT_EQ(made.zones.size(), 2u);
  EXPECT_EQ(made.zones[1].parent, "root");
  // Except with the root's name.
  EXPECT_EQ(Of("zones: [{name: root, type: Package}]").zones.size(), 1u);
}

TEST(NormaliseTest, IdsAreTheMachinesUnlessAsked) {
  constexpr char kFile[] = R"(
zones:
- {name: p0, type: Package, attributes: {machine-id: old, boot-id: old, color: red}}
- {name: p1, type: Package, attributes: {system-uuid: old}}
)";
  const std::map<std::string, std::string> ids = {{"machine-id", "m"}, {"boot-id", "b"}};
  EXPECT_EQ(Text(Of(kFile, &ids)), R"(
root Machine boot-id=b machine-id=m
p0 Package in root color=red id=0
p1 Package in root id=1
)");
  EXPECT_THAT(Text(Of(kFile)), HasSubstr("p0 Package in root boot-id=old"));
}

TEST(NormaliseTest, AnIdOfItsOwnStays) {
  EXPECT_THAT(Text(Of("zones: [{name: n0, type: NUMANode, attributes: {id: 5}}]")),
              HasSubstr("id=5"));
  EXPECT_THAT(Text(Of("zones: [{name: east, type: NUMANode}]")), ::testing::Not(HasSubstr("id=")));
}

TEST(NormaliseTest, TheKernelsGetsIdsAndNothingElse) {
  const Topology kernels = MakeZones(*ReadHwlocSynthetic("pack:2 numa:1 core:1 pu:1"));
  Topology made = *Normalise(kernels, nullptr);
  EXPECT_EQ(Text(made), R"(
root Machine
package-0 Package in root id=0
numa-0 NUMANode in package-0 id=0
core-0-0 Core in numa-0 cpu-ids=0
package-1 Package in root id=1
numa-1 NUMANode in package-1 id=1
core-1-1 Core in numa-1 cpu-ids=1
)");
  for (Zone& zone : made.zones) zone.attributes.erase(kId);
  EXPECT_EQ(made, kernels);
}

// An accepted topology must stay valid when the root is added.
TEST(NormaliseTest, TheRootThatIsAddedCountsInTheBounds) {
  Topology deep;
  for (size_t i = 0; i < ZoneTree::kMaxDepth - 1; ++i) {
    deep.zones.push_back({.name = absl::StrCat("p", i),
                          .type = kPackage,
                          .parent = i == 0 ? "root" : absl::StrCat("p", i - 1)});
  }
  EXPECT_TRUE(ZoneTree::Build(*Normalise(deep, nullptr)).ok());
  deep.zones.push_back({.name = "low", .type = kPackage, .parent = deep.zones.back().name});
  EXPECT_THAT(ZoneTree::Build(deep).status().message(),
              HasSubstr("zone \"low\" is within more than 99 others"));
  Topology many;
  for (size_t i = 0; i < ZoneTree::kMaxZones - 1; ++i) {
    many.zones.push_back({.name = absl::StrCat("p", i), .type = kPackage});
  }
  EXPECT_TRUE(ZoneTree::Build(*Normalise(many, nullptr)).ok());
  many.zones.push_back({.name = "more", .type = kPackage});
  EXPECT_THAT(ZoneTree::Build(many).status().message(), HasSubstr("at most 100000 are read"));
}

TEST(NormaliseTest, WhatIsNoTreeIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(Normalise({}, nullptr).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(Normalise({{Zone{.name = "a", .parent = "b"}}}, nullptr).status()));
}

}  // namespace
}  // namespace plimsoll::topology
