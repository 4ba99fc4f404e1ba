#include "topology/kept_topology.h"

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gtest/gtest.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/make_zones.h"

namespace plimsoll::topology {
namespace {

class KeptTopologyTest : public ::testing::Test {
 protected:
  const TestDir dir_;
  const TopologyKeeper keeper_{dir_.root(), "boot-1"};
  const Topology topology_ = MakeZones(*ReadHwlocSynthetic("pack:2 l3:2 core:2 pu:2"));
};

TEST_F(KeptTopologyTest, WhatIsStoredIsThereAgain) {
  EXPECT_FALSE(keeper_.Load().has_value());
  ASSERT_TRUE(keeper_.Store({.author = "p", .topology = topology_}).ok());
  auto kept = keeper_.Load();
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->author, "p");
  EXPECT_FALSE(kept->gone.has_value());
  EXPECT_EQ(kept->topology, topology_);
  const absl::Time gone = absl::FromUnixMillis(1234567890123);
  ASSERT_TRUE(keeper_.Store({.author = "q", .gone = gone, .topology = topology_}).ok());
  kept = keeper_.Load();
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->author, "q");
  EXPECT_EQ(kept->gone, gone);
  ASSERT_TRUE(keeper_.Forget().ok());
  EXPECT_FALSE(keeper_.Load().has_value());
  EXPECT_TRUE(keeper_.Forget().ok());
}

TEST_F(KeptTopologyTest, AnotherBootsIsNotUsed) {
  ASSERT_TRUE(keeper_.Store({.author = "p", .topology = topology_}).ok());
  EXPECT_FALSE(TopologyKeeper(dir_.root(), "boot-2").Load().has_value());
}

TEST_F(KeptTopologyTest, WhatIsDamagedIsNotUsed) {
  for (const char* text : {"", "boot boot-1\n", "boot boot-1\nprovider p\ngone \n",
                           "boot boot-1\nprovider p\ngone soon\nzones: [{name: a}]\n",
                           "boot boot-1\nauthor p\ngone \nzones: [{name: a}]\n",
                           "boot boot-1\nprovider p\ngone \nzones: [{na"}) {
    ASSERT_TRUE(dir_.root().ReplaceFile("provider-topology", text).ok());
    EXPECT_FALSE(keeper_.Load().has_value()) << text;
  }
  ASSERT_TRUE(
      dir_.root()
          .ReplaceFile("provider-topology", "boot boot-1\nprovider p\ngone \nzones: [{name: a}]\n")
          .ok());
  EXPECT_TRUE(keeper_.Load().has_value());
}

}  // namespace
}  // namespace plimsoll::topology
