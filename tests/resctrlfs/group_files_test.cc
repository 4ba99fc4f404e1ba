// The files `tasks`, `cpus` and `mode` of a group.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "resctrlfs/fake_tree.h"

namespace plimsoll::resctrlfs {
namespace {

using ::testing::HasSubstr;

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() : tree_(TwoSockets()) {
    EXPECT_EQ(tree_.Mkdir("gold") + tree_.Mkdir("silver") + tree_.Mkdir("gold/mon_groups/m"), 0);
  }
  GroupId GroupOf(pid_t thread) { return tree_.membership().threads[thread]; }

  FakeTree tree_;
  const GroupId gold_ = 1, silver_ = 2, m_ = 3;
};

using TasksTest = FilesTest;

TEST_F(TasksTest, AreAllInTheRootGroupAtFirst) {
  EXPECT_EQ(tree_.Read("tasks"), "100\n101\n102\n103\n104\n");
  EXPECT_EQ(tree_.Read("gold/tasks"), "");
}

TEST_F(TasksTest, OneOrSeveralAreMoved) {
  EXPECT_EQ(tree_.Write("gold/tasks", "101"), 0);
  EXPECT_EQ(tree_.WriteRaw("gold/tasks", "0x66, 103 ,"), 0) << tree_.Status();
  EXPECT_EQ(tree_.Read("gold/tasks"), "101\n102\n103\n");
  EXPECT_EQ(tree_.Read("tasks"), "100\n104\n");
  EXPECT_EQ(tree_.Write("silver/tasks", "101"), 0);
  EXPECT_EQ(tree_.Read("gold/tasks"), "102\n103\n");
}

TEST_F(TasksTest, ZeroIsTheWriter) {
  EXPECT_EQ(tree_.Write("gold/tasks", "0"), 0);
  EXPECT_EQ(GroupOf(100), gold_);
}

TEST_F(TasksTest, NothingIsNoError) {
  EXPECT_EQ(tree_.Write("gold/tasks", ""), 0);
  EXPECT_EQ(tree_.Read("gold/tasks"), "");
}

TEST_F(TasksTest, TheFirstRefusalEndsIt) {
  EXPECT_EQ(tree_.Write("gold/tasks", "101,999,102"), ESRCH);
  EXPECT_THAT(tree_.Status(), HasSubstr("no thread 999"));
  EXPECT_EQ(GroupOf(101), gold_);
  EXPECT_EQ(GroupOf(102), kRootGroup);
}

TEST_F(TasksTest, BadIdsAreInvalid) {
  EXPECT_EQ(tree_.Write("gold/tasks", "-1"), EINVAL);
  EXPECT_THAT(tree_.Status(), HasSubstr("-1 is negative"));
  for (const char* bad : {"init", "1 2", "101;102", "4294967296"}) {
    EXPECT_EQ(tree_.Write("gold/tasks", bad), EINVAL) << bad;
    EXPECT_THAT(tree_.Status(), HasSubstr("is no thread id"));
  }
  EXPECT_EQ(tree_.Write("gold/tasks", "101,,102"), EINVAL);
  EXPECT_EQ(GroupOf(101), gold_);
}

TEST_F(TasksTest, OlderKernelsTakeOneId) {
  Layout layout = TwoSockets();
  layout.traits.several_ids = false;
  FakeTree tree(layout);
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  EXPECT_EQ(tree.Write("gold/tasks", "101,102"), EINVAL);
  EXPECT_EQ(tree.Write("gold/tasks", "101"), 0);
}

TEST_F(TasksTest, OthersThreadsAreRootsToMove) {
  tree_.writer.uid = 1000;
  tree_.foreign_threads = {102};
  EXPECT_EQ(tree_.Write("gold/tasks", "101"), 0);
  EXPECT_EQ(tree_.Write("gold/tasks", "102"), EPERM);
  EXPECT_THAT(tree_.Status(), HasSubstr("102 is another user's"));
}

TEST_F(TasksTest, AMonitoringGroupTakesThreadsOfItsControlGroupOnly) {
  EXPECT_EQ(tree_.Write("gold/mon_groups/m/tasks", "101"), EINVAL);
  EXPECT_THAT(tree_.Status(), HasSubstr("not in the control group"));
  ASSERT_EQ(tree_.Write("gold/tasks", "101"), 0);
  EXPECT_EQ(tree_.Write("gold/mon_groups/m/tasks", "101"), 0);
  // The control group lists its monitoring groups' threads.
  EXPECT_EQ(tree_.Read("gold/mon_groups/m/tasks"), "101\n");
  EXPECT_EQ(tree_.Read("gold/tasks"), "101\n");
}

TEST_F(TasksTest, AnotherControlGroupTakesAThreadOutOfItsMonitoringGroup) {
  ASSERT_EQ(tree_.Write("gold/tasks", "101,102"), 0);
  ASSERT_EQ(tree_.Write("gold/mon_groups/m/tasks", "101,102"), 0);
  EXPECT_EQ(tree_.Write("silver/tasks", "101"), 0);
  EXPECT_EQ(tree_.Read("gold/mon_groups/m/tasks"), "102\n");
  EXPECT_EQ(GroupOf(101), silver_);
  // So does its own.
  EXPECT_EQ(tree_.Write("gold/tasks", "102"), 0);
  EXPECT_EQ(GroupOf(102), gold_);
}

using CpusTest = FilesTest;

TEST_F(CpusTest, AreAllTheRootsAtFirst) {
  EXPECT_EQ(tree_.Read("cpus") + tree_.Read("cpus_list"), "ff\n0-7\n");
  EXPECT_EQ(tree_.Read("gold/cpus") + tree_.Read("gold/cpus_list"), "00\n\n");
}

TEST_F(CpusTest, BelongToOneControlGroup) {
  EXPECT_EQ(tree_.Write("gold/cpus", "f"), 0);
  EXPECT_EQ(tree_.Write("silver/cpus_list", "3-4"), 0);
  EXPECT_EQ(tree_.Read("gold/cpus_list"), "0-2\n");
  EXPECT_EQ(tree_.Read("cpus_list"), "5-7\n");
  EXPECT_EQ(tree_.Write("gold/cpus", "1"), 0);
  EXPECT_EQ(tree_.Read("cpus"), "e6\n");
  EXPECT_EQ(tree_.Write("cpus", "0"), EINVAL);
  EXPECT_THAT(tree_.Status(), HasSubstr("can't give"));
  EXPECT_EQ(tree_.Write("gold/cpus_list", ""), 0);
  EXPECT_EQ(tree_.Read("gold/cpus"), "00\n");
}

TEST_F(CpusTest, OfAMonitoringGroupAreItsControlGroups) {
  EXPECT_EQ(tree_.Write("gold/mon_groups/m/cpus", "1"), EINVAL);
  EXPECT_THAT(tree_.Status(), HasSubstr("its control group only"));
  ASSERT_EQ(tree_.Write("gold/cpus", "f"), 0);
  EXPECT_EQ(tree_.Write("gold/mon_groups/m/cpus", "3"), 0);
  EXPECT_EQ(tree_.Write("silver/cpus", "1"), 0);
  EXPECT_EQ(tree_.Read("gold/mon_groups/m/cpus"), "02\n");
  EXPECT_EQ(tree_.Write("gold/cpus", "e"), 0);
  EXPECT_EQ(tree_.Read("gold/mon_groups/m/cpus"), "00\n");
}

TEST_F(CpusTest, BadTextIsRefused) {
  for (const char* bad : {"x", "1,,1", "123456789"}) {
    EXPECT_EQ(tree_.Write("gold/cpus", bad), EINVAL) << bad;
  }
  EXPECT_EQ(tree_.Write("gold/cpus_list", "1-"), EINVAL);
  EXPECT_EQ(tree_.Write("gold/cpus", "100"), EOVERFLOW);
  EXPECT_EQ(tree_.Write("gold/cpus_list", "8"), ERANGE);
}

TEST(CpuMaskTest, HasGroupsOf32Bits) {
  Layout layout;
  layout.cpus = 40;
  FakeTree tree(layout);
  EXPECT_EQ(tree.Read("cpus"), "ff,ffffffff\n");
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  EXPECT_EQ(tree.Write("gold/cpus", "1,00000003"), 0);
  EXPECT_EQ(tree.Read("gold/cpus_list"), "0-1,32\n");
}

using ModeTest = FilesTest;

TEST_F(ModeTest, ExclusiveNeedsBitsThatNobodyElseHas) {
  EXPECT_EQ(tree_.Read("gold/mode"), "shareable\n");
  EXPECT_EQ(tree_.Write("gold/mode", "exclusive"), EINVAL);
  EXPECT_THAT(tree_.Status(), HasSubstr("bits that others use"));
  ASSERT_EQ(tree_.Write("gold/schemata", "L3:0=f;2=f"), 0);
  ASSERT_EQ(tree_.Write("silver/schemata", "L3:0=f0;2=f0"), 0);
  ASSERT_EQ(tree_.Write("schemata", "L3:0=fff00;2=fff00"), 0);
  EXPECT_EQ(tree_.Write("gold/mode", "exclusive"), 0) << tree_.Status();
  EXPECT_EQ(tree_.Read("gold/mode"), "exclusive\n");
  EXPECT_EQ(tree_.Read("info/L3/bit_usage"), "0=SSSSSSSSSSSSSSSSEEEE;2=SSSSSSSSSSSSSSSSEEEE\n");

  EXPECT_EQ(tree_.Write("silver/schemata", "L3:0=18"), EINVAL);
  EXPECT_THAT(tree_.Status(), HasSubstr("of an exclusive group"));
  EXPECT_EQ(tree_.Write("gold/schemata", "L3:0=1f"), EINVAL);
  EXPECT_THAT(tree_.Status(), HasSubstr("bits that others use"));
  // A new group gets no exclusive bits, and the rest is small enough for one run.
  ASSERT_EQ(tree_.Mkdir("bronze"), 0);
  EXPECT_THAT(tree_.Read("bronze/schemata"), HasSubstr("L3:0=ffff0;2=ffff0"));
  EXPECT_EQ(tree_.Write("gold/mode", "shareable"), 0);
  EXPECT_EQ(tree_.Write("silver/schemata", "L3:0=18"), 0);
  EXPECT_EQ(tree_.Write("gold/mode", "mine"), EINVAL);
  EXPECT_THAT(tree_.Status(), HasSubstr("no mode \"mine\""));
}

TEST_F(ModeTest, PseudoLocksetupClosesWhatHasNoMeaningInIt) {
  EXPECT_EQ(tree_.Write("mode", "pseudo-locksetup"), EINVAL);
  EXPECT_EQ(tree_.Write("gold/mode", "pseudo-locksetup"), EINVAL);
  EXPECT_THAT(tree_.Status(), HasSubstr("monitoring groups"));
  ASSERT_EQ(tree_.Write("silver/tasks", "101"), 0);
  EXPECT_EQ(tree_.Write("silver/mode", "pseudo-locksetup"), EINVAL);
  EXPECT_THAT(tree_.Status(), HasSubstr("has threads"));
  ASSERT_EQ(tree_.Write("tasks", "101"), 0);
  ASSERT_EQ(tree_.Write("silver/mode", "pseudo-locksetup"), 0) << tree_.Status();
  EXPECT_EQ(tree_.Read("silver/schemata"), "MB:uninitialized\nL3:uninitialized\n");
  EXPECT_EQ(tree_.tree().Find("silver/tasks")->mode, 0U);
  EXPECT_EQ(tree_.Write("silver/tasks", "101"), EINVAL);
  EXPECT_EQ(tree_.Write("silver/schemata", "MB:0=50"), EINVAL);
  EXPECT_EQ(tree_.Write("silver/mode", "shareable"), 0);
  EXPECT_EQ(tree_.tree().Find("silver/tasks")->mode, 0644U);
  EXPECT_EQ(tree_.Write("silver/tasks", "101"), 0);
}

TEST(ExclusiveTest, MayNotHaveTheHardwaresBits) {
  Layout layout;
  layout.caches[0].mask_bits = 8;
  layout.caches[0].shareable_bits = 0xc0;
  FakeTree tree(layout);
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  ASSERT_EQ(tree.Write("schemata", "L3:0=f"), 0);
  ASSERT_EQ(tree.Write("gold/schemata", "L3:0=70"), 0);
  EXPECT_EQ(tree.Write("gold/mode", "exclusive"), EINVAL);
  EXPECT_EQ(tree.Read("info/L3/bit_usage"), "0=HXSSSSSS\n");
  ASSERT_EQ(tree.Write("gold/schemata", "L3:0=30"), 0);
  EXPECT_EQ(tree.Write("gold/mode", "exclusive"), 0);
  EXPECT_EQ(tree.Read("info/L3/bit_usage"), "0=HHEESSSS\n");
}

// Code and data share one cache: a bit of the one is a bit of the other.
TEST(ExclusiveTest, CountsBothHalvesUnderCdp) {
  Layout layout;
  layout.caches[0].mask_bits = 8;
  layout.options.cdp = true;
  FakeTree tree(layout);
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  ASSERT_EQ(tree.Write("gold/schemata", "L3CODE:0=f\nL3DATA:0=f"), 0);
  ASSERT_EQ(tree.Write("schemata", "L3CODE:0=f0\nL3DATA:0=f8"), 0);
  EXPECT_EQ(tree.Write("gold/mode", "exclusive"), EINVAL);
  ASSERT_EQ(tree.Write("schemata", "L3DATA:0=f0"), 0);
  ASSERT_EQ(tree.Write("gold/mode", "exclusive"), 0);
  EXPECT_EQ(tree.Write("schemata", "L3CODE:0=ff"), EINVAL);
}

TEST(ExclusiveTest, LeavesNoRoomForOneMoreGroup) {
  Layout layout;
  layout.caches[0].mask_bits = 8;
  FakeTree tree(layout);
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  ASSERT_EQ(tree.Write("gold/schemata", "L3:0=f0"), 0);
  ASSERT_EQ(tree.Write("schemata", "L3:0=f"), 0);
  ASSERT_EQ(tree.Write("gold/mode", "exclusive"), 0);
  ASSERT_EQ(tree.Write("mode", "exclusive"), 0);
  EXPECT_EQ(tree.Mkdir("silver"), ENOSPC);
  EXPECT_THAT(tree.Status(), HasSubstr("Nothing is left of L3:0"));
  ASSERT_EQ(tree.Write("mode", "shareable"), 0);
  EXPECT_EQ(tree.Mkdir("silver"), 0);
  EXPECT_EQ(tree.Read("silver/schemata"), "    L3:0=f\n");
}

}  // namespace
}  // namespace plimsoll::resctrlfs
