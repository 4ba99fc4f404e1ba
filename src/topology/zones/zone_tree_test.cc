#include "topology/zones/zone_tree.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using resources::Quantity;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Zone TreeOf(const std::string& name, const std::string& parent, const std::string& cpus = "") {
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
  Topology topology = {
      {TreeOf("root", ""), TreeOf("p", "root"), TreeOf("a", "p", "0-1"), TreeOf("b", "p", "2")}};
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
  const auto tree = ZoneTree::Build(
      {{TreeOf("socket-1", "root"), TreeOf("core-1", "socket-1"), TreeOf("x", "")}});
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Parent(0), std::nullopt);
  EXPECT_EQ(tree->Parent(2), std::nullopt);
}

TEST(ZoneTreeTest, AnOuterZoneMayNameTheCpusOfInnerOnes) {
  for (const auto& zones : {std::vector{TreeOf("p", "", "0-3"), TreeOf("c", "p", "0-1")},
                            std::vector{TreeOf("c", "p", "0-1"), TreeOf("p", "", "0-3")}}) {
    const auto tree = ZoneTree::Build({zones});
    ASSERT_TRUE(tree.ok()) << tree.status();
    EXPECT_EQ(tree->Cpus().ToString(), "0-3");
  }
}

TEST(ZoneTreeTest, RefusesWhatIsNoTree) {
  EXPECT_EQ(Why({{TreeOf("", "")}}), "zone number 1 has no name");
  EXPECT_EQ(Why({{TreeOf("a", ""), TreeOf("a", "")}}), "zone \"a\" is there twice");
  EXPECT_EQ(Why({{TreeOf("a", "b")}}), "zone \"a\" has parent \"b\", but there is no such zone");
  EXPECT_EQ(Why({{TreeOf("a", "a")}}), "zone \"a\" is its own parent");
  EXPECT_EQ(Why({{TreeOf("root", "root")}}), "zone \"root\" is its own parent");
  EXPECT_THAT(Why({{TreeOf("a", "b"), TreeOf("b", "c"), TreeOf("c", "b")}}),
              HasSubstr("is within itself"));
  EXPECT_THAT(Why({{TreeOf("root", "a"), TreeOf("a", "")}}), HasSubstr("is within itself"));
}

// A name must not break a line in two.
TEST(ZoneTreeTest, RefusesControlCharactersInNames) {
  EXPECT_EQ(Why({{TreeOf("a\nb", "")}}),
            "zone \"a\\nb\" has control characters in its name \"a\\nb\"; leave them out");
  EXPECT_THAT(Why({{TreeOf("\x1b[2J", "")}}), HasSubstr("its name \"\\x1b[2J\""));
  Topology topology = {{TreeOf("a", "")}};
  topology.zones[0].type = "Co\tre";
  EXPECT_THAT(Why(topology), HasSubstr("its type \"Co\\tre\""));
  topology.zones = {TreeOf("a", "")};
  topology.zones[0].resources = {{"c\rpu", *Quantity::Parse("1")}};
  EXPECT_THAT(Why(topology), HasSubstr("the name of resource \"c\\rpu\""));
  topology.zones = {TreeOf("a", "")};
  topology.zones[0].attributes["x\n"] = "1";
  EXPECT_THAT(Why(topology), HasSubstr("the name of attribute \"x\\n\""));
  // Other languages and values of several lines are fine.
  topology.zones = {TreeOf("Knoten-ä", "")};
  topology.zones[0].attributes["x"] = "1\n2";
  EXPECT_TRUE(ZoneTree::Build(topology).ok());
}

TEST(ZoneTreeTest, RefusesNothing) {
  EXPECT_EQ(Why({}), "a topology without zones");
}

// Clients count in 64 bits: a larger capacity would be cut, or would wrap.
TEST(ZoneTreeTest, RefusesACapacityAboveAnInt64) {
  Topology topology = {{TreeOf("a", "")}};
  for (const char* text : {"9223372036854775808", "8Ei"}) {
    topology.zones[0].resources = {{"example.com/gpu", *Quantity::Parse(text)}};
    EXPECT_THAT(Why(topology), HasSubstr(absl::StrCat("zone \"a\" has a capacity of resource "
                                                      "\"example.com/gpu\" of ",
                                                      text)));
  }
  topology.zones[0].resources = {{"example.com/gpu", *Quantity::Parse("9223372036854775807")}};
  EXPECT_TRUE(ZoneTree::Build(topology).ok());
  // The node's is the sum over its zones.
  topology.zones.push_back(TreeOf("b", ""));
  topology.zones[1].resources = {{"example.com/gpu", *Quantity::Parse("1")}};
  EXPECT_THAT(Why(topology), HasSubstr("zone \"b\" brings the node's capacity of resource "
                                       "\"example.com/gpu\" to 9223372036854775808"));
}

TEST(ZoneTreeTest, TellsAllThatIsWrong) {
  Topology topology = {
      {TreeOf("a", "b"), TreeOf("c", "", "0"), TreeOf("c", "", "x"), TreeOf("d", "", "0-1")}};
  topology.zones[0].resources = {{"cpu", *Quantity::Parse("-1")}};
  std::vector<std::string> faults = {"of another time"};
  EXPECT_FALSE(ZoneTree::Build(topology, &faults).ok());
  EXPECT_THAT(faults,
              ElementsAre("zone \"c\" is there twice", HasSubstr("negative amount"),
                          HasSubstr("but there is no such zone"), HasSubstr("\"c\" has cpu-ids"),
                          HasSubstr("zone \"d\" has CPU 0")));
  topology.zones.assign(1000, TreeOf("a", ""));
  EXPECT_FALSE(ZoneTree::Build(topology, &faults).ok());
  EXPECT_EQ(faults.size(), ZoneTree::kMaxFaults);
}

TEST(ZoneTreeTest, RefusesImpossibleResources) {
  Topology topology = {{TreeOf("a", "")}};
  topology.zones[0].resources = {{"cpu", *Quantity::Parse("-1")}};
  EXPECT_EQ(Why(topology), "zone \"a\" has a negative amount of resource \"cpu\": -1");
  topology.zones[0].resources = {{"cpu", Quantity()}, {"cpu", Quantity()}};
  EXPECT_EQ(Why(topology), "zone \"a\" has resource \"cpu\" twice");
  topology.zones[0].resources = {{"", Quantity()}};
  EXPECT_EQ(Why(topology), "zone \"a\" has a resource without a name");
}

TEST(ZoneTreeTest, RefusesImpossibleCpus) {
  EXPECT_THAT(Why({{TreeOf("a", "", "0-")}}), HasSubstr("zone \"a\" has cpu-ids: "));
  EXPECT_EQ(Why({{TreeOf("a", "", "0-1"), TreeOf("b", "", "1-2")}}),
            "zone \"b\" has CPU 1, and so has zone \"a\", and neither is within the other");
  // An ancestor between two cores doesn't hide that they share one.
  EXPECT_THAT(Why({{TreeOf("a", "p", "0"), TreeOf("p", "", "0"), TreeOf("b", "p", "0")}}),
              HasSubstr("zone \"b\" has CPU 0"));
}

// The form of CRI-O's own discovery: CPUs near to a node are not the node's.
TEST(ZoneTreeTest, CpuIdsOfAZoneWithoutCpusSayWhatIsNear) {
  Topology topology = {{TreeOf("root", ""), TreeOf("n0", "root", "0-1"),
                        TreeOf("n1", "root", "0-3"), TreeOf("c0", "root", "0"),
                        TreeOf("c1", "root", "1")}};
  topology.zones[1].type = topology.zones[2].type = kNumaNode;
  for (size_t core : {3, 4}) {
    topology.zones[core].type = kCore;
    topology.zones[core].resources = {{kCpu, Quantity::FromInt(1)}};
  }
  const auto tree = ZoneTree::Build(topology);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Cpus().ToString(), "0-1") << "CPUs 2-3 are nobody's";
  EXPECT_EQ(tree->Cpus(1).ToString(), "0-1");
  EXPECT_EQ(tree->OwnCpus(1).ToString(), "");
  EXPECT_EQ(tree->OwnCpus(3).ToString(), "0");
  // Now both zones have the CPU, not only near to it.
  topology.zones[1].resources = {{kCpu, Quantity::FromInt(2)}};
  EXPECT_EQ(Why(topology),
            "zone \"c0\" has CPU 0, and so has zone \"n0\", and neither is within the other");
}

// HBM and DRAM beside the same CPUs, a package beside its node.
TEST(ZoneTreeTest, WhereNoZoneHasCpusTheyAreWhereTheyAreNamed) {
  Topology topology = {
      {TreeOf("dram-0", "", "0-1"), TreeOf("hbm-1", "", "0-1"), TreeOf("p", "", "0-3")}};
  topology.zones[0].type = topology.zones[1].type = kNumaNode;
  topology.zones[2].type = kPackage;
  const auto tree = ZoneTree::Build(topology);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Cpus().ToString(), "0-3");
}

TEST(ZoneTreeTest, CpusMustExist) {
  const auto tree = ZoneTree::Build({{TreeOf("a", "", "0-1"), TreeOf("b", "", "4-5")}});
  EXPECT_TRUE(CheckCpusExist(*tree, *CpuSet::Parse("0-7")).ok());
  const absl::Status lacking = CheckCpusExist(*tree, *CpuSet::Parse("0-4"));
  EXPECT_TRUE(absl::IsFailedPrecondition(lacking));
  EXPECT_THAT(lacking.message(),
              HasSubstr("zone \"b\" has CPUs 5, but they are missing or offline"));
  std::vector<std::string> faults;
  EXPECT_FALSE(CheckCpusExist(*tree, *CpuSet::Parse("0"), &faults).ok());
  EXPECT_THAT(faults, ElementsAre(HasSubstr("\"a\" has CPUs 1,"), HasSubstr("\"b\" has CPUs 4-5")));
}

// Zones and CPUs at the limit, nested to the limit, below a root: each outer zone names
// the CPUs of the inner ones. The work must not grow with the square.
TEST(ZoneTreeTest, DeepAndManyZonesWithCpusAreRead) {
  constexpr size_t kDeep = ZoneTree::kMaxDepth - 1;
  constexpr size_t kChains = (ZoneTree::kMaxZones - 1) / kDeep;
  constexpr uint32_t kCpusEach = 8;
  Topology topology = {{TreeOf("root", "")}};
  for (size_t chain = 0; chain < kChains; ++chain) {
    const std::string cpus =
        absl::StrCat(chain * kCpusEach, "-", chain * kCpusEach + kCpusEach - 1);
    for (size_t depth = 0; depth < kDeep; ++depth) {
      topology.zones.push_back(
          TreeOf(absl::StrCat("z", chain, "-", depth),
                 depth + 1 == kDeep ? "" : absl::StrCat("z", chain, "-", depth + 1), cpus));
    }
  }
  const auto tree = ZoneTree::Build(topology);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Cpus().Size(), kChains * kCpusEach);
  size_t own = 0;
  for (size_t i = 1; i < topology.zones.size(); ++i) {
    EXPECT_EQ(tree->Cpus(i).Size(), kCpusEach);
    own += tree->OwnCpus(i).Size();
  }
  EXPECT_EQ(own, kChains * kCpusEach);
  while (topology.zones.size() < ZoneTree::kMaxZones) {
    topology.zones.push_back(TreeOf(absl::StrCat("more-", topology.zones.size()), ""));
  }
  EXPECT_TRUE(ZoneTree::Build(topology).ok());
  topology.zones.push_back(TreeOf("more", ""));
  EXPECT_THAT(Why(std::move(topology)), HasSubstr("at most 100000 are read"));
}

TEST(ZoneTreeTest, DepthHasABound) {
  Topology topology;
  for (size_t i = 0; i < ZoneTree::kMaxDepth; ++i) {
    topology.zones.push_back(
        TreeOf(absl::StrCat("z", i), i == 0 ? "root" : absl::StrCat("z", i - 1), absl::StrCat(i)));
  }
  EXPECT_TRUE(ZoneTree::Build(topology).ok());
  topology.zones.push_back(TreeOf("low", absl::StrCat("z", ZoneTree::kMaxDepth - 1)));
  EXPECT_THAT(Why(topology), HasSubstr("zone \"low\" is within more than 99 others"));
}

TEST(ZoneTreeTest, KnowsWhichCpusAreAZonesOwn) {
  const auto tree =
      ZoneTree::Build({{TreeOf("p", "", "0-3"), TreeOf("c", "p", "0-1"), TreeOf("d", "c", "1")}});
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->OwnCpus(0).ToString(), "2-3");
  EXPECT_EQ(tree->OwnCpus(1).ToString(), "0");
  EXPECT_EQ(tree->OwnCpus(2).ToString(), "1");
  EXPECT_EQ(tree->Cpus(1).ToString(), "0-1");
}

}  // namespace
}  // namespace plimsoll::topology
