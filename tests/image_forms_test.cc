// Images in the forms that build tools write, run by the real daemon.
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "image/image_for_test.h"
#include "image/tar_for_test.h"

namespace plimsoll::testing {
namespace {

using image::TarBuilder;
using image::TestJson;
using image::TestLayout;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ImageFormsTest : public NodeTest {
 protected:
  explicit ImageFormsTest(const std::string& configuration = "") : NodeTest(configuration) {}

  // A layer with a shell and some commands; `prefix` begins each name.
  static TarBuilder Base(const std::string& prefix = "") {
    const auto busybox = FindProgram("busybox");
    EXPECT_TRUE(busybox.ok()) << busybox.status();
    TarBuilder tar;
    tar.File(prefix + "bin/busybox", *Host().Read(*busybox), {.mode = 0755});
    for (const char* name : {"cat", "echo", "id", "ls", "ln", "mkdir", "pwd", "rm", "sh", "sleep",
                             "stat", "touch", "dd", "test", "readlink"}) {
      tar.HardLink(absl::StrCat(prefix, "bin/", name), prefix + "bin/busybox");
    }
    tar.File(prefix + "etc/passwd",
             "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000:app:/home/app:/bin/sh\n");
    tar.File(prefix + "etc/group", "root:x:0:\napp:x:1000:\nextra:x:2000:app\n");
    return tar;
  }
  static TestJson VolumesAt(const std::vector<std::string>& paths) {
    TestJson volumes = TestJson::object();
    for (const std::string& path : paths) volumes[path] = TestJson::object();
    return {{"Volumes", volumes}};
  }
  void ImportForm(const std::vector<std::string>& layers, const TestJson& config,
                  const std::string& name = "form") {
    TestLayout layout;
    layout.List(layout.AddImage(layers, config));
    const auto directory = FsRoot::Open(node_.directory());
    ASSERT_TRUE(directory.ok()) << directory.status();
    ASSERT_NO_FATAL_FAILURE(layout.WriteTo(*directory, name));
    const grpc::Status status = Import(directory->PathOf(name), name);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  cri::ContainerConfig Form(const std::string& script, bool readonly = false) {
    cri::ContainerConfig config = Shell(script);
    config.mutable_image()->set_image("form");
    config.mutable_linux()->mutable_security_context()->set_readonly_rootfs(readonly);
    return config;
  }
  std::string RunToEnd(const cri::ContainerConfig& config) { return RunToEnd(RunPod(), config); }
  std::string RunToEnd(const std::string& pod, const cri::ContainerConfig& config) {
    const std::string id = Start(pod, config);
    AwaitExit(id);
    return Output(id);
  }
};

TEST_F(ImageFormsTest, AbsoluteNamesAsKanikoWritesThem) {
  ImportForm({Base("/").Build(),
              TarBuilder().Dir("/etc/").File("/etc/x", "x\n").HardLink("/y", "/etc/x").Build()},
             {});
  EXPECT_EQ(RunToEnd(Form("cat /etc/x /y; stat -c %h /y")), "x\nx\n2\n");
}

TEST_F(ImageFormsTest, AHardLinkToAFileOfALowerLayer) {
  ImportForm({Base().File("a/f", "content\n", {.mode = 0640, .uid = 1000, .gid = 2000}).Build(),
              TarBuilder().HardLink("b/f", "a/f").Build()},
             {});
  EXPECT_EQ(RunToEnd(Form("cat /b/f; stat -c '%a %u:%g %h' /a/f /b/f")),
            "content\n640 1000:2000 2\n640 1000:2000 2\n");
}

TEST_F(ImageFormsTest, LayersOfNoBytesAnEmptyGroupAndARelativeDirectory) {
  ImportForm({Base().Build(), ""}, {{"User", "app:"}, {"WorkingDir", "srv/work"}});
  EXPECT_EQ(RunToEnd(Form("pwd; id -u; id -G")), "/srv/work\n1000\n1000 2000\n");
  ImportForm({Base().Build()}, {{"User", "1000:"}}, "number");
  cri::ContainerConfig config = Form("id -u; id -G");
  config.mutable_image()->set_image("number");
  EXPECT_EQ(RunToEnd(config), "1000\n1000 2000\n");
}

// The request of a kubelet whose pod names no user.
TEST_F(ImageFormsTest, TheImagesOwnUserKeepsTheImagesGroup) {
  ImportForm({Base().Build()}, {{"User", "1000:2000"}});
  const std::string own = "1000\n2000\n2000\n";
  EXPECT_EQ(RunToEnd(Form("id -u; id -g; id -G")), own);
  cri::ContainerConfig config = Form("id -u; id -g; id -G");
  auto* security = config.mutable_linux()->mutable_security_context();
  security->mutable_run_as_user()->set_value(1000);
  EXPECT_EQ(RunToEnd(config), own);
  security->mutable_run_as_user()->set_value(1001);
  EXPECT_EQ(RunToEnd(config), "1001\n0\n0\n");
}

TEST_F(ImageFormsTest, AnImageWithoutLayersRunsWhatIsMounted) {
  ImportForm({}, TestJson::object());
  const auto busybox = FindProgram("busybox");
  cri::ContainerConfig config = Form("");
  config.clear_args();
  config.clear_command();
  for (const char* word : {"/busybox", "ls", "/"}) config.add_command(word);
  cri::Mount* mount = config.add_mounts();
  mount->set_host_path(*busybox);
  mount->set_container_path("/busybox");
  mount->set_readonly(true);
  EXPECT_THAT(RunToEnd(config), AllOf(HasSubstr("proc\n"), HasSubstr("busybox\n")));
}

std::string WithVolume() {
  return TarBuilder()
      .Dir("data/", {.mode = 01770, .uid = 1000, .gid = 2000})
      .File("data/seed", "from the image\n", {.mode = 0640, .uid = 1000, .gid = 2000})
      .Build();
}

TEST_F(ImageFormsTest, AnImageOfAnotherArchitectureIsSaidToBe) {
  TestLayout layout;
  const std::string base =
      Base()
          .File("bin/foreign", std::string("\177ELF\2\1\1", 7) + std::string(200, '\0'),
                {.mode = 0755})
          .Build();
  const TestJson file = {{"os", "linux"},
                         {"architecture", "s390x"},
                         {"rootfs", {{"diff_ids", {image::DigestOf(base)}}}}};
  layout.List(layout.AddManifest(
      file.dump(), {layout.AddBlob(image::Compress(base, "gzip"), image::kOciLayerType)}));
  const auto directory = FsRoot::Open(node_.directory());
  ASSERT_NO_FATAL_FAILURE(layout.WriteTo(*directory, "form"));
  const auto imported =
      RunProgram({.argv = {ProgramPath("plimsoll"), "--address", node_.address(), "image", "import",
                           directory->PathOf("form"), "--name", "form"}});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->err, HasSubstr("is for s390x, this machine is "));
  cri::ContainerConfig config = Form("");
  config.clear_args();
  config.clear_command();
  config.add_command("/bin/foreign");
  std::string id;
  ASSERT_TRUE(TryCreate(RunPod(), config, &id).ok());
  EXPECT_THAT(node_.Log(), HasSubstr("its image is for s390x, and this machine is "));
  EXPECT_FALSE(TryStart(id).ok());
  const std::string message = AwaitExit(id).message();
  EXPECT_THAT(message, HasSubstr("its image is for s390x, and this machine is "));
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(Status(id).message(), message);
}

constexpr char kUseVolume[] =
    "stat -c '%a %u:%g' /data /data/seed; cat /data/seed; echo more >> /data/seed; touch "
    "/data/new; "
    "echo $?; ls /data; touch /elsewhere 2>/dev/null; echo $?";

TEST_F(ImageFormsTest, AVolumeHasTheImagesContentAndIsWritable) {
  ImportForm({Base().Build(), WithVolume()}, VolumesAt({"/data", "/made/on/demand"}));
  const std::string begin = "1770 1000:2000\n640 1000:2000\nfrom the image\n0\nnew\nseed\n";
  EXPECT_EQ(RunToEnd(Form(kUseVolume)), begin + "0\n");
  EXPECT_EQ(RunToEnd(Form(kUseVolume, true)), begin + "1\n") << "each container has its own";
}

class UserImageFormsTest : public ImageFormsTest {
 protected:
  void SetUp() override {
    // Pods with user namespaces must be able to reach the run directory.
    ASSERT_EQ(chmod(node_.directory().c_str(), 0711), 0);
    ImageFormsTest::SetUp();
    if (HasFatalFailure()) return;
    grpc::ClientContext context;
    cri::StatusResponse response;
    ASSERT_TRUE(node_.runtime().Status(&context, {}, &response).ok());
    if (response.runtime_handlers(0).features().user_namespaces()) return;
    GTEST_SKIP() << "this machine has no user namespaces for pods";
  }
  cri::PodSandboxConfig UserPod() {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
        cri::CONTAINER);
    cri::UserNamespace* options = config.mutable_linux()
                                      ->mutable_security_context()
                                      ->mutable_namespace_options()
                                      ->mutable_userns_options();
    options->set_mode(cri::POD);
    for (cri::IDMapping* ids : {options->add_uids(), options->add_gids()}) {
      ids->set_host_id(1 << 20);
      ids->set_length(65536);
    }
    return config;
  }
};

TEST_F(UserImageFormsTest, AMountBelowALinkIsThePodsOwn) {
  ImportForm({Base().Symlink("data", "/mnt/data").Build()}, {});
  cri::ContainerConfig config = Form("stat -c %u:%g /mnt /mnt/data; ls /data/x");
  cri::Mount* mount = config.add_mounts();
  mount->set_host_path(absl::StrCat(node_.directory(), "/missing/deep"));
  mount->set_container_path("/data/x");
  ASSERT_EQ(chmod(node_.directory().c_str(), 0711), 0);
  EXPECT_EQ(RunToEnd(RunPod(UserPod()), config), "0:0\n0:0\n");
}

TEST_F(UserImageFormsTest, AVolumeIsThePodsOwn) {
  ImportForm({Base().Build(), WithVolume()}, VolumesAt({"/data", "/made/on/demand"}));
  const std::string pod = RunPod(UserPod());
  const std::string begin = "1770 1000:2000\n640 1000:2000\nfrom the image\n0\nnew\nseed\n";
  EXPECT_EQ(RunToEnd(pod, Form(kUseVolume)), begin + "0\n");
  EXPECT_EQ(RunToEnd(pod, Form("touch /made/on/demand/x; stat -c %u:%g /made/on/demand; ls /data; "
                               "touch /made/y 2>/dev/null; echo $?",
                               true)),
            "0:0\nseed\n1\n");
}

TEST_F(ImageFormsTest, AVolumeIsCountedAndEndsWithItsContainerAlsoAfterAKill) {
  ImportForm({Base().Build()}, VolumesAt({"/data"}));
  const std::string id =
      Start(RunPod(), Form("dd if=/dev/zero of=/data/big bs=1M count=8; sleep 1000", true));
  EXPECT_TRUE(Eventually([&] {
    grpc::ClientContext context;
    cri::ContainerStatsRequest request;
    request.set_container_id(id);
    cri::ContainerStatsResponse response;
    return node_.runtime().ContainerStats(&context, request, &response).ok() &&
           response.stats().writable_layer().used_bytes().value() >= 8u << 20;
  }));
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(ExecOutput(id, "touch /data/after; ls /data"), "after\nbig\n");
  ASSERT_TRUE(RemoveContainer(id).ok());
  EXPECT_FALSE(Host().Exists(absl::StrCat(node_.state_directory(), "/containers/", id)));
}

TEST_F(ImageFormsTest, MountsAtAndBelowAVolume) {
  ImportForm({Base().Build(), WithVolume()}, VolumesAt({"/data", "/other"}));
  const std::string volume = absl::StrCat(node_.directory(), "/volume");
  ASSERT_TRUE(Host().MakeDirs(volume, 0755).ok());
  ASSERT_TRUE(Host().ReplaceFile(volume + "/of-host", "").ok());
  cri::ContainerConfig config = Form("ls /data /other; touch /other/x; echo $?", true);
  for (const char* path : {"/data", "/other/sub"}) {
    cri::Mount* mount = config.add_mounts();
    mount->set_host_path(volume);
    mount->set_container_path(path);
  }
  EXPECT_EQ(RunToEnd(config), "/data:\nof-host\n\n/other:\nsub\n0\n");
}

TEST_F(ImageFormsTest, ALinkedVolumeStaysInsideTheRoot) {
  // The link's target exists on the host, too.
  const std::string outside = absl::StrCat(node_.directory(), "/outside");
  ASSERT_TRUE(Host().MakeDirs(outside, 0755).ok());
  ImportForm({Base()
                  .Dir("real/")
                  .Symlink("inside", "/real")
                  .Symlink("climbs", "../../../../real")
                  .Dir(outside.substr(1))
                  .Symlink("host", outside)
                  .Build()},
             VolumesAt({"/inside", "/climbs", "/host"}));
  EXPECT_EQ(
      RunToEnd(Form(absl::StrCat("touch /inside/a /climbs/b /host/c; ls /real ", outside), true)),
      absl::StrCat("/real:\na\nb\n\n", outside, ":\nc\n"));
  EXPECT_TRUE(Host().List(outside)->empty());
}

// Below links of the image that lead nowhere.
TEST_F(ImageFormsTest, AMountBelowALinkIsMadeInsideTheRoot) {
  const std::string outside = absl::StrCat(node_.directory(), "/outside");
  ASSERT_TRUE(Host().MakeDirs(outside, 0755).ok());
  ImportForm({Base()
                  .Symlink("var/run", "/run")
                  .Symlink("data", "/mnt/data")
                  .Symlink("climbs", "../../../../up")
                  .Symlink("host", outside)
                  .Symlink("etc/resolv.conf", "../run/resolve/stub")
                  .Build()},
             VolumesAt({"/data/volume"}));
  const std::string volume = absl::StrCat(node_.directory(), "/volume");
  ASSERT_TRUE(Host().MakeDirs(volume, 0755).ok());
  ASSERT_TRUE(Host().ReplaceFile(volume + "/file", "of the volume\n", 0644).ok());
  for (const bool readonly : {false, true}) {
    cri::ContainerConfig config = Form(
        absl::StrCat("cat /var/run/secrets/x/file /data/file /up/file ", outside,
                     "/in/file; touch /data/volume/x; echo $?; test -s /etc/resolv.conf; echo $?; "
                     "readlink /data"),
        readonly);
    for (const auto& [from, to] :
         {std::pair(volume, "/var/run/secrets/x"), std::pair(volume + "/file", "/data/file"),
          std::pair(volume, "/climbs"), std::pair(volume, "/host/in")}) {
      cri::Mount* mount = config.add_mounts();
      mount->set_host_path(from);
      mount->set_container_path(to);
    }
    EXPECT_EQ(RunToEnd(config),
              "of the volume\nof the volume\nof the volume\nof the volume\n0\n0\n/mnt/data\n");
  }
  EXPECT_TRUE(Host().List(outside)->empty());
  EXPECT_FALSE(Host().Exists("/up"));
}

TEST_F(ImageFormsTest, AMountThatCanNotBeMadeIsNamed) {
  ImportForm({Base().Symlink("link", "/etc/passwd/x").Symlink("circle", "circle").Build()}, {});
  const std::string pod = RunPod();
  for (const char* path : {"/link/a", "/circle/b", "/etc/passwd", "/etc/group/c"}) {
    cri::ContainerConfig config = Form("true");
    cri::Mount* mount = config.add_mounts();
    mount->set_host_path(node_.directory());
    mount->set_container_path(path);
    std::string id;
    const grpc::Status status = TryCreate(pod, config, &id);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << path;
    EXPECT_THAT(status.error_message(),
                HasSubstr(absl::StrCat("the mount at ", path, " can't be made")));
  }
}

TEST_F(ImageFormsTest, NestedVolumes) {
  ImportForm({Base().Build()}, VolumesAt({"/a/b/c", "/a"}));
  EXPECT_EQ(RunToEnd(Form("touch /a/x /a/b/x /a/b/c/x; echo $?; ls /a", true)), "0\nb\nx\n");
}

TEST_F(ImageFormsTest, VolumesThatCanNotBeAreRefused) {
  std::string id;
  ImportForm({Base().Build()}, VolumesAt({"/proc/x"}));
  grpc::Status status = TryCreate(RunPod(), Form("true"), &id);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("VOLUME \"/proc/x\""));
  for (const bool readonly : {false, true}) {
    ImportForm({Base().Build()}, VolumesAt({"/etc/passwd"}), absl::StrCat("file", readonly));
    cri::ContainerConfig config = Form("true", readonly);
    config.mutable_image()->set_image(absl::StrCat("file", readonly));
    status = TryCreate(RunPod(), config, &id);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("VOLUME /etc/passwd: Not a directory"));
  }
}

TEST_F(ImageFormsTest, AVolumeThatALinkLeadsToTheKernelsFilesIsRefused) {
  for (const char* target : {"/", ".", "/proc", "../sys", "/dev"}) {
    ImportForm({Base().Dir("proc/").Dir("sys/").Dir("dev/").Symlink("link", target).Build()},
               VolumesAt({"/link"}));
    std::string id;
    const grpc::Status status = TryCreate(RunPod(), Form("true", true), &id);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << target;
    EXPECT_THAT(status.error_message(), HasSubstr("VOLUME /link")) << target;
    EXPECT_EQ(RunToEnd(Form("echo runs")), "runs\n") << target << ": nothing is mounted there";
  }
}

class IgnoredVolumesTest : public ImageFormsTest {
 protected:
  IgnoredVolumesTest() : ImageFormsTest("volumes: ignore\n") {}
};

TEST_F(IgnoredVolumesTest, NothingIsMadeForThem) {
  ImportForm({Base().Build()}, VolumesAt({"/", "/data"}));
  EXPECT_EQ(RunToEnd(Form("ls -d /data 2>/dev/null || echo none")), "none\n");
}

}  // namespace
}  // namespace plimsoll::testing
