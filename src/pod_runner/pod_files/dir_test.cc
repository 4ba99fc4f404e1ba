#include "pod_runner/pod_files/dir.h"

#include <sys/stat.h>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pod_runner/cri_requests/to_cri_for_test.h"

namespace plimsoll::pod {
namespace {

using ::testing::HasSubstr;

TEST(PodDir, MakesVolumesAndRemovesThem) {
  TestDir dir;
  const FsRoot root = *FsRoot::Open("/");
  Manifest pod = ParsePod(kUsualPod);
  pod.volumes.push_back({"made", false, dir.path() + "/made", "DirectoryOrCreate"});
  const auto made = MakePodDir(root, dir.path(), "uid-1", pod);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->volumes.at("made"), dir.path() + "/made");
  EXPECT_EQ(root.Stat(made->volumes.at("data"))->st_mode & 07777, 0777u);
  EXPECT_TRUE(root.Exists(made->log_directory));
  ASSERT_TRUE(RemovePodDir(root, dir.path(), "uid-1").ok());
  EXPECT_FALSE(dir.root().Exists("pods/uid-1"));
  EXPECT_TRUE(dir.root().Exists("made"));
  EXPECT_TRUE(RemovePodDir(root, dir.path(), "uid-1").ok());
  EXPECT_FALSE(RemovePodDir(root, dir.path(), "..").ok());
  EXPECT_FALSE(RemovePodDir(root, dir.path(), "a/b").ok());
}

TEST(PodDir, AMissingHostPathLeavesNothing) {
  TestDir dir;
  const FsRoot root = *FsRoot::Open("/");
  Manifest pod = ParsePod(kUsualPod);
  pod.volumes.push_back({"gone", false, dir.path() + "/gone", ""});
  EXPECT_THAT(std::string(MakePodDir(root, dir.path(), "uid-1", pod).status().message()),
              HasSubstr("volume gone: hostPath"));
  EXPECT_FALSE(dir.root().Exists("pods/uid-1"));
  pod.volumes.back() = {"file", false, dir.path(), "File"};
  EXPECT_THAT(std::string(MakePodDir(root, dir.path(), "uid-1", pod).status().message()),
              HasSubstr("is there but is no File"));
}

}  // namespace
}  // namespace plimsoll::pod
