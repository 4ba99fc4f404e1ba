#include "agent/cpu_manager/cpu_hints.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/cpu_manager/machine_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

// "0 1 0+1": the masks' nodes; "!" behind the preferred ones.
std::string HintText(const topology::MachineMaps& maps, int64_t count, absl::string_view free,
                     absl::string_view reusable = "", bool align_by_socket = false) {
  std::vector<std::string> texts;
  for (const Hint& hint :
       CpuHints(CpuLayout(maps), count, Cpus(free), Cpus(reusable), align_by_socket)) {
    texts.push_back(
        absl::StrCat(absl::StrJoin(hint.nodes->ToVector(), "+"), hint.preferred ? "!" : ""));
  }
  return absl::StrJoin(texts, " ");
}

class CpuHintsTest : public ::testing::Test {
 protected:
  // 0-3 with 8-11 are node 0, 4-7 with 12-15 node 1.
  const topology::MachineMaps two_ =
      *MakeMachine({.packages = 2, .cores_per_cache = 4, .threads = 2});
  // Nodes 0 and 1 are package 0, 2 and 3 package 1, with four CPUs each.
  const topology::MachineMaps sub_numa_ =
      *MakeMachine({.packages = 2, .nodes_per_package = 2, .cores_per_cache = 2, .threads = 2});
};

TEST_F(CpuHintsTest, PreferTheFewestNodes) {
  EXPECT_EQ(HintText(two_, 4, "0-15"), "0! 1! 0+1");
  EXPECT_EQ(HintText(two_, 8, "0-15"), "0! 1! 0+1");
  EXPECT_EQ(HintText(two_, 9, "0-15"), "0+1!");
  EXPECT_EQ(HintText(two_, 16, "0-15"), "0+1!");
}

TEST_F(CpuHintsTest, NeedFreeCpus) {
  EXPECT_EQ(HintText(two_, 4, "0-2,4-15"), "0! 1! 0+1");
  EXPECT_EQ(HintText(two_, 4, "0-1,4-8,12-15"), "1! 0+1");
  EXPECT_EQ(HintText(two_, 17, "0-15"), "");
}

TEST_F(CpuHintsTest, NoneIsPreferredIfFewerNodesCouldHoldTheRequestAtOtherTimes) {
  EXPECT_EQ(HintText(two_, 4, "0-2,4-6"), "0+1");
}

TEST_F(CpuHintsTest, ReusableCpusMustAllBeUsed) {
  EXPECT_EQ(HintText(two_, 4, "0-3,6-15", "4-5"), "1! 0+1");
  EXPECT_EQ(HintText(two_, 4, "0-3,6-15", "0,4"), "0+1");
  EXPECT_EQ(HintText(two_, 8, "5-7,12-15", "4"), "1! 0+1") << "they count";
}

TEST_F(CpuHintsTest, SmallerSetsComeFirstThenThoseWithTheLowerFirstNode) {
  EXPECT_EQ(HintText(*MakeMachine({.packages = 3, .cores_per_cache = 2}), 1, "0-5"),
            "0! 1! 2! 0+1 0+2 1+2 0+1+2");
}

TEST_F(CpuHintsTest, SocketsMakeHintsEqual) {
  EXPECT_EQ(HintText(sub_numa_, 4, "0-15"),
            "0! 1! 2! 3! 0+1 0+2 0+3 1+2 1+3 2+3 0+1+2 0+1+3 0+2+3 1+2+3 0+1+2+3");
  EXPECT_EQ(HintText(sub_numa_, 4, "0-15", "", true),
            "0! 1! 2! 3! 0+1! 0+2 0+3 1+2 1+3 2+3! 0+1+2 0+1+3 0+2+3 1+2+3 0+1+2+3");
  EXPECT_EQ(HintText(sub_numa_, 10, "0-15", "", true), "0+1+2! 0+1+3! 0+2+3! 1+2+3! 0+1+2+3!");
}

TEST_F(CpuHintsTest, NodesAreKnownByTheirNumbers) {
  topology::MachineMaps maps = two_;
  for (auto& [cpu, place] : maps.cpus) place.numa_node = place.numa_node == 0 ? 8 : 63;
  EXPECT_EQ(HintText(maps, 9, "0-15"), "8+63!");
  for (auto& [cpu, place] : maps.cpus) place.numa_node = place.numa_node == 8 ? 8 : 64;
  EXPECT_EQ(HintText(maps, 2, "0-15"), "8!") << "a mask has no room for node 64";
}

TEST_F(CpuHintsTest, AreBoundedOnMachinesOfManyNodes) {
  const topology::MachineMaps maps = *MakeMachine({.packages = 32});
  const std::vector<Hint> hints = CpuHints(CpuLayout(maps), 1, Cpus("0-31"), {}, false);
  EXPECT_EQ(hints.size(), size_t{1} << 20);
  EXPECT_EQ(hints[0], (Hint{.nodes = NodeMask::Of(0), .preferred = true}));
  EXPECT_EQ(hints[32], (Hint{.nodes = NodeMask::FromBits(3), .preferred = false}));
}

}  // namespace
}  // namespace plimsoll::agent
