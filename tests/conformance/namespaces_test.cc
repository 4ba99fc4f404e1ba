// Namespaces: shared in the pod, shared with the host, and private.
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class NamespaceTest : public CriTest {
 protected:
  cri::PodSandboxConfig PodWithPid(cri::NamespaceMode mode) {
    cri::PodSandboxConfig config = PodConfig();
    Security(&config)->mutable_namespace_options()->set_pid(mode);
    return config;
  }
  std::string NamespaceOf(const std::string& container, const std::string& name) {
    return Exec(container, absl::StrCat("readlink /proc/self/ns/", name));
  }
  // The host's namespace, in which this suite runs.
  static std::string HostNamespace(const std::string& name) {
    char link[64] = {};
    const std::string path = absl::StrCat("/proc/self/ns/", name);
    EXPECT_GT(readlink(path.c_str(), link, sizeof(link) - 1), 0) << path;
    return absl::StrCat(link, "\n");
  }
};

PROMISE_TEST(NamespaceTest, PidsOfAContainerAreItsOwn,
             "With pid CONTAINER each container is process 1 of a namespace of its own") {
  const std::string pod = RunPod(PodWithPid(cri::CONTAINER));
  const std::string one = Start(pod, Sleeper());
  const std::string two = Start(pod, Sleeper());
  EXPECT_NE(NamespaceOf(one, "pid"), NamespaceOf(two, "pid"));
  EXPECT_EQ(RunToEnd(Shell("echo $$"), pod), "1\n");
}

PROMISE_TEST(NamespaceTest, PidsOfAPodAreShared,
             "With pid POD a pod's containers see each other's processes, and none of them is "
             "process 1") {
  const std::string pod = RunPod(PodWithPid(cri::POD));
  const std::string one = Start(pod, Shell("trap 'exit 0' TERM; sleep 55555 & wait"));
  const std::string two = Start(pod, Sleeper());
  EXPECT_EQ(NamespaceOf(one, "pid"), NamespaceOf(two, "pid"));
  EXPECT_NE(NamespaceOf(one, "pid"), HostNamespace("pid"));
  EXPECT_THAT(Exec(two, "ps"), HasSubstr("sleep 55555"));
  EXPECT_NE(RunToEnd(Shell("echo $$"), pod), "1\n");
}

PROMISE_TEST(NamespaceTest, ASharedPidNamespaceOutlivesItsContainers,
             "With pid POD the end of one container, also of the first, leaves the others alone") {
  const std::string pod = RunPod(PodWithPid(cri::POD));
  const std::string first = Start(pod, Sleeper());
  const std::string second = Start(pod, Sleeper());
  ASSERT_OK(StopContainer(first, 0));
  EXPECT_EQ(Status(first).state(), cri::CONTAINER_EXITED);
  EXPECT_EQ(Exec(second, "echo still here"), "still here\n");
  const std::string third = Start(pod, Sleeper());
  EXPECT_EQ(NamespaceOf(second, "pid"), NamespaceOf(third, "pid"));
}

PROMISE_TEST(NamespaceTest, PidsOfTheNodeAreTheHosts,
             "With pid NODE a container sees the host's processes") {
  const std::string id = Start(RunPod(PodWithPid(cri::NODE)), Sleeper());
  EXPECT_EQ(NamespaceOf(id, "pid"), HostNamespace("pid"));
}

PROMISE_TEST(NamespaceTest, PidsOfATargetAreThatContainers,
             "With pid TARGET a container joins the PID namespace of another of its pod") {
  const std::string pod = RunPod(PodWithPid(cri::CONTAINER));
  const std::string target = Start(pod, Shell("trap 'exit 0' TERM; sleep 55556 & wait"));
  cri::ContainerConfig config = Sleeper();
  cri::NamespaceOption* namespaces = Security(&config)->mutable_namespace_options();
  namespaces->set_network(cri::NODE);
  namespaces->set_pid(cri::TARGET);
  namespaces->set_target_id(target);
  const std::string id = Start(pod, config);
  EXPECT_EQ(NamespaceOf(id, "pid"), NamespaceOf(target, "pid"));
  EXPECT_THAT(Exec(id, "ps"), HasSubstr("sleep 55556"));
}

PROMISE_TEST(NamespaceTest, ATargetThatIsNotThereIsRefused,
             "pid TARGET with a container that isn't there is refused") {
  const std::string pod = RunPod(PodWithPid(cri::CONTAINER));
  cri::ContainerConfig config = Sleeper();
  cri::NamespaceOption* namespaces = Security(&config)->mutable_namespace_options();
  namespaces->set_network(cri::NODE);
  namespaces->set_pid(cri::TARGET);
  namespaces->set_target_id(std::string(64, '0'));
  const absl::Status status = TryCreateAndStart(pod, config);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), Not(IsEmpty()));
}

PROMISE_TEST(NamespaceTest, IpcAndShmOfAPodAreShared,
             "With ipc POD a pod's containers share System V IPC and /dev/shm, with each other and "
             "not with the host or another pod") {
  const std::string pod = RunPod();
  const std::string one = Start(pod, Sleeper());
  const std::string two = Start(pod, Sleeper());
  const std::string other = Start(RunPod(), Sleeper());
  EXPECT_EQ(NamespaceOf(one, "ipc"), NamespaceOf(two, "ipc"));
  EXPECT_NE(NamespaceOf(one, "ipc"), NamespaceOf(other, "ipc"));
  EXPECT_NE(NamespaceOf(one, "ipc"), HostNamespace("ipc"));
  Exec(one, "echo shared > /dev/shm/mark");
  EXPECT_EQ(Exec(two, "cat /dev/shm/mark"), "shared\n");
  EXPECT_EQ(Exec(other, "test -e /dev/shm/mark || echo none"), "none\n");
}

PROMISE_TEST(NamespaceTest, ShmHasRoom, "/dev/shm is a tmpfs of 64 MiB or more, for every user") {
  cri::ContainerConfig config = Sleeper();
  Security(&config)->mutable_run_as_user()->set_value(1000);
  const std::string id = Start(RunPod(), config);
  EXPECT_EQ(Exec(id, "grep -c '^[^ ]* /dev/shm tmpfs ' /proc/mounts"), "1\n");
  int64_t kib = 0;
  const std::string size = Exec(id, "df -k /dev/shm | tail -n 1 | tr -s ' ' | cut -d ' ' -f 2");
  EXPECT_TRUE(absl::SimpleAtoi(size, &kib)) << size;
  EXPECT_GE(kib, 64 * 1024);
  EXPECT_EQ(Exec(id, "echo mine > /dev/shm/mine && cat /dev/shm/mine"), "mine\n");
}

PROMISE_TEST(NamespaceTest, IpcOfTheNodeIsTheHosts,
             "With ipc NODE a container has the host's IPC") {
  cri::PodSandboxConfig config = PodConfig();
  Security(&config)->mutable_namespace_options()->set_ipc(cri::NODE);
  const std::string id = Start(RunPod(config), Sleeper());
  EXPECT_EQ(NamespaceOf(id, "ipc"), HostNamespace("ipc"));
}

PROMISE_TEST(NamespaceTest, NetworkOfTheNodeIsTheHosts,
             "With network NODE a container has the host's network and host name") {
  const std::string id = Start(RunPod(), Sleeper());
  EXPECT_EQ(NamespaceOf(id, "net"), HostNamespace("net"));
  EXPECT_EQ(Exec(id, "hostname"), ReadHostFile("/proc/sys/kernel/hostname"));
}

PROMISE_TEST(NamespaceTest, MountsAreEachContainersOwn,
             "Each container has a mount namespace of its own") {
  const std::string pod = RunPod();
  const std::string one = Start(pod, Sleeper());
  const std::string two = Start(pod, Sleeper());
  EXPECT_NE(NamespaceOf(one, "mnt"), NamespaceOf(two, "mnt"));
  EXPECT_NE(NamespaceOf(one, "mnt"), HostNamespace("mnt"));
}

PROMISE_TEST(
    NamespaceTest, OnCgroupV2ItsGroupIsItsRoot,
    "On cgroup v2 an ordinary container has a cgroup namespace: its own group is the root") {
  const std::string id = Start(RunPod(), Sleeper());
  const std::string groups = Exec(id, "cat /proc/1/cgroup");
  if (groups.find('\n') + 1 != groups.size()) GTEST_SKIP() << "the machine has cgroup v1";
  EXPECT_EQ(groups, "0::/\n");
}

PROMISE_TEST(NamespaceTest, SysctlsAreThePods,
             "sysctls of the pod's namespaces are set for its containers and not on the host") {
  const std::string name = "/proc/sys/kernel/shm_rmid_forced";
  const std::string before = ReadHostFile(name);
  cri::PodSandboxConfig config = PodConfig();
  const std::string value = before == "1\n" ? "0" : "1";
  (*config.mutable_linux()->mutable_sysctls())["kernel.shm_rmid_forced"] = value;
  EXPECT_EQ(RunToEnd(Shell(absl::StrCat("cat ", name)), RunPod(config)), value + "\n");
  EXPECT_EQ(ReadHostFile(name), before);
}

PROMISE_TEST(NamespaceTest, SysctlsOfTheHostAreRefused,
             "A sysctl that has no namespace is refused and not set") {
  const std::string before = ReadHostFile("/proc/sys/vm/swappiness");
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_linux()->mutable_sysctls())["vm.swappiness"] = before == "61\n" ? "62" : "61";
  const auto pod = TryRunPod(config);
  // Some runtimes leave the check to the program that creates the first container.
  const absl::Status status = pod.ok() ? TryCreateAndStart(*pod, Sleeper()) : pod.status();
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(ReadHostFile("/proc/sys/vm/swappiness"), before);
}

class UserNamespaceTest : public NamespaceTest {
 protected:
  static constexpr uint32_t kFirst = 1'000'000;
  static constexpr uint32_t kLength = 65'536;

  void SetUp() override {
    NamespaceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!DefaultHandlerFeatures().user_namespaces()) {
      GTEST_SKIP() << "the default handler doesn't announce the feature user_namespaces";
    }
    if (const std::string why = NoNetwork(); !why.empty()) GTEST_SKIP() << why;
  }
  static void Map(cri::NamespaceOption* options) {
    cri::UserNamespace* user = options->mutable_userns_options();
    user->set_mode(cri::POD);
    for (cri::IDMapping* mapping : {user->add_uids(), user->add_gids()}) {
      mapping->set_host_id(kFirst);
      mapping->set_container_id(0);
      mapping->set_length(kLength);
    }
  }
  cri::PodSandboxConfig MappedPod() {
    cri::PodSandboxConfig config = NetworkPodConfig();
    Map(Security(&config)->mutable_namespace_options());
    return config;
  }
};

PROMISE_TEST(UserNamespaceTest, IdsAreMapped,
             "With userns_options POD the container's ids are mapped as asked: root there is an "
             "ordinary user of the host") {
  const std::string id = Start(RunPod(MappedPod()), Sleeper());
  for (const char* map : {"uid_map", "gid_map"}) {
    EXPECT_EQ(Exec(id, absl::StrCat("tr -s ' ' < /proc/self/", map)),
              absl::StrCat(" 0 ", kFirst, " ", kLength, "\n"));
  }
  EXPECT_NE(NamespaceOf(id, "user"), HostNamespace("user"));
}

PROMISE_TEST(UserNamespaceTest, TheImagesFilesAreTheContainersOwn,
             "In a user namespace the image's files belong to the ids that they have in the image, "
             "and root may change them") {
  EXPECT_EQ(RunToEnd(Shell("stat -c %u:%g /bin/busybox; chown 1000:1000 /etc/passwd && "
                           "stat -c %u:%g /etc/passwd"),
                     RunPod(MappedPod())),
            "0:0\n1000:1000\n");
}

PROMISE_TEST(
    UserNamespaceTest, AMappedVolumeIsSeenWithItsOwnIds,
    "A volume with id mappings is seen, and written, with the ids that it has on the host") {
  const std::string volume = HostDirectory("mapped");
  WriteHostFile(volume + "/in", "from the host\n");
  cri::ContainerConfig config =
      Shell("stat -c %u:%g /volume/in; echo out > /volume/out; stat -c %u:%g /volume/out");
  cri::Mount* mount = config.add_mounts();
  mount->set_host_path(volume);
  mount->set_container_path("/volume");
  for (cri::IDMapping* mapping : {mount->add_uidmappings(), mount->add_gidmappings()}) {
    mapping->set_host_id(kFirst);
    mapping->set_container_id(0);
    mapping->set_length(kLength);
  }
  EXPECT_EQ(RunToEnd(config, RunPod(MappedPod())), "0:0\n0:0\n");
  struct stat written = {};
  ASSERT_EQ(stat((volume + "/out").c_str(), &written), 0);
  EXPECT_EQ(written.st_uid, 0u);
}

PROMISE_TEST(UserNamespaceTest, ContainersOfAPodShareIt,
             "A pod's containers have one user namespace, another pod's have another") {
  const std::string pod = RunPod(MappedPod());
  const std::string one = Start(pod, Sleeper());
  const std::string two = Start(pod, Sleeper());
  const std::string other = Start(RunPod(MappedPod()), Sleeper());
  EXPECT_EQ(NamespaceOf(one, "user"), NamespaceOf(two, "user"));
  EXPECT_NE(NamespaceOf(one, "user"), NamespaceOf(other, "user"));
}

PROMISE_TEST(UserNamespaceTest, TheHostsNetworkNeedsAFeature,
             "A user namespace on the host's network works where the runtime announces "
             "user_namespaces_host_network, and is refused elsewhere") {
  cri::PodSandboxConfig config = PodConfig();
  Map(Security(&config)->mutable_namespace_options());
  const auto pod = TryRunPod(config);
  const absl::Status status = pod.ok() ? TryCreateAndStart(*pod, Sleeper()) : pod.status();
  EXPECT_EQ(status.ok(), RuntimeStatus().features().user_namespaces_host_network()) << status;
}

}  // namespace
}  // namespace plimsoll::conformance
