// A container's mounts: volumes of the host and of images, with their options.
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/namespaces/mounts.h"
#include "linux/namespaces/other_namespaces_for_test.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class MountsTest : public NodeTest {
 protected:
  explicit MountsTest(const std::string& config = "") : NodeTest(config) {}
  // A directory on the host for the test.
  std::string Volume(const std::string& name = "volume") {
    const std::string path = absl::StrCat(node_.directory(), "/", name);
    EXPECT_TRUE(Host().MakeDirs(path, 0755).ok());
    return path;
  }
  // A volume that is a mount of its own, with `propagation` (MS_SHARED ...).
  std::string MountedVolume(unsigned long propagation) {
    const std::string path = Volume();
    EXPECT_EQ(mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr), 0);
    EXPECT_EQ(mount(nullptr, path.c_str(), nullptr, propagation, nullptr), 0);
    return path;
  }
  static cri::Mount* AddMount(cri::ContainerConfig* config, const std::string& from,
                              const std::string& to) {
    cri::Mount* added = config->add_mounts();
    added->set_host_path(from);
    added->set_container_path(to);
    return added;
  }
  std::string RunPrivilegedPod() {
    cri::PodSandboxConfig pod = PodConfig();
    pod.mutable_linux()->mutable_security_context()->set_privileged(true);
    return RunPod(pod);
  }
  static void MakePrivileged(cri::ContainerConfig* config) {
    config->mutable_linux()->mutable_security_context()->set_privileged(true);
  }
  std::string RunToEnd(const cri::ContainerConfig& config) {
    const std::string id = Start(RunPod(), config);
    AwaitExit(id);
    return Output(id);
  }
  // The error of its creation.
  grpc::Status Refused(const std::string& pod, const cri::ContainerConfig& config) {
    std::string id;
    const grpc::Status status = TryCreate(pod, config, &id);
    EXPECT_FALSE(status.ok());
    return status;
  }
  cri::StatusResponse NodeStatus() {
    grpc::ClientContext context;
    cri::StatusResponse response;
    EXPECT_TRUE(node_.runtime().Status(&context, {}, &response).ok());
    return response;
  }
};

TEST_F(MountsTest, AMissingHostPathBecomesADirectory) {
  const std::string path = absl::StrCat(node_.directory(), "/missing/deep");
  cri::ContainerConfig config = Shell("echo x > /v/made; cat /v/made");
  AddMount(&config, path, "/v");
  EXPECT_EQ(RunToEnd(config), "x\n");
  EXPECT_EQ(Host().Stat(path)->st_mode & (S_IFMT | 0777), unsigned{S_IFDIR | 0755});
  EXPECT_EQ(*Host().Read(path + "/made"), "x\n");
}

TEST_F(MountsTest, ASymbolicLinkIsTheHosts) {
  const std::string volume = Volume();
  ASSERT_TRUE(Host().ReplaceFile(volume + "/in", "real\n", 0644).ok());
  const std::string link = absl::StrCat(node_.directory(), "/link");
  ASSERT_EQ(symlink(volume.c_str(), link.c_str()), 0);
  cri::ContainerConfig config = Shell("cat /v/in /file");
  AddMount(&config, link, "/v");
  AddMount(&config, link + "/in", "/file");
  EXPECT_EQ(RunToEnd(config), "real\nreal\n");
}

TEST_F(MountsTest, BidirectionalMountsReachTheHost) {
  const std::string volume = MountedVolume(MS_SHARED);
  const absl::Cleanup unmount = [&] { linux::UnmountBelow(Host(), volume).IgnoreError(); };
  ASSERT_TRUE(Host().MakeDirs(volume + "/late", 0755).ok());
  cri::ContainerConfig config = Shell("sleep 1000");
  MakePrivileged(&config);
  AddMount(&config, volume, "/v")->set_propagation(cri::PROPAGATION_BIDIRECTIONAL);
  const std::string id = Start(RunPrivilegedPod(), config);
  ExecOutput(id, "mount -t tmpfs plimsoll-test /v/late && echo x > /v/late/from-container");
  EXPECT_EQ(*Host().Read(volume + "/late/from-container"), "x\n");
  EXPECT_THAT(MountsBelow(volume), Contains(volume + "/late"));
  ExecOutput(id, "umount /v/late");
  EXPECT_THAT(MountsBelow(volume), Not(Contains(volume + "/late")));
  ASSERT_TRUE(StopContainer(id, 0).ok());
}

// `unshare --mount=FILE` and snapd pin one so: a container has the file below, nothing else
// changes.
TEST_F(MountsTest, AMountNamespaceThatIsPinnedInAVolumeStaysOutside) {
  const std::string volume = MountedVolume(MS_SHARED);
  const absl::Cleanup unmount = [&] { linux::UnmountBelow(Host(), volume).IgnoreError(); };
  for (const char* each : {"/pins", "/late", "/tmpfs"}) {
    ASSERT_TRUE(Host().MakeDirs(volume + each, 0755).ok());
  }
  const std::string pins = volume + "/pins";
  ASSERT_EQ(mount(pins.c_str(), pins.c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(mount(nullptr, pins.c_str(), nullptr, MS_PRIVATE, nullptr), 0);
  ASSERT_TRUE(Host().ReplaceFile(pins + "/pin", "below\n", 0644).ok());
  const auto pinned = linux::PinMountNamespaceForTest(pins + "/pin");
  if (pinned == nullptr) GTEST_SKIP() << "this process's mount namespace has too high a number";
  ASSERT_EQ(mount("tmpfs", (volume + "/tmpfs").c_str(), "tmpfs", 0, nullptr), 0);
  ASSERT_TRUE(Host().ReplaceFile(volume + "/tmpfs/file", "of the tmpfs\n", 0644).ok());
  cri::ContainerConfig config = Shell("sleep 1000");
  MakePrivileged(&config);
  AddMount(&config, volume, "/v")->set_propagation(cri::PROPAGATION_BIDIRECTIONAL);
  const std::string id = Start(RunPrivilegedPod(), config);
  EXPECT_EQ(ExecOutput(id, "cat /v/pins/pin /v/tmpfs/file"), "below\nof the tmpfs\n");
  ExecOutput(id, "mount -t tmpfs plimsoll-test /v/late && echo x > /v/late/from-container");
  EXPECT_EQ(*Host().Read(volume + "/late/from-container"), "x\n");
  ExecOutput(id, "umount /v/late");
  ASSERT_TRUE(StopContainer(id, 0).ok());
}

TEST_F(MountsTest, BidirectionalIsForPrivilegedContainers) {
  cri::ContainerConfig config = Shell("true");
  AddMount(&config, Volume(), "/v")->set_propagation(cri::PROPAGATION_BIDIRECTIONAL);
  const grpc::Status status = Refused(RunPod(), config);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("/v"), HasSubstr("privileged")));
}

TEST_F(MountsTest, WhereNothingWouldSpreadPropagationIsRefused) {
  const std::string volume = MountedVolume(MS_PRIVATE);
  const absl::Cleanup unmount = [&] { linux::UnmountBelow(Host(), volume).IgnoreError(); };
  cri::ContainerConfig config = Shell("true");
  MakePrivileged(&config);
  cri::Mount* added = AddMount(&config, volume, "/v");
  const std::string pod = RunPrivilegedPod();
  for (const cri::MountPropagation propagation :
       {cri::PROPAGATION_HOST_TO_CONTAINER, cri::PROPAGATION_BIDIRECTIONAL}) {
    added->set_propagation(propagation);
    const grpc::Status status = Refused(pod, config);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(),
                AllOf(HasSubstr(absl::StrCat("\"", volume, "\"")), HasSubstr("is private"),
                      HasSubstr("--make-rshared")));
  }
  // A slave passes its mounts on to slaves, and none back.
  ASSERT_EQ(mount(nullptr, volume.c_str(), nullptr, MS_SHARED, nullptr), 0);
  const std::string slave = Volume("slave");
  ASSERT_EQ(mount(volume.c_str(), slave.c_str(), nullptr, MS_BIND, nullptr), 0);
  const absl::Cleanup unmount_slave = [&] { linux::Unmount(slave).IgnoreError(); };
  ASSERT_EQ(mount(nullptr, slave.c_str(), nullptr, MS_SLAVE, nullptr), 0);
  added->set_host_path(slave);
  EXPECT_THAT(Refused(pod, config).error_message(), HasSubstr("is a slave"));
  added->set_propagation(cri::PROPAGATION_HOST_TO_CONTAINER);
  EXPECT_TRUE(RemoveContainer(Create(pod, config)).ok());
}

TEST_F(MountsTest, ReadOnlyIsTheMountAloneOrAllBelowIt) {
  ASSERT_TRUE(NodeStatus().runtime_handlers(0).features().recursive_read_only_mounts());
  const std::string volume = Volume();
  const absl::Cleanup unmount = [&] { linux::UnmountBelow(Host(), volume).IgnoreError(); };
  ASSERT_TRUE(Host().MakeDirs(volume + "/below", 0755).ok());
  ASSERT_EQ(mount("plimsoll-test", (volume + "/below").c_str(), "tmpfs", 0, "size=64k"), 0);
  cri::ContainerConfig config =
      Shell("for at in /ro /ro/below /rro /rro/below; do touch $at/x 2>/dev/null; echo $?; done");
  AddMount(&config, volume, "/ro")->set_readonly(true);
  cri::Mount* whole = AddMount(&config, volume, "/rro");
  whole->set_readonly(true);
  whole->set_recursive_read_only(true);
  EXPECT_EQ(RunToEnd(config), "1\n0\n1\n1\n");

  const std::string pod = RunPod();
  whole->set_propagation(cri::PROPAGATION_HOST_TO_CONTAINER);
  EXPECT_EQ(Refused(pod, config).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  whole->set_propagation(cri::PROPAGATION_PRIVATE);
  whole->set_readonly(false);
  EXPECT_EQ(Refused(pod, config).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(MountsTest, MountOptionsHold) {
  EXPECT_TRUE(NodeStatus().features().mount_options());
  const std::string volume = Volume();
  cri::ContainerConfig config = Shell(
      "cp /bin/busybox /v/busybox; /v/busybox true; echo $?; /x/busybox true 2>/dev/null; echo $?; "
      "grep -c ' /x [a-z0-9]* [^ ]*nosuid[^ ]*noexec' /proc/mounts");
  AddMount(&config, volume, "/v");
  cri::Mount* limited = AddMount(&config, volume, "/x");
  limited->add_mount_options("noexec");
  limited->add_mount_options("nosuid");
  EXPECT_EQ(RunToEnd(config), "0\n126\n1\n");
  limited->add_mount_options("bind");
  const grpc::Status status = Refused(RunPod(), config);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("\"bind\""));
}

TEST_F(MountsTest, AVolumeOfHugePagesIsOneInTheContainer) {
  const std::string volume = Volume();
  const absl::Cleanup unmount = [&] { linux::UnmountBelow(Host(), volume).IgnoreError(); };
  ASSERT_EQ(mount("plimsoll-test", volume.c_str(), "hugetlbfs", 0, nullptr), 0);
  cri::ContainerConfig config = Shell("grep -c ' /huge hugetlbfs ' /proc/mounts; touch /huge/x");
  AddMount(&config, volume, "/huge");
  EXPECT_EQ(RunToEnd(config), "1\n");
  EXPECT_TRUE(Host().Exists(volume + "/x"));
}

TEST_F(MountsTest, SharedMemoryHasItsSizeOrIsTheVolumes) {
  const std::string show = "busybox df -k /dev/shm | tail -1 | tr -s ' ' | cut -d' ' -f2";
  EXPECT_EQ(RunToEnd(Shell(show)), "65536\n");
  const std::string volume = Volume();
  const absl::Cleanup unmount = [&] { linux::UnmountBelow(Host(), volume).IgnoreError(); };
  ASSERT_EQ(mount("plimsoll-test", volume.c_str(), "tmpfs", 0, "size=2m"), 0);
  cri::ContainerConfig config = Shell(show);
  AddMount(&config, volume, "/dev/shm");
  EXPECT_EQ(RunToEnd(config), "2048\n");
}

class ImageVolumesTest : public MountsTest {
 protected:
  explicit ImageVolumesTest(const std::string& config = "") : MountsTest(config) {}
  void SetUp() override {
    MountsTest::SetUp();
    if (HasFatalFailure()) return;
    const auto data = FsRoot::OpenOrCreate(absl::StrCat(node_.directory(), "/data"), 0755);
    ASSERT_TRUE(data.ok());
    ASSERT_TRUE(data->MakeDirs("part/deep", 0755).ok());
    ASSERT_TRUE(data->ReplaceFile("one", "one\n", 0644).ok());
    ASSERT_TRUE(data->ReplaceFile("part/two", "two\n", 0644).ok());
    ASSERT_TRUE(data->ReplaceFile("part/program", "#!/bin/sh\n", 0755).ok());
    ASSERT_EQ(symlink("/part/deep", data->PathOf("inside").c_str()), 0);
    ASSERT_EQ(symlink("../../../../../../etc", data->PathOf("outside").c_str()), 0);
    const grpc::Status imported = Import(data->path(), kName);
    ASSERT_TRUE(imported.ok()) << imported.error_message();
  }
  static cri::Mount* AddImage(cri::ContainerConfig* config, const std::string& to,
                              const std::string& part) {
    cri::Mount* added = config->add_mounts();
    added->set_container_path(to);
    added->set_readonly(true);
    added->mutable_image()->set_image(kName);
    added->set_image_sub_path(part);
    return added;
  }
  size_t Layers() { return Host().List(node_.state_directory() + "/images/layers")->size(); }

  static constexpr char kName[] = "registry.test/data:1";
};

TEST_F(ImageVolumesTest, AreTheImageOrAPartOfItReadOnly) {
  cri::ContainerConfig config = Shell(
      "cat /all/one /all/part/two /part/two; ls /inside | wc -l; "
      "touch /all/x 2>/dev/null; echo $?; /part/program 2>/dev/null; echo $?");
  AddImage(&config, "/all", "");
  AddImage(&config, "/part", "part");
  AddImage(&config, "/inside", "inside");
  EXPECT_EQ(RunToEnd(config), "one\ntwo\ntwo\n0\n1\n0\n");
}

// The daemon, its monitor and its launcher below a filter, as RestrictSUIDSGID= of systemd makes
// one.
class WithoutOpenat2Test : public ImageVolumesTest {
 protected:
  WithoutOpenat2Test() {
    node_.StartBy({ProgramPath("without-calls"), absl::StrCat(SYS_openat2, "=", ENOSYS), "--"});
  }
};

TEST_F(WithoutOpenat2Test, ImagesLogsAndVolumesAreAsEver) {
  EXPECT_THAT(Host().Read(absl::StrCat("proc/", node_.daemon_pid(), "/status")).value_or(""),
              HasSubstr("Seccomp:\t2"));
  std::string id;
  const std::string refusal = TryCreate(RunPod(), Shell("true"), &id).error_message();
  if (absl::StrContains(refusal, "cannot resolve `null` under rootfs")) {
    GTEST_SKIP() << "crun 1.21 makes no device nodes without openat2";
  }
  cri::ContainerConfig config = Shell("cat /all/one /part/two; ls /inside | wc -l");
  AddImage(&config, "/all", "");
  AddImage(&config, "/part", "part");
  AddImage(&config, "/inside", "inside");
  EXPECT_EQ(RunToEnd(config), "one\ntwo\n0\n");
  cri::ContainerConfig leading_out = Shell("true");
  AddImage(&leading_out, "/outside", "outside");
  EXPECT_EQ(Refused(RunPod(), leading_out).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ImageVolumesTest, StayWithoutDevicesAndSetUserIds) {
  cri::ContainerConfig config = Shell("grep ' /all ' /proc/mounts");
  cri::Mount* all = AddImage(&config, "/all", "");
  for (const char* option : {"suid", "dev"}) all->add_mount_options(option);
  EXPECT_THAT(RunToEnd(config), AllOf(HasSubstr(" ro,nosuid,nodev,"), Not(HasSubstr("noexec"))));
  all->clear_mount_options();
  all->add_mount_options("noexec");
  EXPECT_THAT(RunToEnd(config), ContainsRegex(" ro,nosuid,nodev,noexec"));
}

TEST_F(ImageVolumesTest, CannotBeAskedForAsWritable) {
  cri::ContainerConfig config = Shell("true");
  AddImage(&config, "/all", "")->set_readonly(false);
  const grpc::Status status = Refused(RunPod(), config);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("must be true for the image at /all"));
}

// Over a restart, and after the tag has moved to another image.
TEST_F(ImageVolumesTest, TheirImageIsTold) {
  cri::ImageStatusRequest request;
  request.mutable_image()->set_image(kName);
  cri::ImageStatusResponse image;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.images().ImageStatus(&context, request, &image).ok());
  cri::ContainerConfig config = Shell("sleep 1000");
  AddImage(&config, "/all", "")->mutable_image()->set_user_specified_image("data");
  const std::string id = Start(RunPod(), config);
  const auto data = FsRoot::OpenOrCreate(absl::StrCat(node_.directory(), "/other"), 0755);
  ASSERT_TRUE(data.ok() && data->ReplaceFile("other", "other\n", 0644).ok());
  ASSERT_TRUE(Import(data->path(), kName).ok());
  for (int restarts = 0; restarts < 2; ++restarts) {
    const cri::ContainerStatus status = Status(id);
    ASSERT_EQ(status.mounts_size(), 1);
    EXPECT_EQ(status.mounts(0).image().image_ref(), image.image().id());
    EXPECT_THAT(status.mounts(0).image().image_ref(), HasSubstr("sha256:"));
    EXPECT_EQ(status.mounts(0).image().image(), kName);
    EXPECT_EQ(status.mounts(0).image().user_specified_image(), "data");
    node_.KillDaemon();
    ASSERT_TRUE(node_.StartDaemon().ok());
  }
}

TEST_F(ImageVolumesTest, KeepTheirLayersAsLongAsTheyAreUsed) {
  const size_t layers = Layers();
  cri::ContainerConfig config = Shell("sleep 1000");
  AddImage(&config, "/all", "");
  const std::string id = Start(RunPod(), config);
  grpc::ClientContext context;
  cri::RemoveImageRequest request;
  request.mutable_image()->set_image(kName);
  cri::RemoveImageResponse response;
  ASSERT_TRUE(node_.images().RemoveImage(&context, request, &response).ok());
  EXPECT_EQ(Layers(), layers);
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(Layers(), layers);
  EXPECT_EQ(ExecOutput(id, "cat /all/one"), "one\n");
  ASSERT_TRUE(RemoveContainer(id).ok());
  EXPECT_TRUE(Eventually([&] { return Layers() == layers - 1; })) << Layers();
}

TEST_F(ImageVolumesTest, TakeNoPlaceOfAFile) {
  const std::string pod = RunPod();
  for (const char* path : {"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}) {
    cri::ContainerConfig config = Shell("true");
    AddImage(&config, path, "");
    const grpc::Status status = Refused(pod, config);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << path;
    EXPECT_THAT(status.error_message(), AllOf(HasSubstr(kName), HasSubstr(path)));
  }
  const std::string log = absl::StrCat(node_.directory(), "/log");
  ASSERT_TRUE(Host().ReplaceFile(log, "", 0644).ok());
  cri::ContainerConfig config = Shell("true");
  AddImage(&config, "/dev/termination-log", "");
  AddMount(&config, log, "/dev/termination-log");
  const grpc::Status status = Refused(pod, config);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr(kName), HasSubstr("/dev/termination-log"), HasSubstr(log)));
}

TEST_F(ImageVolumesTest, RefusalsNameWhatIsMissing) {
  const std::string pod = RunPod();
  for (const char* part : {"nowhere", "one", "outside"}) {
    cri::ContainerConfig config = Shell("true");
    AddImage(&config, "/all", part);
    const grpc::Status status = Refused(pod, config);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << part;
    EXPECT_THAT(status.error_message(), HasSubstr(part));
  }
  cri::ContainerConfig config = Shell("true");
  AddImage(&config, "/all", "")->mutable_image()->set_image("registry.test/missing:1");
  const grpc::Status status = Refused(pod, config);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("registry.test/missing:1"));
}

class NoexecImageVolumesTest : public ImageVolumesTest {
 protected:
  NoexecImageVolumesTest() : ImageVolumesTest("image_volumes: noexec\n") {}
};

TEST_F(NoexecImageVolumesTest, ProgramsInThemDoNotRun) {
  cri::ContainerConfig config =
      Shell("/part/program 2>/dev/null; echo $?; grep ' /part ' /proc/mounts");
  AddImage(&config, "/part", "part");
  EXPECT_THAT(RunToEnd(config), ContainsRegex("^126\n.* ro,nosuid,nodev,noexec"));
}

// Options of a file system belong to its superblock: a new mount of ours must not change those that
// the machine's own mounts have.
TEST_F(MountsTest, APodLeavesTheOptionsOfFileSystems) {
  // The kernel uses an id again, and other tests may run beside.
  using Place = std::pair<int, std::string>;
  std::map<Place, std::string> before;
  const auto options = [] {
    std::map<Place, std::string> all;
    const auto mounts = linux::ReadMounts(Host());
    EXPECT_TRUE(mounts.ok()) << mounts.status();
    for (const linux::MountInfo& each : *mounts) {
      all[{each.id, each.mount_point}] =
          absl::StrCat(each.fs_type, " ", absl::StrJoin(each.super_options, ","));
    }
    return all;
  };
  const auto expect_same = [&](const char* when) {
    const std::map<Place, std::string> now = options();
    for (const auto& [place, text] : before) {
      const auto found = now.find(place);
      if (found == now.end()) continue;
      EXPECT_EQ(found->second, text) << place.second << " " << when;
    }
  };
  before = options();
  for (const bool privileged : {true, false}) {
    for (const auto mode : {cri::NODE, cri::CONTAINER}) {
      cri::PodSandboxConfig pod_config = PodConfig();
      cri::ContainerConfig config = Shell("sleep 1000");
      const auto set = [&](auto* security) {
        security->set_privileged(privileged);
        security->set_readonly_rootfs(!privileged);
        security->mutable_namespace_options()->set_pid(mode);
        security->mutable_namespace_options()->set_ipc(mode == cri::NODE ? cri::NODE : cri::POD);
        security->mutable_namespace_options()->set_network(mode == cri::NODE ? cri::NODE
                                                                             : cri::POD);
      };
      set(pod_config.mutable_linux()->mutable_security_context());
      set(config.mutable_linux()->mutable_security_context());
      const std::string pod = RunPod(pod_config);
      const std::string id = Start(pod, config);
      expect_same("while it runs");
      if (privileged) {
        ExecOutput(id, "ls /sys/fs/cgroup | grep -q .");
        expect_same("after a command in it");
      }
      EXPECT_TRUE(StopContainer(id, 0).ok());
      EXPECT_TRUE(RemoveContainer(id).ok());
      EXPECT_TRUE(StopPod(pod).ok());
      EXPECT_TRUE(RemovePod(pod).ok());
      expect_same("after its removal");
    }
  }
}

}  // namespace
}  // namespace plimsoll::testing
