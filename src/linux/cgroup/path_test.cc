#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;

TEST(NormalizeCgroupPath, MakesOneSpellingOfMany) {
  for (const char* text : {"/a/b", "a/b", "a//b/", "/./a/b", "//a/./b//"}) {
    EXPECT_EQ(*NormalizeCgroupPath(text), "/a/b") << text;
  }
  EXPECT_EQ(*NormalizeCgroupPath(""), "/");
  EXPECT_EQ(*NormalizeCgroupPath("/"), "/");
  EXPECT_EQ(*NormalizeCgroupPath("/a..b"), "/a..b");
}

TEST(NormalizeCgroupPath, RefusesWhatLeadsOut) {
  for (const char* text : {"..", "/a/../b", "a/.."}) {
    EXPECT_TRUE(absl::IsInvalidArgument(NormalizeCgroupPath(text).status())) << text;
  }
  EXPECT_THAT(NormalizeCgroupPath("/a/../b").status().message(), HasSubstr("/a/../b"));
}

TEST(NormalizeCgroupPath, RefusesWhatTheKernelCannotName) {
  EXPECT_TRUE(absl::IsInvalidArgument(NormalizeCgroupPath("/a\nb").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(NormalizeCgroupPath("/a\x7f").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(NormalizeCgroupPath(std::string(5000, '/')).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(NormalizeCgroupPath(std::string(256, 'a')).status()));
  EXPECT_TRUE(NormalizeCgroupPath(std::string(255, 'a')).ok());
}

TEST(ExpandCgroupParent, PutsASliceIntoItsPlace) {
  EXPECT_EQ(*ExpandCgroupParent("kubepods.slice"), "/kubepods.slice");
  EXPECT_EQ(*ExpandCgroupParent("kubepods-burstable-pod1_2.slice"),
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice");
  EXPECT_EQ(*ExpandCgroupParent("-.slice"), "/");
}

TEST(ExpandCgroupParent, TakesEverythingElseAsAPath) {
  EXPECT_EQ(*ExpandCgroupParent("/kubepods/pod1"), "/kubepods/pod1");
  EXPECT_EQ(*ExpandCgroupParent("/a-b.slice"), "/a-b.slice");
  EXPECT_EQ(*ExpandCgroupParent("/a.slice/a-b.slice"), "/a.slice/a-b.slice");
  EXPECT_EQ(*ExpandCgroupParent("a.slice/b.scope"), "/a.slice/b.scope");
  EXPECT_EQ(*ExpandCgroupParent(".slice"), "/.slice");
  EXPECT_EQ(*ExpandCgroupParent(""), "/");
}

TEST(ExpandCgroupParent, RefusesNamesThatAreNoSlices) {
  for (const char* text : {"a--b.slice", "-a.slice", "a-.slice", "../x.slice"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ExpandCgroupParent(text).status())) << text;
  }
}

TEST(ChildCgroup, IsASliceInASlice) {
  EXPECT_EQ(ChildCgroup("/plimsoll", "1"), "/plimsoll/1");
  EXPECT_EQ(ChildCgroup("/a.slice", "1"), "/a.slice/a-1.slice");
  EXPECT_EQ(ChildCgroup("/a.slice/a-b.slice", "1"), "/a.slice/a-b.slice/a-b-1.slice");
}

TEST(ChildCgroup, IsKnownByItsDirectory) {
  EXPECT_EQ(NameOfChildCgroup("/plimsoll", "1"), "1");
  EXPECT_EQ(NameOfChildCgroup("/a.slice/a-b.slice", "a-b-1.slice"), "1");
  EXPECT_EQ(NameOfChildCgroup("/a.slice", "a-b.scope"), "");
  EXPECT_EQ(NameOfChildCgroup("/a.slice", "b-1.slice"), "");
  EXPECT_EQ(NameOfChildCgroup("/a.slice", "memory.max"), "");
}

}  // namespace
}  // namespace plimsoll::linux
