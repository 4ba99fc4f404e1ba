#include "runtime/cgroups/group_paths.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;

SandboxRecord In(const std::string& group) {
  SandboxRecord record;
  record.id = "pod";
  record.cgroup_path = group;
  return record;
}

TEST(GroupPathsTest, PluginsChooseAGroupBelowThePods) {
  const SandboxRecord plain = In("/kubepods/pod1");
  EXPECT_EQ(GroupByPlugin(plain, "/kubepods/pod1/mine").value(), "/kubepods/pod1/mine");
  EXPECT_EQ(GroupByPlugin(plain, "kubepods//pod1/mine/").value(), "/kubepods/pod1/mine");
  const SandboxRecord slice = In("/kubepods.slice/kubepods-pod1.slice");
  for (const char* wanted :
       {"/kubepods.slice/kubepods-pod1.slice/cri-mine.scope", "kubepods-pod1.slice:cri:mine"}) {
    EXPECT_EQ(GroupByPlugin(slice, wanted).value(),
              "/kubepods.slice/kubepods-pod1.slice/cri-mine.scope")
        << wanted;
  }
}

TEST(GroupPathsTest, OtherPlacesAreRefused) {
  const auto refused = [](const std::string& pod, absl::string_view wanted) {
    const absl::Status status = GroupByPlugin(In(pod), wanted).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << wanted << ": " << status;
    return std::string(status.message());
  };
  for (const char* wanted : {"/", "/kubepods/pod1", "/kubepods/pod1/", "/kubepods/pod11/a",
                             "/kubepods/pod1/a/b", "/kubepods/pod2/a", "a"}) {
    EXPECT_THAT(refused("/kubepods/pod1", wanted), HasSubstr("not directly below the pod's group"));
  }
  refused("/kubepods/pod1", "/kubepods/pod1/../pod2/a");
  refused("/kubepods/pod1", "/kubepods/pod1/a\nb");
  EXPECT_THAT(refused("/kubepods/pod1", "/kubepods/pod1/pause-pod"), HasSubstr("Plimsoll's own"));
  EXPECT_THAT(refused("/k.slice", "/k.slice/plimsoll-x.scope"), HasSubstr("Plimsoll's own"));
  EXPECT_THAT(refused("/k.slice", "/k.slice/x"), HasSubstr(".scope"));
  EXPECT_THAT(refused("/k.slice", "other.slice:cri:x"), HasSubstr("not directly below"));
  refused("/k.slice", "k.slice:a/b:x");
  refused("/k.slice", "::");
}

}  // namespace
}  // namespace plimsoll::runtime
