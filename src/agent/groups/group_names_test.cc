#include "agent/groups/group_names.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::agent {
namespace {

using resources::QosClass;
using ::testing::HasSubstr;

constexpr char kUid[] = "12-ab";

GroupNames Names(CgroupDriver driver, absl::string_view root) {
  auto names = GroupNames::Make(driver, root);
  EXPECT_TRUE(names.ok()) << names.status();
  return *names;
}

TEST(GroupNamesTest, OfCgroupfs) {
  const GroupNames names = Names(CgroupDriver::kCgroupfs, "");
  EXPECT_EQ(names.root(), "/");
  EXPECT_EQ(names.Kubepods(), "/kubepods");
  EXPECT_EQ(names.Qos(QosClass::kGuaranteed), "/kubepods");
  EXPECT_EQ(names.Pod(QosClass::kGuaranteed, kUid), "/kubepods/pod12-ab");
  EXPECT_EQ(names.Pod(QosClass::kBurstable, kUid), "/kubepods/burstable/pod12-ab");
  EXPECT_EQ(names.Pod(QosClass::kBestEffort, kUid), "/kubepods/besteffort/pod12-ab");
  EXPECT_EQ(names.CgroupParent(QosClass::kBurstable, kUid), "/kubepods/burstable/pod12-ab");
}

TEST(GroupNamesTest, OfSystemd) {
  const GroupNames names = Names(CgroupDriver::kSystemd, "/");
  EXPECT_EQ(names.Kubepods(), "/kubepods.slice");
  EXPECT_EQ(names.Pod(QosClass::kGuaranteed, kUid), "/kubepods.slice/kubepods-pod12_ab.slice");
  EXPECT_EQ(names.Pod(QosClass::kBestEffort, kUid),
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod12_ab.slice");
  EXPECT_EQ(names.CgroupParent(QosClass::kBurstable, kUid), "kubepods-burstable-pod12_ab.slice");
}

// The runtime finds the pod's group by the name that it is given.
TEST(GroupNamesTest, TheCgroupParentIsThePodsGroup) {
  for (const char* root : {"", "/a", "/a/b-c"}) {
    for (const CgroupDriver driver : {CgroupDriver::kCgroupfs, CgroupDriver::kSystemd}) {
      const GroupNames names = Names(driver, root);
      for (const QosClass qos :
           {QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort}) {
        EXPECT_EQ(linux::ExpandCgroupParent(names.CgroupParent(qos, kUid)).value_or("none"),
                  names.Pod(qos, kUid));
      }
    }
  }
}

TEST(GroupNamesTest, HaveARootOfTheirOwn) {
  EXPECT_EQ(Names(CgroupDriver::kCgroupfs, "a/b/").Kubepods(), "/a/b/kubepods");
  EXPECT_EQ(Names(CgroupDriver::kCgroupfs, "/a.slice").Kubepods(), "/a.slice/kubepods");
  const char kSlice[] = "/a.slice/a-b.slice/a-b-kubepods.slice";
  for (const char* root : {"/a/b", "a-b.slice", "/a.slice/a-b.slice"}) {
    const GroupNames names = Names(CgroupDriver::kSystemd, root);
    EXPECT_EQ(names.root(), "/a.slice/a-b.slice");
    EXPECT_EQ(names.Kubepods(), kSlice);
  }
  EXPECT_EQ(Names(CgroupDriver::kSystemd, "/a-b").root(), "/a_b.slice");
}

TEST(GroupNamesTest, RootsThatNoGroupCanHave) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(GroupNames::Make(CgroupDriver::kCgroupfs, "/a/../b").status()));
  for (const char* root : {"/a.slice/b.slice", "/a b", "/x/a.slice", "a--b.slice"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(GroupNames::Make(CgroupDriver::kSystemd, root).status()))
        << root;
  }
}

TEST(CheckUidTest, TakesWhatADirectoryAndASliceCanBeNamed) {
  EXPECT_TRUE(CheckUid("0f5e8a6c-7c0f-4f6e-9a55-000000000001").ok());
  EXPECT_TRUE(CheckUid("8f14e45fceea167a5a36dedd4bea2543").ok());
  for (const std::string& uid : {std::string(), std::string("a/b"), std::string(".."),
                                 std::string("a_b"), std::string(129, 'a')}) {
    const absl::Status status = CheckUid(uid);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << uid;
    EXPECT_THAT(std::string(status.message()), HasSubstr(uid));
  }
}

}  // namespace
}  // namespace plimsoll::agent
