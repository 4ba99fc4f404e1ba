// The volumes that an image declares, in the OCI spec and in the plan.
#include "runtime/oci/declared_volumes.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "runtime/oci/mount_source.h"
#include "runtime/oci/spec_builder_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeclaredVolumesTest : public SpecBuilderFixture {
 protected:
  DeclaredVolumesTest() { spec_.security.readonly_rootfs = true; }
  std::vector<std::string> Paths() {
    const auto built = TryBuild();
    EXPECT_TRUE(built.ok()) << built.status();
    return built.ok() ? built->declared.paths : std::vector<std::string>();
  }
  std::string Plan() {
    const auto built = TryBuild();
    EXPECT_TRUE(built.ok()) << built.status();
    PlanWriter plan;
    AddDeclaredVolumesToPlan(built->declared, &plan);
    std::string text = plan.text();
    absl::c_replace(text, '\0', '|');
    return text;
  }
  std::string Refused(const std::string& volume) {
    image_.volumes = {volume};
    const absl::Status status = TryBuild().status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << volume << status;
    return std::string(status.message());
  }
};

TEST_F(DeclaredVolumesTest, AreMountedBelowAReadOnlyRootParentsFirst) {
  image_.volumes = {"/data/a/b/", "/var//log", "data", "/data"};
  EXPECT_THAT(Paths(), ElementsAre("/data", "/data/a/b", "/var/log"));
  const Json config = Build();
  EXPECT_EQ(config["mounts"][0]["destination"], "/data");
  EXPECT_EQ(config["mounts"][0]["source"], "/stage/volumes/data0");
  EXPECT_THAT(config["mounts"][0]["options"], ElementsAre("bind", "rprivate", "rw"));
  EXPECT_EQ(config["mounts"][1]["destination"], "/data/a/b");
  EXPECT_EQ(Plan(), "data=/data|as=data0|data=/data/a/b|as=data1|data=/var/log|as=data2|");
}

TEST_F(DeclaredVolumesTest, AreOnlyMadeInAWritableRoot) {
  spec_.security.readonly_rootfs = false;
  image_.volumes = {"/data"};
  EXPECT_EQ(MountAt(Build(), "/data"), nullptr);
  EXPECT_EQ(Plan(), "data=/data|");
}

TEST_F(DeclaredVolumesTest, AMountAtOrAboveThePathWins) {
  image_.volumes = {"/data", "/cache/deep", "/datas", "/dev/shm", "/sys/fs/cgroup"};
  spec_.mounts = {{.container_path = "/data/", .host_path = "/tmp"},
                  {.container_path = "/cache", .host_path = "/tmp"}};
  EXPECT_THAT(Paths(), ElementsAre("/datas"));
  EXPECT_EQ(MountAt(Build(), "/data")["source"], "/stage/volumes/0");
}

TEST_F(DeclaredVolumesTest, PlacesOfTheKernelAreRefused) {
  for (const char* path : {"/", "", "..", "/a/..", "/proc", "/proc/x", "/dev", "/dev/x/", "/sys",
                           "/sys/fs", "//sys/../proc", "proc"}) {
    EXPECT_THAT(Refused(path), AllOf(HasSubstr("the image's VOLUME"), HasSubstr("volumes: ignore")))
        << path;
  }
  EXPECT_THAT(Refused(absl::StrCat("/", std::string(5000, 'x'))), HasSubstr("5001 bytes"));
}

TEST_F(DeclaredVolumesTest, AreAtMost64) {
  for (int i = 0; i < 64; ++i) image_.volumes.push_back(absl::StrCat("/v", i));
  EXPECT_EQ(Paths().size(), 64u);
  image_.volumes.push_back("/one-more");
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("65 paths; at most 64"));
}

TEST_F(DeclaredVolumesTest, MayBeIgnored) {
  input_.has_declared_volumes = false;
  image_.volumes = {"/", "/data"};
  EXPECT_THAT(Paths(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::runtime
