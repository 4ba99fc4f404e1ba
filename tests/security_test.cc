// Users, capabilities, seccomp and a container's view of the file system.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class SecurityTest : public NodeTest {
 protected:
  explicit SecurityTest(const std::string& configuration = "") : NodeTest(configuration) {}
  cri::LinuxContainerSecurityContext* Context(cri::ContainerConfig* config) {
    return config->mutable_linux()->mutable_security_context();
  }
  // Runs a container to its end and returns its output.
  std::string RunToEnd(const cri::ContainerConfig& config) {
    const std::string id = Start(RunPod(), config);
    AwaitExit(id);
    return Output(id);
  }
};

constexpr char kShowUser[] = "id -u; id -g; id -G";
constexpr char kShowCaps[] = "grep CapEff /proc/self/status";

TEST_F(SecurityTest, RootByDefault) {
  EXPECT_EQ(RunToEnd(Shell("id -u; id -g; pwd; echo $HOME")), "0\n0\n/\n/root\n");
}

TEST_F(SecurityTest, UserAndGroupsByNumber) {
  cri::ContainerConfig config = Shell(kShowUser);
  Context(&config)->mutable_run_as_user()->set_value(1234);
  Context(&config)->mutable_run_as_group()->set_value(4321);
  Context(&config)->add_supplemental_groups(77);
  EXPECT_EQ(RunToEnd(config), "1234\n4321\n4321 77\n");
}

TEST_F(SecurityTest, UserByNameTakesItsGroupsFromTheImage) {
  cri::ContainerConfig config = Shell(kShowUser);
  Context(&config)->set_run_as_username("app");
  const std::string id = Start(RunPod(), config);
  const cri::LinuxContainerUser user = AwaitExit(id).user().linux();
  EXPECT_EQ(Output(id), "1000\n1000\n1000 2000\n");
  EXPECT_EQ(user.uid(), 1000);
  EXPECT_EQ(user.gid(), 1000);
  EXPECT_THAT(user.supplemental_groups(), ElementsAre(1000, 2000));
}

TEST_F(SecurityTest, StrictGroupsIgnoreTheImages) {
  cri::ContainerConfig config = Shell(kShowUser);
  Context(&config)->mutable_run_as_user()->set_value(1000);
  Context(&config)->add_supplemental_groups(77);
  Context(&config)->set_supplemental_groups_policy(cri::Strict);
  EXPECT_EQ(RunToEnd(config), "1000\n1000\n1000 77\n");
}

TEST_F(SecurityTest, MergedGroupsAreTheImagesAndThePods) {
  cri::ContainerConfig config = Shell(kShowUser);
  Context(&config)->mutable_run_as_user()->set_value(1000);
  Context(&config)->add_supplemental_groups(77);
  EXPECT_EQ(RunToEnd(config), "1000\n1000\n1000 77 2000\n");
}

TEST_F(SecurityTest, AGroupWithoutAUserIsRefused) {
  cri::ContainerConfig config = Shell(kShowUser);
  Context(&config)->mutable_run_as_group()->set_value(1000);
  std::string id;
  const grpc::Status status = TryCreate(RunPod(), config, &id);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("run_as_group"));
  cri::PodSandboxConfig pod = PodConfig();
  pod.mutable_linux()->mutable_security_context()->mutable_run_as_group()->set_value(1000);
  EXPECT_EQ(TryRunPod(pod, &id).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(SecurityTest, AnUnknownUserIsAClearError) {
  cri::ContainerConfig config = Shell(kShowUser);
  Context(&config)->set_run_as_username("nobody-there");
  std::string id;
  const grpc::Status status = TryCreate(RunPod(), config, &id);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.error_message(), HasSubstr("nobody-there"));
}

TEST_F(SecurityTest, DefaultCapabilitiesAreTheFieldsUsualFourteen) {
  EXPECT_THAT(RunToEnd(Shell(kShowCaps)), HasSubstr("00000000a80425fb"));
}

TEST_F(SecurityTest, CapabilitiesAreAddedAndDropped) {
  cri::ContainerConfig config = Shell(kShowCaps);
  Context(&config)->mutable_capabilities()->add_drop_capabilities("ALL");
  Context(&config)->mutable_capabilities()->add_add_capabilities("NET_ADMIN");
  EXPECT_THAT(RunToEnd(config), HasSubstr("0000000000001000"));
}

TEST_F(SecurityTest, AnUnknownCapabilityIsRefused) {
  cri::ContainerConfig config = Shell(kShowCaps);
  Context(&config)->mutable_capabilities()->add_add_capabilities("FLY");
  std::string id;
  const grpc::Status status = TryCreate(RunPod(), config, &id);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("FLY"));
}

TEST_F(SecurityTest, OtherUsersHaveNoCapabilities) {
  cri::ContainerConfig config = Shell(kShowCaps);
  Context(&config)->mutable_run_as_user()->set_value(1000);
  EXPECT_THAT(RunToEnd(config), HasSubstr("0000000000000000"));
}

TEST_F(SecurityTest, AmbientCapabilitiesAreOtherUsersToo) {
  cri::ContainerConfig config = Shell(kShowCaps);
  Context(&config)->mutable_run_as_user()->set_value(1000);
  Context(&config)->mutable_capabilities()->add_drop_capabilities("ALL");
  Context(&config)->mutable_capabilities()->add_add_ambient_capabilities("NET_BIND_SERVICE");
  EXPECT_THAT(RunToEnd(config), HasSubstr("0000000000000400"));
}

TEST_F(SecurityTest, PrivilegedNeedsAPrivilegedSandbox) {
  cri::ContainerConfig config = Shell("mount -t tmpfs none /tmp && echo mounted");
  Context(&config)->set_privileged(true);
  std::string id;
  EXPECT_EQ(TryCreate(RunPod(), config, &id).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  cri::PodSandboxConfig pod = PodConfig();
  pod.mutable_linux()->mutable_security_context()->set_privileged(true);
  // A container doesn't get a capability that this process lacks.
  const std::string privileged = Start(RunPod(pod), config);
  EXPECT_EQ(AwaitExit(privileged).exit_code(), 0);
  EXPECT_EQ(Output(privileged), "mounted\n");
}

TEST_F(SecurityTest, NoNewPrivsIsSet) {
  cri::ContainerConfig config = Shell("grep NoNewPrivs /proc/self/status");
  Context(&config)->set_no_new_privs(true);
  EXPECT_THAT(RunToEnd(config), HasSubstr("\t1"));
}

TEST_F(SecurityTest, SeccompUnsetIsUnconfinedAndDefaultFilters) {
  const char* show = "grep Seccomp: /proc/self/status; unshare -U true 2>&1; echo $?";
  EXPECT_THAT(RunToEnd(Shell(show)), HasSubstr("\t0\n"));
  cri::ContainerConfig config = Shell(show);
  Context(&config)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::RuntimeDefault);
  const std::string output = RunToEnd(config);
  EXPECT_THAT(output, HasSubstr("\t2\n"));
  EXPECT_THAT(output, HasSubstr("Operation not permitted"));
}

TEST_F(SecurityTest, ALocalhostProfileIsCompiledAndEnforced) {
  const std::string path = absl::StrCat(node_.directory(), "/profile.json");
  ASSERT_TRUE(Host()
                  .ReplaceFile(path,
                               R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
                                   {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}]})")
                  .ok());
  cri::ContainerConfig config = Shell("mkdir /tmp/x 2>&1; echo $?");
  Context(&config)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::Localhost);
  Context(&config)->mutable_seccomp()->set_localhost_ref(path);
  EXPECT_THAT(RunToEnd(config), HasSubstr("Operation not permitted\n1\n"));
}

TEST_F(SecurityTest, ABrokenLocalhostProfileNamesTheFile) {
  const std::string path = absl::StrCat(node_.directory(), "/broken.json");
  ASSERT_TRUE(Host().ReplaceFile(path, "{").ok());
  cri::ContainerConfig config = Shell("true");
  Context(&config)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::Localhost);
  Context(&config)->mutable_seccomp()->set_localhost_ref(path);
  std::string id;
  EXPECT_THAT(TryCreate(RunPod(), config, &id).error_message(), HasSubstr(path));
}

// If the kernel has AppArmor, a profile must be loaded; otherwise any profile is refused.
TEST_F(SecurityTest, AppArmorProfilesThatCannotBeHadAreRefused) {
  const auto enabled = Host().Read("sys/module/apparmor/parameters/enabled");
  const bool has_it = enabled.ok() && *enabled == "Y\n";
  cri::ContainerConfig config = Shell("echo ran");
  cri::SecurityProfile* profile = Context(&config)->mutable_apparmor();
  profile->set_profile_type(cri::SecurityProfile::Unconfined);
  EXPECT_EQ(RunToEnd(config), "ran\n");
  const std::string pod = RunPod();
  std::string id;
  profile->set_profile_type(cri::SecurityProfile::Localhost);
  profile->set_localhost_ref("plimsoll-test-no-such-profile");
  const grpc::Status missing = TryCreate(pod, config, &id);
  EXPECT_FALSE(missing.ok());
  EXPECT_THAT(missing.error_message(), HasSubstr(has_it ? "apparmor: no profile" : "no AppArmor"));
  if (has_it) return;
  EXPECT_EQ(missing.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  profile->set_profile_type(cri::SecurityProfile::RuntimeDefault);
  const grpc::Status standard = TryCreate(pod, config, &id);
  EXPECT_EQ(standard.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(standard.error_message(), HasSubstr("no AppArmor"));
}

TEST_F(SecurityTest, AProfileThatIsNoFileIsNotWaitedFor) {
  const std::string path = absl::StrCat(node_.directory(), "/fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  cri::ContainerConfig config = Shell("true");
  Context(&config)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::Localhost);
  Context(&config)->mutable_seccomp()->set_localhost_ref(path);
  std::string id;
  const grpc::Status status = TryCreate(RunPod(), config, &id);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("no regular file"));
}

TEST_F(SecurityTest, ReadOnlyRootIsReadOnlyAndWritableIsPrivate) {
  cri::ContainerConfig config = Shell("touch /x 2>&1; echo $?");
  EXPECT_EQ(RunToEnd(config), "0\n");
  cri::ContainerConfig readonly = Shell("touch /y 2>&1; echo $?");
  Context(&readonly)->set_readonly_rootfs(true);
  EXPECT_THAT(RunToEnd(readonly), HasSubstr("Read-only file system\n1\n"));
  EXPECT_EQ(RunToEnd(Shell("ls /x 2>/dev/null; echo $?")), "1\n") << "another's write is not seen";
}

TEST_F(SecurityTest, MaskedAndReadonlyPaths) {
  cri::ContainerConfig config =
      Shell("wc -c < /proc/keys; echo 1 2>/dev/null > /proc/sys/kernel/panic; echo $?");
  Context(&config)->add_masked_paths("/proc/keys");
  Context(&config)->add_readonly_paths("/proc/sys");
  EXPECT_EQ(RunToEnd(config), "0\n1\n");
}

TEST_F(SecurityTest, VolumesAreMountedAsAsked) {
  const std::string volume = absl::StrCat(node_.directory(), "/volume");
  ASSERT_TRUE(Host().MakeDirs(volume, 0755).ok());
  ASSERT_TRUE(Host().ReplaceFile(volume + "/in", "from the host\n").ok());
  cri::ContainerConfig config =
      Shell("cat /ro/in; echo x > /rw/out; echo x 2>/dev/null > /ro/no; echo $?");
  cri::Mount* rw = config.add_mounts();
  rw->set_host_path(volume);
  rw->set_container_path("/rw");
  cri::Mount* ro = config.add_mounts();
  ro->set_host_path(volume);
  ro->set_container_path("/ro");
  ro->set_readonly(true);
  EXPECT_EQ(RunToEnd(config), "from the host\n1\n");
  EXPECT_EQ(*Host().Read(volume + "/out"), "x\n");
}

void AddVolume(const std::string& host_path, const std::string& path,
               cri::ContainerConfig* config) {
  cri::Mount* mount = config->add_mounts();
  mount->set_host_path(host_path);
  mount->set_container_path(path);
}

// A link in a volume (it could be in the image) leads from a mount's path to the kernel's files,
// past the masked and read-only paths.
TEST_F(SecurityTest, ALinkDoesNotLeadMountsIntoTheKernelsDirectories) {
  const std::string volume = absl::StrCat(node_.directory(), "/volume");
  ASSERT_TRUE(Host().MakeDirs(volume, 0755).ok());
  ASSERT_TRUE(Host().ReplaceFile(volume + "/file", "ours\n").ok());
  const std::string pod = RunPod();
  for (const auto& [to, at] : std::vector<std::pair<std::string, std::string>>{
           {"/proc/self/attr", "exec"}, {"/proc/sys/kernel", "core_pattern"}, {"/dev", "null"}}) {
    const std::string link = absl::StrCat(volume, "/link");
    ASSERT_EQ(symlink(to.c_str(), link.c_str()), 0);
    cri::ContainerConfig config = Shell("true");
    AddVolume(volume, "/vol", &config);
    AddVolume(volume + "/file", absl::StrCat("/vol/link/", at), &config);
    std::string id;
    const grpc::Status refused = TryCreate(pod, config, &id);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << to;
    EXPECT_THAT(refused.error_message(),
                AllOf(HasSubstr("a mount"), HasSubstr(absl::StrCat("/", at)),
                      HasSubstr("a symbolic link of the image, or of a volume")));
    ASSERT_EQ(unlink(link.c_str()), 0);
  }
}

// A sibling with the same volume swaps the link while containers are made.
TEST_F(SecurityTest, ALinkThatIsSwappedMeanwhileDoesNotEither) {
  const std::string volume = absl::StrCat(node_.directory(), "/volume");
  ASSERT_TRUE(Host().MakeDirs(volume + "/plain", 0755).ok());
  ASSERT_TRUE(Host().ReplaceFile(volume + "/plain/panic", "").ok());
  ASSERT_TRUE(Host().ReplaceFile(volume + "/file", "ours\n").ok());
  ASSERT_EQ(symlink("/proc/sys/kernel", (volume + "/away").c_str()), 0);
  ASSERT_EQ(symlink("plain", (volume + "/link").c_str()), 0);
  std::atomic<bool> done = false;
  std::thread swaps([&] {
    while (!done) {
      renameat2(AT_FDCWD, (volume + "/away").c_str(), AT_FDCWD, (volume + "/link").c_str(),
                RENAME_EXCHANGE);
    }
  });
  const std::string pod = RunPod();
  int made = 0;
  // How many are refused is up to the machine's speed.
  const absl::Time limit = absl::Now() + Patience(absl::Minutes(1));
  for (int i = 0; i < 20 || (made == 0 && absl::Now() < limit); ++i) {
    cri::ContainerConfig config = Shell("cat /proc/sys/kernel/panic");
    config.mutable_metadata()->set_name(absl::StrCat("c", i));
    AddVolume(volume, "/vol", &config);
    AddVolume(volume + "/file", "/vol/link/panic", &config);
    std::string id;
    if (!TryCreate(pod, config, &id).ok() || !TryStart(id).ok()) continue;
    AwaitExit(id);
    EXPECT_NE(Output(id), "ours\n");
    ++made;
  }
  done = true;
  swaps.join();
  EXPECT_GT(made, 0) << "or nothing was tried";
}

// Mounts of lxcfs, Cilium, cAdvisor and node-exporter, as in their manifests.
TEST_F(SecurityTest, MountsInTheKernelsDirectoriesThatAreAskedForStay) {
  const std::string volume = absl::StrCat(node_.directory(), "/volume");
  ASSERT_TRUE(Host().MakeDirs(volume, 0755).ok());
  ASSERT_TRUE(Host().ReplaceFile(volume + "/meminfo", "MemTotal: 1 kB\n").ok());
  cri::ContainerConfig lxcfs = Shell("cat /proc/meminfo");
  AddVolume(volume + "/meminfo", "/proc/meminfo", &lxcfs);
  EXPECT_EQ(RunToEnd(lxcfs), "MemTotal: 1 kB\n");
  cri::ContainerConfig cilium = Shell("ls /sys/fs/cgroup");
  AddVolume(volume, "/sys/fs/cgroup", &cilium);
  EXPECT_EQ(RunToEnd(cilium), "meminfo\n");
  cri::ContainerConfig cadvisor = Shell("ls -d /rootfs/etc /sys/fs /dev/disk");
  for (const auto& [host, path] : std::vector<std::pair<std::string, std::string>>{
           {"/", "/rootfs"}, {"/sys", "/sys"}, {volume, "/dev/disk"}}) {
    AddVolume(host, path, &cadvisor);
    cadvisor.mutable_mounts()->rbegin()->set_readonly(true);
  }
  EXPECT_EQ(RunToEnd(cadvisor), "/dev/disk\n/rootfs/etc\n/sys/fs\n");
  cri::ContainerConfig exporter = Shell("ls -d /host/proc/self/status /host/sys/fs");
  AddVolume("/proc", "/host/proc", &exporter);
  AddVolume("/sys", "/host/sys", &exporter);
  EXPECT_EQ(RunToEnd(exporter), "/host/proc/self/status\n/host/sys/fs\n");
  cri::ContainerConfig keys = Shell("true");
  AddVolume(volume + "/meminfo", "/proc/keys", &keys);
  std::string id;
  const grpc::Status refused = TryCreate(RunPod(), keys, &id);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("a mount at /proc/keys"));
}

// A mount made below a volume after the container's start.
TEST_F(SecurityTest, LaterMountsArriveAsThePropagationSays) {
  const std::string volume = absl::StrCat(node_.directory(), "/volume");
  ASSERT_TRUE(Host().MakeDirs(volume + "/late", 0755).ok());
  ASSERT_EQ(mount(volume.c_str(), volume.c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(mount(nullptr, volume.c_str(), nullptr, MS_SHARED, nullptr), 0);
  const absl::Cleanup unmount = [&] { linux::UnmountBelow(Host(), volume).IgnoreError(); };
  cri::ContainerConfig config = Shell("sleep 1000");
  for (const auto& [path, propagation] : {std::pair("/private", cri::PROPAGATION_PRIVATE),
                                          {"/slave", cri::PROPAGATION_HOST_TO_CONTAINER}}) {
    cri::Mount* added = config.add_mounts();
    added->set_host_path(volume);
    added->set_container_path(path);
    added->set_propagation(propagation);
  }
  const std::string id = Start(RunPod(), config);
  ASSERT_EQ(mount("plimsoll-test", (volume + "/late").c_str(), "tmpfs", 0, "size=4k"), 0);
  EXPECT_EQ(ExecOutput(id, "grep -c ' /slave/late tmpfs' /proc/mounts"), "1\n");
  EXPECT_EQ(ExecOutput(id, "grep -c ' /private/late ' /proc/mounts || true"), "0\n");
  ASSERT_TRUE(StopContainer(id, 0).ok());
}

TEST_F(SecurityTest, TheDaemonsSocketIsNotInTheContainer) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_THAT(ExecOutput(id, "cat /proc/self/mountinfo"), Not(HasSubstr("plimsoll.sock")));
}

TEST_F(SecurityTest, TheRootFilesystemIsNeverMountedOnTheHost) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_THAT(ExecOutput(id, "cat /proc/mounts"), HasSubstr(" / overlay "));
  for (const std::string& mount : MountsBelow(node_.directory())) {
    EXPECT_THAT(mount, Not(HasSubstr("rootfs")));
  }
}

// The container's root may change the mode of any file that it has open.
TEST_F(SecurityTest, StandardInputIsNotTheMachinesNullDevice) {
  struct stat machines = {};
  ASSERT_EQ(stat("/dev/null", &machines), 0);
  const std::string machines_node = absl::StrCat(machines.st_dev, ":", machines.st_ino, " 1:3\n");
  const std::string look = "stat -L -c '%d:%i %t:%T' /proc/self/fd/0";
  const std::string id = Start(RunPod(), Shell(absl::StrCat(look, "; sleep 1000")));
  ASSERT_TRUE(Eventually([&] { return !Output(id).empty(); }));
  EXPECT_THAT(Output(id), EndsWith(" 1:3\n"));
  EXPECT_NE(Output(id), machines_node);
  EXPECT_THAT(ExecOutput(id, look), EndsWith(" 1:3\n"));
  EXPECT_NE(ExecOutput(id, look), machines_node);
}

TEST_F(SecurityTest, DevicesAreGivenByNameOnly) {
  EXPECT_EQ(RunToEnd(Shell("ls /dev/loop-control 2>/dev/null; echo $?")), "1\n");
  cri::ContainerConfig config = Shell("test -c /dev/mine && head -c 1 /dev/mine | wc -c");
  cri::Device* device = config.add_devices();
  device->set_host_path("/dev/zero");
  device->set_container_path("/dev/mine");
  device->set_permissions("r");
  EXPECT_EQ(RunToEnd(config), "1\n");
}

TEST_F(SecurityTest, ADirectoryOfDevicesIsGivenWhole) {
  const std::string devices = absl::StrCat(node_.directory(), "/devices");
  ASSERT_TRUE(Host().MakeDirs(devices + "/below", 0755).ok());
  ASSERT_EQ(mknod((devices + "/z").c_str(), S_IFCHR | 0666, makedev(1, 5)), 0);
  ASSERT_EQ(mknod((devices + "/below/n").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  cri::ContainerConfig config =
      Shell("head -c 1 /dev/mine/z | wc -c; test -c /dev/mine/below/n; echo $?");
  cri::Device* device = config.add_devices();
  device->set_host_path(devices);
  device->set_container_path("/dev/mine");
  device->set_permissions("rw");
  EXPECT_EQ(RunToEnd(config), "1\n0\n");
  device->set_host_path(devices + "/missing");
  std::string id;
  const grpc::Status status = TryCreate(RunPod(), config, &id);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr(devices + "/missing"));
  EXPECT_FALSE(Host().Exists(devices + "/missing"));
}

TEST_F(SecurityTest, WithCgroupV2AContainerSeesItsOwnGroupAsTheRoot) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell("sleep 1000"));
  const std::string shown = ExecOutput(id, "cat /proc/1/cgroup");
  if (Cgroups().layout() == linux::CgroupLayout::kV2) {
    EXPECT_EQ(shown, "0::/\n");
  } else {
    EXPECT_THAT(shown, HasSubstr(id)) << "cgroup v1 has no namespace that would be worth it";
  }
}

constexpr char kShowNetworkRights[] =
    "cd /proc/sys/net/ipv4; cat ip_unprivileged_port_start ping_group_range; "
    "busybox timeout 1 busybox nc -l -p 80 </dev/null >/dev/null 2>&1; echo $?";

TEST_F(SecurityTest, EveryUserMayListenBelowPort1024AndPing) {
  cri::ContainerConfig config = Shell(kShowNetworkRights);
  Context(&config)->mutable_run_as_user()->set_value(1234);
  Context(&config)->mutable_capabilities()->add_drop_capabilities("ALL");
  EXPECT_EQ(RunToEnd(config), "0\n0\t2147483647\n143\n") << "143: it listened until the end";
  cri::PodSandboxConfig of_host = PodConfig();
  of_host.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
      cri::NODE);
  const std::string before = *Host().Read("proc/sys/net/ipv4/ping_group_range");
  RunPod(of_host);
  EXPECT_EQ(*Host().Read("proc/sys/net/ipv4/ip_unprivileged_port_start"), "1024\n");
  EXPECT_EQ(*Host().Read("proc/sys/net/ipv4/ping_group_range"), before);
}

class WithoutNetworkRightsTest : public SecurityTest {
 protected:
  WithoutNetworkRightsTest()
      : SecurityTest("network: {unprivileged_ports: false, unprivileged_ping: false}\n") {}
};

TEST_F(WithoutNetworkRightsTest, ThatTakesCapabilities) {
  cri::ContainerConfig config = Shell(kShowNetworkRights);
  Context(&config)->mutable_run_as_user()->set_value(1234);
  EXPECT_EQ(RunToEnd(config), "1024\n1\t0\n1\n");
}

constexpr char kShowBytes[] = "printf %s \"$BYTES\" | busybox od -An -tx1; echo $TEXT";
constexpr char kShownBytes[] = " 61 ff fe 80 5c 7a\ntext \xc3\xa4\n";

class VariablesTest : public SecurityTest {
 protected:
  static void AddBytes(cri::ContainerConfig* config) {
    for (const auto& [key, value] :
         {std::pair("BYTES", "a\xff\xfe\x80\\z"), std::pair("TEXT", "text \xc3\xa4")}) {
      cri::KeyValue* variable = config->add_envs();
      variable->set_key(key);
      variable->set_value(value);
    }
  }
};

TEST_F(VariablesTest, AreAnyBytes) {
  cri::ContainerConfig config = Shell(
      absl::StrCat(kShowBytes, "; ls /proc/1/fd; head -c 7 /proc/1/cmdline; echo; sleep 1000"));
  AddBytes(&config);
  Context(&config)->mutable_run_as_user()->set_value(1234);
  Context(&config)->set_no_new_privs(true);
  Context(&config)->mutable_seccomp()->set_profile_type(cri::SecurityProfile::RuntimeDefault);
  const std::string id = Start(RunPod(), config);
  const std::string all = absl::StrCat(kShownBytes, "0\n1\n2\n/bin/sh\n");
  EXPECT_TRUE(Eventually([&] { return Output(id) == all; })) << Output(id);
  EXPECT_EQ(ExecOutput(id, kShowBytes), kShownBytes);
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(ExecOutput(id, kShowBytes), kShownBytes);
}

TEST_F(VariablesTest, OfAMissingProgramAreTold) {
  cri::ContainerConfig config = Shell("");
  AddBytes(&config);
  config.clear_args();
  config.set_command(0, "nothing-of-that-name");
  const std::string id = Start(RunPod(), config);
  EXPECT_EQ(AwaitExit(id).exit_code(), 127);
  EXPECT_THAT(Output(id), HasSubstr("execute nothing-of-that-name: No such file or directory"));
}

TEST_F(SecurityTest, EnvironmentAndWorkingDirectory) {
  cri::ContainerConfig config = Shell("echo $GREETING; pwd");
  cri::KeyValue* env = config.add_envs();
  env->set_key("GREETING");
  env->set_value("hello world");
  config.set_working_dir("/var/made/on/demand");
  EXPECT_EQ(RunToEnd(config), "hello world\n/var/made/on/demand\n");
}

}  // namespace
}  // namespace plimsoll::testing
