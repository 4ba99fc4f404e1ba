#include "topology/zone_tree.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using resources::Quantity;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Zone Of(const std::string& name, const std::string& parent, const std::string& cpus = "") {
  Zone zone = {.name = name, .type = "t", .parent = parent};
  if (!cpus.empty()) zone.attributes[kCpuIds] = cpus;
  return zone;
}
std::string Why(Topology topology) {
  const auto tree = ZoneTree::Build(std::move(topology));
  EXPECT_EQ(tree.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(tree.status().message());
}

TEST(ZoneTreeTest, KnowsParentsChildrenAndCpus) {
  Topology topology = {{Of("root", ""), Of("p", "root"), Of("a", "p", "0-1"), Of("b", "p", "2")}};
  topology.zones[1].type = kPackage;
  const auto tree = ZoneTree::Build(topology);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Parent(0), std::nullopt);
  EXPECT_EQ(tree->Parent(1), 0u);
  EXPECT_THAT(tree->Children(1), ElementsAre(2u, 3u));
  EXPECT_EQ(tree->Cpus(1).ToString(), "0-2");
  EXPECT_EQ(tree->Cpus(2).ToString(), "0-1");
  EXPECT_EQ(tree->Cpus().ToString(), "0-2");
  EXPECT_EQ(tree->Find("b"), 3u);
  EXPECT_EQ(tree->Find("c"), std::nullopt);
  EXPECT_EQ(tree->Enclosing(3, kPackage), 1u);
  EXPECT_EQ(tree->Enclosing(3, kNumaNode), std::nullopt);
  EXPECT_EQ(tree->topology(), topology);
}

// The proposal's own example has no zone "root".
TEST(ZoneTreeTest, TheRootNeedsNoZone) {
  const auto tree =
      ZoneTree::Build({{Of("socket-1", "root"), Of("core-1", "socket-1"), Of("x", "")}});
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Parent(0), std::nullopt);
  EXPECT_EQ(tree->Parent(2), std::nullopt);
}

TEST(ZoneTreeTest, AnOuterZoneMayNameTheCpusOfInnerOnes) {
  for (const auto& zones : {std::vector{Of("p", "", "0-3"), Of("c", "p", "0-1")},
                            std::vector{Of("c", "p", "0-1"), Of("p", "", "0-3")}}) {
    const auto tree = ZoneTree::Build({zones});
    ASSERT_TRUE(tree.ok()) << tree.status();
    EXPECT_EQ(tree->Cpus().ToString(), "0-3");
  }
}

TEST(ZoneTreeTest, RefusesWhatIsNoTree) {
  EXPECT_EQ(Why({{Of("", "")}}), "zone number 1 has no name");
  EXPECT_EQ(Why({{Of("a", ""), Of("a", "")}}), "zone \"a\" is there twice");
  EXPECT_EQ(Why({{Of("a", "b")}}), "zone \"a\" has parent \"b\", which is no zone");
  EXPECT_EQ(Why({{Of("a", "a")}}), "zone \"a\" is its own parent");
  EXPECT_EQ(Why({{Of("root", "root")}}), "zone \"root\" is its own parent");
  EXPECT_THAT(Why({{Of("a", "b"), Of("b", "c"), Of("c", "b")}}), HasSubstr("is within itself"));
  EXPECT_THAT(Why({{Of("root", "a"), Of("a", "")}}), HasSubstr("is within itself"));
}

TEST(ZoneTreeTest, RefusesImpossibleResources) {
  Topology topology = {{Of("a", "")}};
  topology.zones[0].resources = {{"cpu", *Quantity::Parse("-1")}};
  EXPECT_EQ(Why(topology), "zone \"a\" has less than nothing of resource \"cpu\": -1");
  topology.zones[0].resources = {{"cpu", Quantity()}, {"cpu", Quantity()}};
  EXPECT_EQ(Why(topology), "zone \"a\" has resource \"cpu\" twice");
  topology.zones[0].resources = {{"", Quantity()}};
  EXPECT_EQ(Why(topology), "zone \"a\" has a resource without a name");
}

TEST(ZoneTreeTest, RefusesImpossibleCpus) {
  EXPECT_THAT(Why({{Of("a", "", "0-")}}), HasSubstr("zone \"a\" has cpu-ids: "));
  EXPECT_EQ(Why({{Of("a", "", "0-1"), Of("b", "", "1-2")}}),
            "zone \"b\" has CPU 1, which zone \"a\" has too, and neither is within the other");
  // An ancestor that is met between two cores doesn't hide that they share one.
  EXPECT_THAT(Why({{Of("a", "p", "0"), Of("p", "", "0"), Of("b", "p", "0")}}),
              HasSubstr("zone \"b\" has CPU 0"));
}

TEST(ZoneTreeTest, CpusMustExist) {
  const auto tree = ZoneTree::Build({{Of("a", "", "0-1"), Of("b", "", "4-5")}});
  EXPECT_TRUE(CheckCpusExist(*tree, *CpuSet::Parse("0-7")).ok());
  const absl::Status lacking = CheckCpusExist(*tree, *CpuSet::Parse("0-4"));
  EXPECT_TRUE(absl::IsFailedPrecondition(lacking));
  EXPECT_THAT(lacking.message(), HasSubstr("zone \"b\" has CPUs 5, which"));
}

// A chain as long as there may be zones: the work must not grow with its square.
TEST(ZoneTreeTest, ALongChainIsRead) {
  Topology topology;
  for (size_t i = 0; i < ZoneTree::kMaxZones; ++i) {
    topology.zones.push_back(
        Of(absl::StrCat("z", i), i + 1 == ZoneTree::kMaxZones ? "" : absl::StrCat("z", i + 1)));
  }
  EXPECT_TRUE(ZoneTree::Build(topology).ok());
  topology.zones.push_back(Of("more", ""));
  EXPECT_THAT(Why(std::move(topology)), HasSubstr("at most 100000 are read"));
}

}  // namespace
}  // namespace plimsoll::topology
