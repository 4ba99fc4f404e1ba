// "Resource alloc and monitor groups" of the kernel's documentation.
#include "resctrlfs/groups.h"

#include <fcntl.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "resctrlfs/fake_tree.h"

namespace plimsoll::resctrlfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(GroupsTest, HaveTheFilesThatTheMachineCallsFor) {
  FakeTree tree(TwoSockets());
  EXPECT_THAT(tree.List(""), ElementsAre("cpus", "cpus_list", "info", "mode", "mon_data",
                                         "mon_groups", "schemata", "size", "tasks"));
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  EXPECT_THAT(tree.List("gold"), ElementsAre("cpus", "cpus_list", "mode", "mon_data", "mon_groups",
                                             "schemata", "size", "tasks"));
  ASSERT_EQ(tree.Mkdir("gold/mon_groups/c1"), 0);
  EXPECT_THAT(tree.List("gold/mon_groups/c1"),
              ElementsAre("cpus", "cpus_list", "mon_data", "tasks"));
  EXPECT_THAT(tree.List("gold/mon_groups/c1/mon_data"), ElementsAre("mon_L3_00", "mon_L3_02"));
  EXPECT_THAT(tree.List("info"), ElementsAre("L3", "L3_MON", "MB", "last_cmd_status"));
  EXPECT_THAT(tree.List("info/L3"), ElementsAre("bit_usage", "cbm_mask", "min_cbm_bits",
                                                "num_closids", "shareable_bits", "sparse_masks"));
  EXPECT_THAT(tree.List("info/MB"),
              ElementsAre("bandwidth_gran", "delay_linear", "min_bandwidth", "num_closids"));
}

TEST(GroupsTest, AMachineWithoutMonitoringHasNoFilesForIt) {
  FakeTree tree{Layout()};
  EXPECT_THAT(tree.List(""),
              ElementsAre("cpus", "cpus_list", "info", "mode", "schemata", "size", "tasks"));
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  EXPECT_EQ(tree.Mkdir("gold/x"), EPERM);
}

TEST(GroupsTest, AMachineWithMonitoringOnlyHasNoControlGroups) {
  Layout layout;
  layout.caches.clear();
  layout.monitoring = MonitoringLayout();
  FakeTree tree(layout);
  EXPECT_EQ(tree.Mkdir("gold"), EPERM);
  EXPECT_EQ(tree.Mkdir("mon_groups/c1"), 0);
}

TEST(GroupsTest, TheDebugOptionShowsHardwareIds) {
  Layout layout = TwoSockets();
  layout.options.debug = true;
  FakeTree tree(layout);
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  ASSERT_EQ(tree.Mkdir("gold/mon_groups/c1"), 0);
  EXPECT_EQ(tree.Read("ctrl_hw_id") + tree.Read("gold/ctrl_hw_id"), "0\n1\n");
  EXPECT_EQ(tree.Read("gold/mon_hw_id") + tree.Read("gold/mon_groups/c1/mon_hw_id"), "1\n2\n");
}

// The resource with the fewest CLOSIDs decides, and the root group has one of them.
TEST(GroupsTest, ClosidsRunOut) {
  Layout layout = TwoSockets();
  layout.bandwidth->closids = 3;
  FakeTree tree(layout);
  EXPECT_EQ(tree.Mkdir("a"), 0);
  EXPECT_EQ(tree.Mkdir("b"), 0);
  EXPECT_EQ(tree.Mkdir("c"), ENOSPC);
  EXPECT_THAT(tree.Status(), HasSubstr("No CLOSID"));
  EXPECT_EQ(tree.Rmdir("a"), 0);
  EXPECT_EQ(tree.Mkdir("c"), 0);
  EXPECT_EQ(tree.Status(), "ok\n");
  EXPECT_EQ(tree.Mkdir("c"), EEXIST);
}

TEST(GroupsTest, RmidsRunOutAndMayLinger) {
  Layout layout = TwoSockets();
  layout.monitoring->rmids = 3;
  FakeTree tree(layout);
  EXPECT_EQ(tree.Mkdir("a"), 0);
  EXPECT_EQ(tree.Mkdir("a/mon_groups/m"), 0);
  EXPECT_EQ(tree.Mkdir("a/mon_groups/n"), ENOSPC);
  EXPECT_THAT(tree.Status(), HasSubstr("No RMID"));
  EXPECT_EQ(tree.Mkdir("b"), ENOSPC);
  tree.state().rmids.Linger(true);
  EXPECT_EQ(tree.Rmdir("a/mon_groups/m"), 0);
  EXPECT_EQ(tree.Mkdir("a/mon_groups/n"), EBUSY);
  tree.state().rmids.Linger(false);
  EXPECT_EQ(tree.Mkdir("a/mon_groups/n"), 0);
  // A failed attempt costs neither CLOSID nor RMID.
  EXPECT_EQ(tree.Rmdir("a"), 0);
  EXPECT_EQ(tree.Mkdir("b"), 0);
  EXPECT_EQ(tree.membership().groups.size(), 2U);
}

TEST(GroupsTest, CanBeMadeInFewPlacesOnly) {
  FakeTree tree(TwoSockets());
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  EXPECT_EQ(tree.Mkdir("gold/x"), EPERM);
  EXPECT_EQ(tree.Mkdir("mon_data/x"), EPERM);
  EXPECT_EQ(tree.Mkdir("gold/mon_groups/mon_groups"), EPERM);
  EXPECT_EQ(tree.Mkdir("info/x"), ENODEV);
  EXPECT_EQ(tree.Mkdir("a\nb"), EINVAL);
  EXPECT_EQ(tree.Rmdir("info"), EPERM);
  EXPECT_EQ(tree.Rmdir("gold/mon_groups"), EPERM);
  EXPECT_EQ(tree.Rmdir("gold/mon_data"), EPERM);
  EXPECT_EQ(tree.Rmdir("gold/tasks"), ENOTDIR);
}

TEST(GroupsTest, RemovalGivesThreadsAndCpusToTheRoot) {
  FakeTree tree(TwoSockets());
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  ASSERT_EQ(tree.Mkdir("gold/mon_groups/m"), 0);
  ASSERT_EQ(tree.Write("gold/tasks", "101,102"), 0);
  ASSERT_EQ(tree.Write("gold/mon_groups/m/tasks", "102"), 0);
  ASSERT_EQ(tree.Write("gold/cpus_list", "2-3"), 0);
  const std::shared_ptr<Node> held = tree.tree().Find("gold/tasks");
  ASSERT_EQ(tree.Rmdir("gold"), 0);
  EXPECT_EQ(tree.membership().threads[101], kRootGroup);
  EXPECT_EQ(tree.membership().threads[102], kRootGroup);
  EXPECT_EQ(tree.Read("cpus_list"), "0-7\n");
  // A file of it that is still open reports the removal.
  std::string text;
  EXPECT_EQ(Tree::Read(*held, &text), ENODEV);
  EXPECT_EQ(tree.tree().Write(held.get(), "101\n", tree.writer), ENODEV);
}

TEST(GroupsTest, RemovalOfAMonitoringGroupGivesThreadsToItsControlGroup) {
  FakeTree tree(TwoSockets());
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  ASSERT_EQ(tree.Mkdir("gold/mon_groups/m"), 0);
  ASSERT_EQ(tree.Write("gold/tasks", "101"), 0);
  ASSERT_EQ(tree.Write("gold/mon_groups/m/tasks", "101"), 0);
  ASSERT_EQ(tree.Rmdir("gold/mon_groups/m"), 0);
  EXPECT_EQ(tree.Read("gold/tasks"), "101\n");
}

TEST(GroupsTest, AMonitoringGroupCanMoveToAnotherControlGroup) {
  FakeTree tree(TwoSockets());
  ASSERT_EQ(tree.Mkdir("a") + tree.Mkdir("b") + tree.Mkdir("a/mon_groups/m"), 0);
  ASSERT_EQ(tree.Write("a/tasks", "101"), 0);
  ASSERT_EQ(tree.Write("a/mon_groups/m/tasks", "101"), 0);
  tree.state().counters.Set(3, 0, "llc_occupancy", {.value = 7});
  ASSERT_EQ(tree.Rename("a/mon_groups/m", "b/mon_groups/n"), 0);
  EXPECT_EQ(tree.Read("a/tasks"), "");
  EXPECT_EQ(tree.Read("b/tasks"), "101\n");
  EXPECT_EQ(tree.Read("b/mon_groups/n/tasks"), "101\n");
  EXPECT_EQ(tree.Read("b/mon_groups/n/mon_data/mon_L3_00/llc_occupancy"), "7\n");
  EXPECT_EQ(tree.Read("b/mon_data/mon_L3_00/llc_occupancy"), "7\n");
  EXPECT_EQ(tree.Read("a/mon_data/mon_L3_00/llc_occupancy"), "0\n");
  // The group is b's now: threads of b may be moved into it, those of a no longer.
  EXPECT_EQ(tree.Write("a/tasks", "102"), 0);
  EXPECT_EQ(tree.Write("b/mon_groups/n/tasks", "102"), EINVAL);
}

TEST(GroupsTest, NothingElseCanBeRenamed) {
  FakeTree tree(TwoSockets());
  ASSERT_EQ(tree.Mkdir("a") + tree.Mkdir("b") + tree.Mkdir("a/mon_groups/m"), 0);
  EXPECT_EQ(tree.Rename("a", "c"), EPERM);
  EXPECT_THAT(tree.Status(), HasSubstr("Only a monitoring group"));
  EXPECT_EQ(tree.Rename("a/tasks", "a/jobs"), EPERM);
  EXPECT_EQ(tree.Rename("a/mon_groups/m", "c"), EPERM);
  EXPECT_EQ(tree.Rename("a/mon_groups", "b/mon_groups/x"), EPERM);
  EXPECT_EQ(tree.Rename("info/L3", "a/mon_groups/x"), ENOENT);
  ASSERT_EQ(tree.Write("a/cpus", "3"), 0);
  ASSERT_EQ(tree.Write("a/mon_groups/m/cpus", "1"), 0);
  EXPECT_EQ(tree.Rename("a/mon_groups/m", "b/mon_groups/m"), EPERM);
  EXPECT_THAT(tree.Status(), HasSubstr("CPUs"));
  EXPECT_EQ(tree.Rename("a/mon_groups/m", "a/mon_groups/n"), 0);

  Layout old = TwoSockets();
  old.traits.moves_mon_groups = false;
  FakeTree old_tree(old);
  ASSERT_EQ(old_tree.Mkdir("mon_groups/m"), 0);
  EXPECT_EQ(old_tree.Rename("mon_groups/m", "mon_groups/n"), EPERM);
}

TEST(OpenTest, ModesBindRootToo) {
  FakeTree tree(TwoSockets());
  EXPECT_EQ(Tree::CheckOpen(*tree.tree().Find("size"), O_RDONLY), 0);
  EXPECT_EQ(Tree::CheckOpen(*tree.tree().Find("size"), O_RDWR), EACCES);
  EXPECT_EQ(Tree::CheckOpen(*tree.tree().Find("tasks"), O_WRONLY), 0);
  // chmod does not make a file writable that takes no writes.
  tree.tree().Find("size")->mode = 0644;
  EXPECT_EQ(Tree::CheckOpen(*tree.tree().Find("size"), O_WRONLY), EACCES);
  tree.tree().Find("tasks")->mode = 0;
  EXPECT_EQ(Tree::CheckOpen(*tree.tree().Find("tasks"), O_RDONLY), EACCES);
}

TEST(WriteTest, OneCommandIsAPageAtMost) {
  FakeTree tree(TwoSockets());
  EXPECT_EQ(tree.WriteRaw("tasks", std::string(4097, '\n')), E2BIG);
}

TEST(ScriptTest, RefusesOnOrderAndKeepsAJournal) {
  FakeTree tree(TwoSockets());
  tree.script().RefuseNext("write", "gold/tasks", EIO, 1);
  ASSERT_EQ(tree.Mkdir("gold"), 0);
  EXPECT_EQ(tree.Write("gold/tasks", "101"), 0);
  EXPECT_EQ(tree.Write("gold/tasks", "102"), EIO);
  EXPECT_EQ(tree.Write("gold/tasks", "102"), 0);
  EXPECT_THAT(tree.script().TakeJournal(),
              ElementsAre("mkdir gold", "write gold/tasks 101", "write gold/tasks 102: EIO",
                          "write gold/tasks 102"));
  EXPECT_THAT(tree.script().TakeJournal(), ElementsAre());
}

TEST(CountersTest, AControlGroupSumsItsMonitoringGroups) {
  FakeTree tree(TwoSockets());
  ASSERT_EQ(tree.Mkdir("gold") + tree.Mkdir("gold/mon_groups/m"), 0);
  const char* gold = "gold/mon_data/mon_L3_02/mbm_total_bytes";
  const char* m = "gold/mon_groups/m/mon_data/mon_L3_02/mbm_total_bytes";
  Counters& counters = tree.state().counters;
  counters.Set(1, 2, "mbm_total_bytes", {.value = 100});
  counters.Set(2, 2, "mbm_total_bytes", {.value = 23});
  EXPECT_EQ(tree.Read(gold) + tree.Read(m), "123\n23\n");
  counters.Set(1, 2, "mbm_total_bytes", {.kind = Reading::Kind::kUnavailable});
  EXPECT_EQ(tree.Read(gold), "23\n");
  counters.Set(2, 2, "mbm_total_bytes", {.kind = Reading::Kind::kError});
  EXPECT_EQ(tree.Read(m), "Error\n");
  EXPECT_EQ(tree.Read("info/L3_MON/mon_features"),
            "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n");
  EXPECT_EQ(tree.Write("info/L3_MON/max_threshold_occupancy", "0x1000"), 0);
  EXPECT_EQ(tree.Read("info/L3_MON/max_threshold_occupancy"), "4096\n");
  EXPECT_EQ(tree.Write("info/L3_MON/max_threshold_occupancy", "many"), EINVAL);
}

}  // namespace
}  // namespace plimsoll::resctrlfs
