// Mounts and devices in the OCI spec, and their requirements on the host.
#include "runtime/oci/spec_mounts.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "linux/namespaces/mounts.h"
#include "runtime/oci/mount_source.h"
#include "runtime/oci/spec_builder_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A directory that is a shared mount of its own.
class SharedMount {
 public:
  explicit SharedMount(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(mkdir(path_.c_str(), 0755), 0);
    EXPECT_TRUE(linux::BindMount(path_, path_).ok());
    EXPECT_EQ(mount(nullptr, path_.c_str(), nullptr, MS_SHARED, nullptr), 0);
  }
  ~SharedMount() { EXPECT_TRUE(linux::Unmount(path_).ok()); }
  SharedMount(const SharedMount&) = delete;
  SharedMount& operator=(const SharedMount&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

class SpecMountsTest : public SpecBuilderFixture {};

TEST_F(SpecMountsTest, MountsOfTheContainerReplaceAndFollow) {
  TestDir dir;
  const SharedMount shared(dir.path() + "/shared");
  request_.sandbox.etc_hosts = dir.path() + "/hosts";
  request_.sandbox.etc_resolv_conf = dir.path() + "/resolv.conf";
  request_.sandbox.ipc_namespace = "/run/ipc";
  request_.sandbox.shm_directory = dir.path();
  spec_.mounts = {{.container_path = "/a/b/c/", .host_path = dir.path()},
                  {.container_path = "/a",
                   .host_path = dir.path() + "/shared",
                   .readonly = true,
                   .propagation = MountPropagation::kHostToContainer},
                  {.container_path = "/etc/hosts", .host_path = dir.path() + "/own"}};
  ASSERT_TRUE(dir.root().ReplaceFile("own", "").ok());
  Json config = Build();
  EXPECT_EQ(MountAt(config, "/etc/hosts")["source"], "/stage/volumes/2");
  EXPECT_EQ(MountAt(config, "/etc/resolv.conf")["source"], dir.path() + "/resolv.conf");
  EXPECT_EQ(MountAt(config, "/dev/shm")["source"], dir.path());
  EXPECT_THAT(MountAt(config, "/a")["options"], ElementsAre("rbind", "rslave", "ro"));
  EXPECT_EQ(config["mounts"].back()["destination"], "/a/b/c");
  EXPECT_EQ(config["linux"]["rootfsPropagation"], "rslave");
  spec_.mounts[1].propagation = MountPropagation::kBidirectional;
  EXPECT_THAT(TryBuild().status().message(),
              HasSubstr("only a privileged container may have that"));
  spec_.security.privileged = true;
  EXPECT_EQ(Build()["linux"]["rootfsPropagation"], "rshared");
  spec_.mounts[1].recursive_read_only = true;
  EXPECT_TRUE(absl::IsInvalidArgument(TryBuild().status()));
  spec_.mounts = {{.container_path = "relative", .host_path = dir.path()}};
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("mounts[0].container_path"));
}

TEST_F(SpecMountsTest, PropagationNeedsAMountThatItCanComeFrom) {
  TestDir dir;
  const SharedMount shared(dir.path() + "/shared");
  ASSERT_EQ(mount(nullptr, shared.path().c_str(), nullptr, MS_PRIVATE, nullptr), 0);
  spec_.security.privileged = true;
  for (const MountPropagation propagation :
       {MountPropagation::kHostToContainer, MountPropagation::kBidirectional}) {
    spec_.mounts = {
        {.container_path = "/a", .host_path = shared.path() + "/deep", .propagation = propagation}};
    const absl::Status refused = TryBuild().status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("mounts[0].propagation"), HasSubstr(shared.path() + "/deep"),
                      HasSubstr("is private"), HasSubstr("--make-rshared " + shared.path())));
  }
  ASSERT_EQ(mount(nullptr, shared.path().c_str(), nullptr, MS_SHARED, nullptr), 0);
  EXPECT_THAT(MountAt(Build(), "/a")["options"], Contains("rshared"));
}

TEST_F(SpecMountsTest, ReadOnlyWithAllBelowNeedsTheKernel) {
  TestDir dir;
  spec_.mounts = {{.container_path = "/a",
                   .host_path = dir.path(),
                   .readonly = true,
                   .recursive_read_only = true}};
  EXPECT_THAT(MountAt(Build(), "/a")["options"], ElementsAre("rbind", "rprivate", "rro", "ro"));
  machine_.recursive_read_only = false;
  EXPECT_TRUE(absl::IsFailedPrecondition(TryBuild().status()));
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("needs Linux 5.12 and crun 1.4"));
  // Another program's features count separately, either way.
  request_.program = "/usr/bin/other";
  EXPECT_TRUE(absl::IsFailedPrecondition(TryBuild().status()));
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("rro, but /usr/bin/other doesn't"));
  machine_.recursive_read_only_programs = {"/usr/bin/other"};
  EXPECT_THAT(MountAt(Build(), "/a")["options"], ElementsAre("rbind", "rprivate", "rro", "ro"));
  machine_.recursive_read_only = true;
  request_.program = "/usr/bin/third";
  EXPECT_TRUE(absl::IsFailedPrecondition(TryBuild().status()));
}

TEST_F(SpecMountsTest, HostPathsAreFollowedOrMade) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("real/data").ok());
  ASSERT_EQ(symlink("real", (dir.path() + "/link").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", (dir.path() + "/dangling").c_str()), 0);
  spec_.mounts = {{.container_path = "/a", .host_path = dir.path() + "/link/data"},
                  {.container_path = "/b", .host_path = dir.path() + "/missing/deep"}};
  const auto built = TryBuild();
  ASSERT_TRUE(built.ok()) << built.status();
  ASSERT_EQ(built->volumes.size(), 2u);
  EXPECT_EQ(built->volumes[0].path, dir.path() + "/real/data");
  EXPECT_EQ(built->volumes[1].path, dir.path() + "/missing/deep");
  EXPECT_TRUE(S_ISDIR(dir.root().Stat("missing/deep")->st_mode));
  spec_.mounts = {{.container_path = "/c", .host_path = dir.path() + "/dangling"}};
  EXPECT_TRUE(absl::IsInvalidArgument(TryBuild().status()));
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("mounts[0].host_path"));
}

TEST_F(SpecMountsTest, VolumesAreRelabelledWhereThereAreLabels) {
  if (geteuid() != 0) GTEST_SKIP() << "labels of files need root";
  if (access("/sys/fs/selinux/enforce", F_OK) == 0) {
    GTEST_SKIP() << "SELinux is on here, and doesn't know this test's labels";
  }
  TestDir dir;
  char label[64] = {};
  const auto size_of_label = [&] {
    return lgetxattr(dir.path().c_str(), "security.selinux", label, sizeof(label));
  };
  spec_.mounts = {{.container_path = "/v", .host_path = dir.path(), .selinux_relabel = true}};
  Build();
  EXPECT_EQ(size_of_label(), -1);
  input_.selinux.file = "u:object_r:f:s0";
  spec_.mounts[0].selinux_relabel = false;
  Build();
  EXPECT_EQ(size_of_label(), -1);
  spec_.mounts[0].selinux_relabel = true;
  Build();
  EXPECT_EQ(size_of_label(), 15);
  EXPECT_STREQ(label, "u:object_r:f:s0");
  spec_.mounts[0].host_path = "/etc";
  const absl::Status refused = TryBuild().status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("mounts[0].selinux_relabel: /etc"));
}

TEST_F(SpecMountsTest, MountOptionsAreThoseAskedFor) {
  TestDir dir;
  spec_.mounts = {
      {.container_path = "/a", .host_path = dir.path(), .mount_options = {"noexec", "nosuid"}}};
  EXPECT_THAT(MountAt(Build(), "/a")["options"],
              ElementsAre("rbind", "rprivate", "noexec", "nosuid", "rw"));
}

TEST_F(SpecMountsTest, ProgramsInImagesRunUnlessTheyAreNotTo) {
  spec_.mounts = {{.container_path = "/image",
                   .readonly = true,
                   .image = "busybox",
                   .mount_options = {"exec", "suid"}}};
  EXPECT_THAT(MountAt(Build(), "/image")["options"],
              ElementsAre("rbind", "rprivate", "exec", "suid", "ro", "nosuid", "nodev"));
  input_.runs_image_volumes = false;
  EXPECT_THAT(MountAt(Build(), "/image")["options"],
              ElementsAre("rbind", "rprivate", "exec", "suid", "ro", "nosuid", "nodev", "noexec"));
}

TEST_F(SpecMountsTest, VolumesComeFromTheStage) {
  TestDir dir;
  input_.stage_path = "/bundle/stage";
  spec_.mounts = {{.container_path = "/plain", .host_path = dir.path()},
                  {.container_path = "/ids",
                   .host_path = dir.path(),
                   .uid_mappings = {{100000, 0, 65536}},
                   .gid_mappings = {{100000, 0, 65536}}},
                  {.container_path = "/image", .image = "busybox", .image_sub_path = "bin"}};
  const auto plan_of = [this](std::vector<HeldVolume> volumes) {
    PlanWriter plan;
    AddStageToPlan(request_, input_.stage_path, std::move(volumes), false, &plan);
    std::string text = plan.text();
    absl::c_replace(text, '\0', '|');
    return text;
  };
  auto built = TryBuild();
  ASSERT_TRUE(built.ok()) << built.status();
  const Json config = Json::parse(built->json);
  EXPECT_EQ(MountAt(config, "/plain")["source"], "/bundle/stage/volumes/0");
  EXPECT_EQ(MountAt(config, "/ids")["source"], "/bundle/stage/volumes/1");
  EXPECT_EQ(MountAt(config, "/image")["source"], "/bundle/stage/volumes/2");
  EXPECT_THAT(MountAt(config, "/image")["options"],
              ElementsAre("rbind", "rprivate", "ro", "nosuid", "nodev"));

  request_.image_layers = {{2, {"/layers/top", "/layers/base"}}};
  const std::string sources =
      absl::StrCat("volume=0|source=", dir.path(), "|volume=1|source=", dir.path(), "|map=");
  EXPECT_EQ(plan_of(std::move(built->volumes)),
            absl::StrCat("stage=/bundle/stage|", sources,
                         "0 100000 65536\n;0 100000 65536\n|volume=2|"
                         "layer=/layers/top|layer=/layers/base|part=bin|"));

  // In a pod with these ids the namespace exists already, and everything is shown with them.
  request_.sandbox.user_namespace = "/run/user";
  spec_.security.namespaces.uid_mappings = spec_.mounts[1].uid_mappings;
  spec_.security.namespaces.gid_mappings = spec_.mounts[1].gid_mappings;
  built = TryBuild();
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(plan_of(std::move(built->volumes)),
            absl::StrCat("stage=/bundle/stage|userns=/run/user|", sources,
                         "/run/user|volume=2|layer=/layers/top|layer=/layers/base|"
                         "part=bin|map=/run/user|"));

  spec_.mounts.clear();
  request_.sandbox.user_namespace.clear();
  EXPECT_EQ(plan_of({}), "");
}

// A plugin's or a device's mount is of the file that was there when it was looked for, as well.
TEST_F(SpecMountsTest, MountsOfPluginsComeFromTheStage) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("data").ok());
  const std::string path = dir.path() + "/data";
  input_.stage_path = "/bundle/stage";
  spec_.mounts = {{.container_path = "/own", .host_path = dir.path()}};
  request_.edits.mounts = {{.host_path = path, .container_path = "/device", .options = {"ro"}}};
  spec_.extras.edits.mounts = {
      {.host_path = path, .container_path = "/plugin", .type = "bind", .options = {"bind"}}};
  const auto built = TryBuild();
  ASSERT_TRUE(built.ok()) << built.status();
  const Json config = Json::parse(built->json);
  ASSERT_EQ(built->volumes.size(), 3u);
  EXPECT_EQ(MountAt(config, "/device")["source"],
            "/bundle/stage/volumes/" + built->volumes[1].name);
  EXPECT_EQ(MountAt(config, "/plugin")["source"],
            "/bundle/stage/volumes/" + built->volumes[2].name);
  ASSERT_EQ(rename(path.c_str(), (dir.path() + "/moved").c_str()), 0);
  struct stat held = {};
  struct stat moved = {};
  ASSERT_EQ(fstat(built->volumes[2].tree.get(), &held), 0);
  ASSERT_EQ(stat((dir.path() + "/moved").c_str(), &moved), 0);
  EXPECT_EQ(held.st_ino, moved.st_ino);
}

TEST_F(SpecMountsTest, ADirectoryOfDevicesIsAllOfThem) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("devices/below").ok());
  ASSERT_EQ(mknod((dir.path() + "/devices/a").c_str(), S_IFCHR | 0640, makedev(1, 3)), 0);
  ASSERT_EQ(mknod((dir.path() + "/devices/below/b").c_str(), S_IFCHR | 0600, makedev(1, 5)), 0);
  ASSERT_TRUE(dir.root().ReplaceFile("devices/file", "no device").ok());
  ASSERT_EQ(symlink("devices/a", (dir.path() + "/link").c_str()), 0);
  spec_.devices = {
      {.container_path = "/dev/mine", .host_path = dir.path() + "/devices", .permissions = "rm"}};
  const Json devices = Build()["linux"]["devices"];
  ASSERT_EQ(devices.size(), 2);
  EXPECT_EQ(devices[0]["path"], "/dev/mine/a");
  EXPECT_EQ(devices[0]["minor"], 3);
  EXPECT_EQ(devices[0]["fileMode"], 0640);
  EXPECT_EQ(devices[1]["path"], "/dev/mine/below/b");
  EXPECT_EQ(Build()["linux"]["resources"]["devices"][1]["access"], "rm");
  spec_.devices = {{.container_path = "/dev/one", .host_path = dir.path() + "/link"}};
  EXPECT_EQ(Build()["linux"]["devices"][0]["path"], "/dev/one");
  spec_.devices = {{.container_path = "/dev/one", .host_path = dir.path() + "/devices/file"}};
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("is neither a device nor a directory"));
}

TEST_F(SpecMountsTest, Devices) {
  spec_.devices = {{.container_path = "/dev/other", .host_path = "/dev/null", .permissions = "r"}};
  const Json config = Build();
  const Json device = config["linux"]["devices"][0];
  EXPECT_EQ(device["path"], "/dev/other");
  EXPECT_EQ(device["type"], "c");
  EXPECT_EQ(device["major"], 1);
  EXPECT_EQ(device["minor"], 3);
  const Json rules = config["linux"]["resources"]["devices"];
  EXPECT_EQ(rules[0]["allow"], false);
  EXPECT_EQ(rules[1]["access"], "r");

  spec_.devices[0].permissions = "x";
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("devices[0].permissions"));
  spec_.devices = {{.container_path = "/dev/x", .host_path = "/no/such/device"}};
  EXPECT_THAT(TryBuild().status().message(), HasSubstr("devices[0].host_path"));
}

TEST_F(SpecMountsTest, InAUserNamespacePrivilegeBringsNoDevices) {
  spec_.security.privileged = true;
  EXPECT_FALSE(Build()["linux"]["devices"].empty());
  request_.sandbox.user_namespace = "/run/user";
  const Json part = Build()["linux"];
  EXPECT_TRUE(part["devices"].empty());
  EXPECT_EQ(part["resources"]["devices"][0]["allow"], false);
}

}  // namespace
}  // namespace plimsoll::runtime
