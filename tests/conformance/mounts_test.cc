// Volumes: a container's view of the host's files, at the paths it asked for.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

class MountTest : public CriTest {
 protected:
  static cri::Mount* Add(cri::ContainerConfig* config, const std::string& host_path,
                         const std::string& container_path) {
    cri::Mount* mount = config->add_mounts();
    mount->set_host_path(host_path);
    mount->set_container_path(container_path);
    return mount;
  }
  // A directory that is a mount point with this propagation; the session unmounts it.
  std::string MountPoint(const std::string& name, unsigned long propagation) {
    std::string path = HostDirectory(name);
    EXPECT_EQ(::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr), 0);
    EXPECT_EQ(::mount(nullptr, path.c_str(), nullptr, propagation, nullptr), 0);
    EXPECT_EQ(mkdir((path + "/late").c_str(), 0755), 0);
    return path;
  }
  static void MountTmpfs(const std::string& path) {
    EXPECT_EQ(::mount("conformance", path.c_str(), "tmpfs", 0, "size=64k"), 0) << path;
  }
  // Unmounts at the end of a test.
  static auto Unmounting(const std::string& path) {
    return absl::MakeCleanup([path] {
      umount2((path + "/late").c_str(), MNT_DETACH);
      umount2(path.c_str(), MNT_DETACH);
    });
  }
  static std::string NoRoot() { return geteuid() == 0 ? "" : "mounts on the host need root"; }
  static std::string Sees(const std::string& path) {
    return absl::StrCat("grep -c ' ", path, " tmpfs ' /proc/mounts || true");
  }
};

PROMISE_TEST(MountTest, FilesGoBothWays,
             "A volume's files are the host's: both see what either writes") {
  const std::string volume = HostDirectory("volume");
  WriteHostFile(volume + "/in", "from the host\n");
  cri::ContainerConfig config = Shell("cat /volume/in; echo to the host > /volume/out");
  Add(&config, volume, "/volume");
  EXPECT_EQ(RunToEnd(config), "from the host\n");
  EXPECT_EQ(ReadHostFile(volume + "/out"), "to the host\n");
}

PROMISE_TEST(MountTest, AReadonlyOneCantBeWritten,
             "A readonly volume can be read and not written") {
  const std::string volume = HostDirectory("volume");
  WriteHostFile(volume + "/in", "from the host\n");
  cri::ContainerConfig config = Shell("cat /volume/in; touch /volume/out 2>/dev/null; echo $?");
  Add(&config, volume, "/volume")->set_readonly(true);
  EXPECT_EQ(RunToEnd(config), "from the host\n1\n");
  EXPECT_THAT(ReadHostFile(volume + "/out"), IsEmpty());
}

PROMISE_TEST(MountTest, AFileIsMountedToo,
             "A single file can be a volume, over one of the image's too") {
  const std::string volume = HostDirectory("volume");
  WriteHostFile(volume + "/passwd", "keel:x:7:7::/:/bin/sh\n");
  cri::ContainerConfig config = Shell("cat /etc/passwd /new/place");
  Add(&config, volume + "/passwd", "/etc/passwd");
  Add(&config, volume + "/passwd", "/new/place");
  EXPECT_EQ(RunToEnd(config), "keel:x:7:7::/:/bin/sh\nkeel:x:7:7::/:/bin/sh\n");
}

PROMISE_TEST(MountTest, ALinkOnTheHostIsFollowed,
             "A host_path that is a symbolic link is what it leads to") {
  const std::string volume = HostDirectory("volume");
  WriteHostFile(volume + "/in", "behind the link\n");
  const std::string link = HostDirectory("links") + "/link";
  ASSERT_EQ(symlink(volume.c_str(), link.c_str()), 0);
  cri::ContainerConfig config = Shell("cat /volume/in; echo out > /volume/out");
  Add(&config, link, "/volume");
  EXPECT_EQ(RunToEnd(config), "behind the link\n");
  EXPECT_EQ(ReadHostFile(volume + "/out"), "out\n");
}

PROMISE_TEST(MountTest, AMissingHostPathIsMadeADirectory,
             "A host_path that isn't there is made as a directory, as kubelet expects of volumes "
             "without a type") {
  const std::string missing = HostDirectory("volume") + "/not/yet";
  cri::ContainerConfig config = Shell("echo out > /volume/out && echo written");
  Add(&config, missing, "/volume");
  EXPECT_EQ(RunToEnd(config), "written\n");
  EXPECT_EQ(ReadHostFile(missing + "/out"), "out\n");
}

PROMISE_TEST(MountTest, OneIsMountedInsideAnother,
             "A volume inside of another is seen there, in whatever order they are listed") {
  const std::string outer = HostDirectory("outer");
  const std::string inner = HostDirectory("inner");
  WriteHostFile(outer + "/name", "outer\n");
  WriteHostFile(inner + "/name", "inner\n");
  ASSERT_EQ(mkdir((outer + "/deep").c_str(), 0755), 0);
  const std::string pod = RunPod();
  for (const bool inner_first : {false, true}) {
    cri::ContainerConfig config = Shell("cat /volume/name /volume/deep/name");
    if (inner_first) Add(&config, inner, "/volume/deep");
    Add(&config, outer, "/volume");
    if (!inner_first) Add(&config, inner, "/volume/deep");
    EXPECT_EQ(RunToEnd(config, pod), "outer\ninner\n");
  }
}

PROMISE_TEST(MountTest, TwoContainersShareAVolume,
             "Containers of one pod see each other's writes to a volume") {
  const std::string volume = HostDirectory("volume");
  const std::string pod = RunPod();
  cri::ContainerConfig config = Sleeper();
  Add(&config, volume, "/volume");
  const std::string one = Start(pod, config);
  config = Sleeper();
  Add(&config, volume, "/elsewhere");
  const std::string two = Start(pod, config);
  Exec(one, "echo shared > /volume/mark");
  EXPECT_EQ(Exec(two, "cat /elsewhere/mark"), "shared\n");
}

PROMISE_TEST(MountTest, ItsFilesOutliveTheContainer,
             "RemoveContainer leaves a volume's files as they are") {
  const std::string volume = HostDirectory("volume");
  cri::ContainerConfig config = Shell("echo kept > /volume/out");
  Add(&config, volume, "/volume");
  const std::string id = Start(RunPod(), config);
  AwaitExit(id);
  ASSERT_OK(RemoveContainer(id));
  EXPECT_EQ(ReadHostFile(volume + "/out"), "kept\n");
}

PROMISE_TEST(MountTest, StatusShowsThem, "ContainerStatus shows the mounts that were asked for") {
  const std::string volume = HostDirectory("volume");
  cri::ContainerConfig config = Sleeper();
  Add(&config, volume, "/volume")->set_readonly(true);
  const cri::ContainerStatus status = Status(Create(RunPod(), config));
  bool found = false;
  for (const cri::Mount& mount : status.mounts()) {
    if (mount.container_path() != "/volume") continue;
    found = true;
    EXPECT_EQ(mount.host_path(), volume);
    EXPECT_TRUE(mount.readonly());
  }
  EXPECT_TRUE(found);
}

PROMISE_TEST(MountTest, RelabelWithoutSelinuxIsNoError,
             "selinux_relabel does nothing where SELinux is off") {
  if (!ReadHostFile("/sys/fs/selinux/enforce").empty()) GTEST_SKIP() << "SELinux is on here";
  const std::string volume = HostDirectory("volume");
  cri::ContainerConfig config = Shell("touch /volume/out && echo written");
  Add(&config, volume, "/volume")->set_selinux_relabel(true);
  EXPECT_EQ(RunToEnd(config), "written\n");
}

PROMISE_TEST(MountTest, APrivateOneSeesNothingLater,
             "With propagation PRIVATE what is mounted below the volume later isn't seen") {
  if (!NoRoot().empty()) GTEST_SKIP() << NoRoot();
  const std::string volume = MountPoint("private", MS_SHARED);
  const auto unmount = Unmounting(volume);
  cri::ContainerConfig config = Sleeper();
  Add(&config, volume, "/volume")->set_propagation(cri::PROPAGATION_PRIVATE);
  const std::string id = Start(RunPod(), config);
  MountTmpfs(volume + "/late");
  EXPECT_EQ(Exec(id, Sees("/volume/late")), "0\n");
}

PROMISE_TEST(MountTest, HostToContainerArrives,
             "With propagation HOST_TO_CONTAINER what the host mounts below the volume later is "
             "seen, and what the container mounts there isn't seen on the host") {
  if (!NoRoot().empty()) GTEST_SKIP() << NoRoot();
  const std::string volume = MountPoint("slave", MS_SHARED);
  const auto unmount = Unmounting(volume);
  ASSERT_EQ(mkdir((volume + "/own").c_str(), 0755), 0);
  cri::PodSandboxConfig pod = PodConfig();
  Security(&pod)->set_privileged(true);
  cri::ContainerConfig config = Sleeper();
  Security(&config)->set_privileged(true);
  Add(&config, volume, "/volume")->set_propagation(cri::PROPAGATION_HOST_TO_CONTAINER);
  const std::string id = Start(RunPod(pod), config);
  MountTmpfs(volume + "/late");
  EXPECT_EQ(Exec(id, Sees("/volume/late")), "1\n");
  Exec(id, "mount -t tmpfs none /volume/own && touch /volume/own/mark");
  EXPECT_NE(access((volume + "/own/mark").c_str(), F_OK), 0);
}

PROMISE_TEST(
    MountTest, BidirectionalGoesBack,
    "With propagation BIDIRECTIONAL what a privileged container mounts below the volume is "
    "seen on the host, and the other way round") {
  if (!NoRoot().empty()) GTEST_SKIP() << NoRoot();
  const std::string volume = MountPoint("shared", MS_SHARED);
  const auto unmount = Unmounting(volume);
  const std::string own = volume + "/own";
  ASSERT_EQ(mkdir(own.c_str(), 0755), 0);
  const auto unmount_own = absl::MakeCleanup([own] { umount2(own.c_str(), MNT_DETACH); });
  cri::PodSandboxConfig pod = PodConfig();
  Security(&pod)->set_privileged(true);
  cri::ContainerConfig config = Sleeper();
  Security(&config)->set_privileged(true);
  Add(&config, volume, "/volume")->set_propagation(cri::PROPAGATION_BIDIRECTIONAL);
  const std::string id = Start(RunPod(pod), config);
  Exec(id, "mount -t tmpfs none /volume/own && touch /volume/own/mark");
  EXPECT_EQ(access((own + "/mark").c_str(), F_OK), 0);
  MountTmpfs(volume + "/late");
  EXPECT_EQ(Exec(id, Sees("/volume/late")), "1\n");
}

PROMISE_TEST(
    MountTest, PropagationNeedsASharedMount,
    "Propagation BIDIRECTIONAL of a place that is no shared mount on the host is refused") {
  if (!NoRoot().empty()) GTEST_SKIP() << NoRoot();
  const std::string volume = MountPoint("unshared", MS_PRIVATE);
  const auto unmount = Unmounting(volume);
  cri::PodSandboxConfig pod = PodConfig();
  Security(&pod)->set_privileged(true);
  cri::ContainerConfig config = Sleeper();
  Security(&config)->set_privileged(true);
  Add(&config, volume, "/volume")->set_propagation(cri::PROPAGATION_BIDIRECTIONAL);
  const absl::Status status = TryCreateAndStart(RunPod(pod), config);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), Not(IsEmpty()));
}

// A runtime older than the field can't know it.
class RecursiveReadonlyTest : public MountTest {
 protected:
  bool Announced() { return DefaultHandlerFeatures().recursive_read_only_mounts(); }
};

constexpr char kNotAnnounced[] =
    "the default handler doesn't announce the feature recursive_read_only_mounts";

PROMISE_TEST(RecursiveReadonlyTest, ReachesMountsBelow,
             "With recursive_read_only mounts below the volume can't be written either") {
  if (!Announced()) GTEST_SKIP() << kNotAnnounced;
  if (!NoRoot().empty()) GTEST_SKIP() << NoRoot();
  const std::string volume = MountPoint("recursive", MS_PRIVATE);
  const auto unmount = Unmounting(volume);
  MountTmpfs(volume + "/late");
  cri::ContainerConfig config =
      Shell("touch /volume/out 2>/dev/null; echo $?; touch /volume/late/out 2>/dev/null; echo $?");
  cri::Mount* mount = Add(&config, volume, "/volume");
  mount->set_readonly(true);
  mount->set_recursive_read_only(true);
  EXPECT_EQ(RunToEnd(config), "1\n1\n");
}

PROMISE_TEST(RecursiveReadonlyTest, NeedsReadonly,
             "recursive_read_only without readonly is refused") {
  if (!Announced()) GTEST_SKIP() << kNotAnnounced;
  cri::ContainerConfig config = Shell("true");
  Add(&config, HostDirectory("volume"), "/volume")->set_recursive_read_only(true);
  EXPECT_FALSE(TryCreateAndStart(RunPod(), config).ok());
}

PROMISE_TEST(RecursiveReadonlyTest, NeedsPrivatePropagation,
             "recursive_read_only with a propagation other than PRIVATE is refused") {
  if (!Announced()) GTEST_SKIP() << kNotAnnounced;
  const std::string pod = RunPod();
  const std::string volume = HostDirectory("volume");
  for (const cri::MountPropagation propagation :
       {cri::PROPAGATION_HOST_TO_CONTAINER, cri::PROPAGATION_BIDIRECTIONAL}) {
    cri::ContainerConfig config = Shell("true");
    cri::Mount* mount = Add(&config, volume, "/volume");
    mount->set_readonly(true);
    mount->set_recursive_read_only(true);
    mount->set_propagation(propagation);
    EXPECT_FALSE(TryCreateAndStart(pod, config).ok()) << propagation;
  }
}

PROMISE_TEST(RecursiveReadonlyTest, IsRefusedWhereItIsNotAnnounced,
             "recursive_read_only is refused by a handler that doesn't announce it, rather than "
             "ignored") {
  const cri::StatusResponse status = RuntimeStatus();
  const auto handler =
      std::find_if(status.runtime_handlers().begin(), status.runtime_handlers().end(),
                   [](const cri::RuntimeHandler& each) {
                     return !each.features().recursive_read_only_mounts();
                   });
  if (handler == status.runtime_handlers().end()) {
    GTEST_SKIP() << "every handler announces the feature recursive_read_only_mounts";
  }
  const auto pod = TryRunPod(PodConfig(), handler->name());
  ASSERT_OK(pod) << "handler " << handler->name();
  cri::ContainerConfig config = Shell("true");
  cri::Mount* mount = Add(&config, HostDirectory("volume"), "/volume");
  mount->set_readonly(true);
  mount->set_recursive_read_only(true);
  EXPECT_FALSE(TryCreateAndStart(*pod, config).ok());
}

PROMISE_TEST(MountTest, MountOptionsHold,
             "mount_options are the mount's, where the runtime announces them") {
  if (!RuntimeStatus().features().mount_options()) {
    GTEST_SKIP() << "the runtime doesn't announce the feature mount_options";
  }
  const std::string volume = HostDirectory("volume");
  WriteHostFile(volume + "/program", "#!/bin/sh\necho ran\n");
  ASSERT_EQ(chmod((volume + "/program").c_str(), 0755), 0);
  cri::ContainerConfig config = Shell("/volume/program 2>/dev/null || echo refused");
  Add(&config, volume, "/volume")->add_mount_options("noexec");
  EXPECT_EQ(RunToEnd(config), "refused\n");
}

class ImageVolumeTest : public MountTest {
 protected:
  void SetUp() override {
    MountTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    std::string why;
    Recipe recipe;
    recipe.files = {{"cargo/manifest", "tea\n"}, {"cargo/hold/deep", "china\n"}};
    image_ = Publish(recipe, absl::StrCat(NextName("volume"), ":v1"), &why);
    if (image_.empty()) GTEST_SKIP() << why;
    ASSERT_OK(TryPull(image_));
  }
  void AddImage(cri::ContainerConfig* config, const std::string& sub_path) {
    cri::Mount* mount = config->add_mounts();
    mount->set_container_path("/volume");
    mount->set_readonly(true);
    mount->mutable_image()->set_image(image_);
    mount->set_image_sub_path(sub_path);
  }
  std::string image_;
};

PROMISE_TEST(ImageVolumeTest, ItsFilesAreThereAndReadOnly,
             "An image can be a volume: its files are there and can't be changed") {
  cri::ContainerConfig config =
      Shell("cat /volume/cargo/manifest; echo rum 2>/dev/null > /volume/cargo/manifest; echo $?");
  AddImage(&config, "");
  const auto id = TryCreate(RunPod(), config);
  if (IsLacking(id.status())) GTEST_SKIP() << id.status().message();
  ASSERT_OK(id);
  ASSERT_OK(TryStart(*id));
  AwaitExit(*id);
  EXPECT_EQ(Output(*id), "tea\n1\n");
}

PROMISE_TEST(ImageVolumeTest, ItsProgramsRun, "Programs in an image that is a volume can be run") {
  cri::ContainerConfig config = Shell("/volume/bin/busybox echo ran");
  AddImage(&config, "");
  const auto id = TryCreate(RunPod(), config);
  if (IsLacking(id.status())) GTEST_SKIP() << id.status().message();
  ASSERT_OK(id);
  ASSERT_OK(TryStart(*id));
  AwaitExit(*id);
  EXPECT_EQ(Output(*id), "ran\n");
}

PROMISE_TEST(ImageVolumeTest, WritableItIsRefused,
             "An image volume that isn't asked for as read-only is refused") {
  cri::ContainerConfig config = Shell("true");
  AddImage(&config, "");
  config.mutable_mounts(0)->set_readonly(false);
  EXPECT_FALSE(TryCreateAndStart(RunPod(), config).ok());
}

PROMISE_TEST(ImageVolumeTest, ItsImageIsTold,
             "ContainerStatus shows which image a volume is, in the words of PullImage") {
  const auto pulled = TryPull(image_);
  ASSERT_OK(pulled);
  cri::ContainerConfig config = Shell("true");
  AddImage(&config, "");
  const auto id = TryCreate(RunPod(), config);
  if (IsLacking(id.status())) GTEST_SKIP() << id.status().message();
  ASSERT_OK(id);
  const cri::ContainerStatus status = Status(*id);
  ASSERT_EQ(status.mounts_size(), 1);
  const std::string& told = status.mounts(0).image().image_ref();
  if (told.empty()) GTEST_SKIP() << "the runtime doesn't tell ImageSpec.image_ref of mounts";
  EXPECT_EQ(told, *pulled);
}

PROMISE_TEST(ImageVolumeTest, ASubPathIsAPartOfIt,
             "With image_sub_path a directory of the image is the volume") {
  cri::ContainerConfig config = Shell("cat /volume/deep; ls /volume");
  AddImage(&config, "cargo/hold");
  const auto id = TryCreate(RunPod(), config);
  if (IsLacking(id.status())) GTEST_SKIP() << id.status().message();
  ASSERT_OK(id);
  ASSERT_OK(TryStart(*id));
  AwaitExit(*id);
  EXPECT_EQ(Output(*id), "china\ndeep\n");
}

PROMISE_TEST(ImageVolumeTest, AMissingSubPathIsRefused,
             "An image_sub_path that isn't in the image, or leads out of it, is refused") {
  const std::string pod = RunPod();
  for (const char* path : {"no/such/place", "../../etc"}) {
    cri::ContainerConfig config = Shell("true");
    AddImage(&config, path);
    EXPECT_FALSE(TryCreateAndStart(pod, config).ok()) << path;
  }
}

PROMISE_TEST(ImageVolumeTest, AnImageThatIsNotThereIsRefused,
             "An image volume of an image that hasn't been pulled is refused") {
  cri::ContainerConfig config = Shell("true");
  image_ = absl::StrCat("127.0.0.1:1/none-of-", session_.run(), ":v1");
  AddImage(&config, "");
  EXPECT_FALSE(TryCreateAndStart(RunPod(), config).ok());
}

}  // namespace
}  // namespace plimsoll::conformance
