#include "runtime/oci/mount_points.h"

#include <unistd.h>

#include <utility>

#include "absl/algorithm/container.h"
#include "base/dir_for_test.h"
#include "base/text/normal_path.h"
#include "gmock/gmock.h"
#include "runtime/oci/spec_builder_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MountPointsTest : public SpecBuilderFixture {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "the copy of a mount needs root";
    ASSERT_TRUE(dir_.root().ReplaceFile("file", "").ok());
    ASSERT_TRUE(dir_.root().MakeDirs("directory").ok());
  }
  Mount At(const std::string& path, const std::string& source) {
    return {.container_path = path, .host_path = dir_.path() + "/" + source};
  }
  static Mount ImageAt(const std::string& path) {
    return {.container_path = path, .readonly = true, .image = "registry.test/data:1"};
  }
  std::string Refused() {
    const absl::Status status = TryBuild().status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  TestDir dir_;
};

TEST_F(MountPointsTest, AreOfTheKindOfTheirSources) {
  request_.sandbox.etc_hosts = dir_.path() + "/file";
  spec_.mounts = {At("/a/../d/.", "directory"), At("/f", "file"), ImageAt("/image"),
                  At("/dev/x", "file")};
  spec_.extras.edits.mounts = {{.host_path = dir_.path() + "/file", .container_path = "/edit"},
                               {.container_path = "/tmpfs", .type = "tmpfs"}};
  const auto built = TryBuild();
  ASSERT_TRUE(built.ok()) << built.status();
  const MountKind kFile = MountKind::kFile;
  const MountKind kDirectory = MountKind::kDirectory;
  EXPECT_THAT(built->mount_points,
              ElementsAre(MountPoint{"/etc/hosts", kFile}, MountPoint{"/d", kDirectory},
                          MountPoint{"/f", kFile}, MountPoint{"/image", kDirectory},
                          MountPoint{"/edit", kFile}, MountPoint{"/tmpfs", kDirectory}));
  PlanWriter plan;
  AddMountPointsToPlan({{"/d", kDirectory}, {"/f", kFile}}, &plan);
  std::string text = plan.text();
  absl::c_replace(text, '\0', '|');
  EXPECT_EQ(text, "directory=/d|file=/f|");
}

TEST_F(MountPointsTest, NoDirectoryTakesThePlaceOfAFileOfAll) {
  for (const char* path : {"/etc/hosts", "/etc/hostname", "/etc/./resolv.conf/"}) {
    spec_.mounts = {ImageAt(path)};
    EXPECT_THAT(Refused(), AllOf(HasSubstr("mounts[0] (the image \"registry.test/data:1\")"),
                                 HasSubstr(NormalPath(path)), HasSubstr("where a file belongs")));
    spec_.mounts = {At(path, "directory")};
    EXPECT_THAT(Refused(), HasSubstr("mounts[0] (host_path \"" + dir_.path() + "/directory\")"));
    spec_.mounts = {At(path, "file")};
    EXPECT_TRUE(TryBuild().ok()) << TryBuild().status();
  }
  spec_.mounts.clear();
  spec_.extras.edits.mounts = {{.container_path = "/etc/hosts", .type = "tmpfs"}};
  EXPECT_THAT(Refused(), HasSubstr("the mount of a plugin or a CDI device is a directory"));
}

TEST_F(MountPointsTest, ADirectoryAndAFileHaveNotOnePlace) {
  const std::string file = "mounts[1] (host_path \"" + dir_.path() + "/file\"), which is a file";
  spec_.mounts = {ImageAt("/dev/termination-log"), At("/dev/termination-log", "file")};
  EXPECT_THAT(Refused(),
              AllOf(HasSubstr("mounts[0] (the image \"registry.test/data:1\") is a directory"),
                    HasSubstr("can't be at /dev/termination-log"), HasSubstr(file)));
  std::swap(spec_.mounts[0], spec_.mounts[1]);
  EXPECT_THAT(Refused(), HasSubstr("mounts[1] (the image"));
  spec_.mounts = {At("/x", "file"), At("/x/", "file"), At("/y", "directory"), ImageAt("/y")};
  EXPECT_TRUE(TryBuild().ok()) << TryBuild().status();
}

}  // namespace
}  // namespace plimsoll::runtime
