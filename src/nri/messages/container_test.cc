#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "nri/messages/messages.h"
#include "nri/messages/messages_fixture_for_test.h"

namespace plimsoll::nri {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

api::Container Made() {
  return MakeContainer(FullPod(), {FullRecord(), &TestImage()});
}

constexpr char kContainerText[] = R"(
  id: "ctr1" pod_sandbox_id: "pod1" name: "app" state: CONTAINER_STOPPED
  labels { key: "tier" value: "front" }
  annotations { key: "example.com/note" value: "container" }
  annotations { key: "set.example.com" value: "by plugin" }
  args: "/bin/web" args: "--serve"
  env: "HOSTNAME=web-1" env: "PATH=/bin" env: "LEVEL=debug"
  mounts { destination: "/data" type: "bind" source: "/srv/data"
           options: ["rbind", "rprivate", "rro", "noexec", "ro"] }
  mounts { destination: "/shared" type: "bind" source: "/srv/shared"
           options: ["rbind", "rshared", "rw"] }
  mounts { destination: "/tools" type: "bind" source: "tools:1"
           options: ["rbind", "rprivate", "ro", "nosuid", "nodev"] }
  mounts { destination: "/scratch" type: "tmpfs" source: "tmpfs" options: "size=1m" }
  pid: 4712
  rlimits { type: "RLIMIT_NOFILE" hard: 2 soft: 1 }
  created_at: 11 started_at: 12 finished_at: 13 exit_code: 137
  status_reason: "OOMKilled" status_message: "out of memory"
  CDI_devices { name: "vendor.com/gpu=0" }
  user { uid: 1000 gid: 1001 additional_gids: [1001, 2] }
  image { name: "docker.io/library/web:1" digest: "sha256:1234" config_digest: "sha256:abcd" }
  kubernetes_resources {
    requests { key: "cpu" value { string: "500m" } }
    limits { key: "cpu" value { string: "1" } }
  }
)";

TEST(MakeContainerTest, ShowsAllThatIsKnown) {
  api::Container expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kContainerText, &expected));
  api::Container container = Made();
  EXPECT_EQ(container.hooks().prestart_size(), 1);
  container.clear_hooks();  // see the next tests
  // Mounts that each container has.
  container.mutable_mounts()->DeleteSubrange(0, container.mounts_size() - expected.mounts_size());
  container.clear_linux();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equivalent(container, expected))
      << container.DebugString();
}

// Plugins look for the mounts that each container has: at /sys/fs/cgroup, say, to replace it.
TEST(MakeContainerTest, MountsOfEachContainerComeFirstUnlessReplaced) {
  const auto places = [](const api::Container& container) {
    std::vector<std::string> all;
    for (const api::Mount& mount : container.mounts()) all.push_back(mount.destination());
    return all;
  };
  EXPECT_THAT(places(Made()),
              ElementsAre("/proc", "/dev", "/dev/pts", "/dev/mqueue", "/sys", "/sys/fs/cgroup",
                          "/dev/shm", "/data", "/shared", "/tools", "/scratch"));
  runtime::HookedContainer container = {FullRecord(), &TestImage()};
  container.record.spec.mounts.clear();
  container.record.spec.extras.edits.mounts = {{.host_path = "cgroup",
                                                .container_path = "/sys/fs/cgroup",
                                                .type = "cgroup",
                                                .options = {"rw"}}};
  const api::Container replaced = MakeContainer(FullPod(), container);
  EXPECT_THAT(places(replaced), ElementsAre("/proc", "/dev", "/dev/pts", "/dev/mqueue", "/sys",
                                            "/dev/shm", "/sys/fs/cgroup"));
  EXPECT_THAT(replaced.mounts(6).options(), ElementsAre("rw"));
}

TEST(MakeContainerTest, LeavesNoFieldEmptyButThese) {
  const FsRoot root = *FsRoot::Open("/");
  const std::set<std::string> empty =
      EmptyFieldsOf(MakeContainer(FullPod(), {FullRecord(), &TestImage()}, &root));
  EXPECT_THAT(empty, UnorderedElementsAre(
                         // Schemata are the class's, which is named by clos_id.
                         "linux.rdt.schemata", "linux.rdt.schemata.value", "linux.rdt.remove"));
}

constexpr char kLinuxText[] = R"(
  namespaces { type: "cgroup" path: "/proc/1/ns/cgroup" }
  namespaces { type: "ipc" path: "/run/plimsoll/sandboxes/pod1/ipc" }
  namespaces { type: "mount" }
  namespaces { type: "network" path: "/run/plimsoll/sandboxes/pod1/net" }
  namespaces { type: "pid" path: "/run/plimsoll/sandboxes/pod1/pid" }
  namespaces { type: "user" path: "/run/plimsoll/sandboxes/pod1/user" }
  namespaces { type: "uts" path: "/run/plimsoll/sandboxes/pod1/uts" }
  devices { path: "/dev/injected" type: "c" major: 1 minor: 3
            file_mode { value: 384 } uid { value: 5 } gid { value: 6 } }
  resources {
    memory {
      limit { value: 1048576 } reservation { value: 4096 } swap { value: 2097152 }
      kernel { value: 4097 } kernel_tcp { value: 4098 } swappiness { value: 60 }
      disable_oom_killer { value: true } use_hierarchy { value: true }
    }
    cpu {
      shares { value: 256 } quota { value: 50000 } period { value: 100000 }
      realtime_runtime { value: 1000 } realtime_period { value: 2000 } cpus: "0-1" mems: "0"
    }
    hugepage_limits { page_size: "2MB" limit: 2097152 }
    blockio_class { value: "slow" } rdt_class { value: "half" }
    unified { key: "memory.high" value: "900000" }
    pids { limit: 100 }
  }
  oom_score_adj { value: 900 }
  cgroups_path: "/kubepods/burstable/pod-uid1/ctr1"
  io_priority { class: IOPRIO_CLASS_IDLE priority: 7 }
  seccomp_profile { profile_type: LOCALHOST localhost_ref: "profiles/mine.json" }
  seccomp_policy {
    default_action: "SCMP_ACT_ERRNO" default_errno { value: 1 }
    architectures: "SCMP_ARCH_X86_64" flags: "SECCOMP_FILTER_FLAG_LOG"
    listener_path: "/run/l.sock" listener_metadata: "m"
    syscalls { names: "read" action: "SCMP_ACT_ALLOW" errno_ret { value: 2 }
               args { index: 1 value: 18446744073709551615 value_two: 3 op: "SCMP_CMP_EQ" } }
  }
  sysctl { key: "net.core.somaxconn" value: "512" }
  net_devices { key: "eth9" value { name: "net1" } }
  scheduler { policy: LINUX_SCHED_DEADLINE nice: 1 priority: 2 flags: LINUX_SCHED_FLAG_RECLAIM
              runtime: 1000 deadline: 2000 period: 3000 }
  rdt { clos_id { value: "half" } enable_monitoring { value: true } }
)";

TEST(MakeContainerTest, ShowsTheLinuxPart) {
  api::LinuxContainer expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kLinuxText, &expected));
  const api::Container made = Made();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equivalent(made.linux(), expected))
      << made.linux().DebugString();
}

TEST(MakeContainerTest, EachHookIsInItsList) {
  const api::Hooks hooks = Made().hooks();
  for (const auto* list : {&hooks.prestart(), &hooks.create_runtime(), &hooks.create_container(),
                           &hooks.start_container(), &hooks.poststart(), &hooks.poststop()}) {
    ASSERT_EQ(list->size(), 1);
    EXPECT_EQ(list->Get(0).path(), "/bin/hook");
    EXPECT_THAT(list->Get(0).env(), ElementsAre("A=b"));
    EXPECT_EQ(list->Get(0).timeout().value(), 3);
  }
  EXPECT_THAT(hooks.create_runtime(0).args(), ElementsAre("hook", "createRuntime"));
  EXPECT_THAT(hooks.poststop(0).args(), ElementsAre("hook", "poststop"));
}

TEST(MakeContainerTest, LooksUpTheClientsDevices) {
  const FsRoot root = *FsRoot::Open("/");
  const api::Container made = MakeContainer(FullPod(), {FullRecord(), &TestImage()}, &root);
  ASSERT_EQ(made.linux().devices_size(), 2);  // the plugin's follows
  const api::LinuxDevice& device = made.linux().devices(0);
  struct stat zero = {};
  ASSERT_EQ(::stat("/dev/zero", &zero), 0);
  EXPECT_EQ(device.path(), "/dev/zero2");
  EXPECT_EQ(device.type(), "c");
  EXPECT_EQ(device.major(), major(zero.st_rdev));
  EXPECT_EQ(device.minor(), minor(zero.st_rdev));
  EXPECT_EQ(device.file_mode().value(), zero.st_mode & 07777);
  ASSERT_EQ(made.linux().resources().devices_size(), 2);
  EXPECT_FALSE(made.linux().resources().devices(0).allow());
  EXPECT_EQ(made.linux().resources().devices(1).access(), "r");
  EXPECT_EQ(made.linux().resources().devices(1).minor().value(), minor(zero.st_rdev));
}

TEST(MakeContainerTest, ADeviceThatIsNotThereIsLeftOut) {
  const FsRoot root = *FsRoot::Open("/");
  runtime::ContainerRecord record = FullRecord();
  record.spec.devices = {{"/dev/none", "/dev/none-at-all", "r"}};
  EXPECT_EQ(MakeContainer(FullPod(), {record, &TestImage()}, &root).linux().devices_size(), 1);
}

TEST(MakeContainerTest, WithoutItsImageItHasTheClientsPart) {
  const api::Container made = MakeContainer(FullPod(), {FullRecord(), nullptr});
  EXPECT_THAT(made.args(), ElementsAre("--serve"));
  EXPECT_THAT(made.env(), ElementsAre("HOSTNAME=web-1", "LEVEL=debug"));
}

TEST(MakeContainerTest, AContainerBeforeItsMaking) {
  runtime::ContainerRecord record = FullRecord();
  record.state = runtime::ContainerState::kCreating;
  record.classes.clear();
  record.user.reset();
  record.init = {};
  record.spec.classes = {{"blockio", "fast"}};
  record.spec.security.run_as_user = 7;
  record.spec.security.run_as_group = 8;
  record.spec.security.supplemental_groups = {9};
  record.spec.security.namespaces.pid = runtime::NamespaceMode::kContainer;
  record.spec.extras.namespaces = {{.type = "ipc", .of_host = true}};
  const api::Container made = MakeContainer(FullPod(), {record, &TestImage()});
  EXPECT_EQ(made.state(), api::CONTAINER_UNKNOWN);
  EXPECT_EQ(made.pid(), 0u);
  EXPECT_EQ(made.linux().resources().blockio_class().value(), "fast");
  EXPECT_FALSE(made.linux().resources().has_rdt_class());
  EXPECT_FALSE(made.linux().has_rdt());
  EXPECT_EQ(made.user().uid(), 7u);
  EXPECT_EQ(made.user().gid(), 8u);
  EXPECT_THAT(made.user().additional_gids(), ElementsAre(9u));
  for (const api::LinuxNamespace& each : made.linux().namespaces()) {
    EXPECT_NE(each.type(), "ipc") << "a plugin has removed it";
    if (each.type() == "pid") {
      EXPECT_EQ(each.path(), "");
    }
  }
}

TEST(MakeContainerTest, EachStateHasItsNumber) {
  const std::pair<runtime::ContainerState, api::ContainerState> kStates[] = {
      {runtime::ContainerState::kCreating, api::CONTAINER_UNKNOWN},
      {runtime::ContainerState::kCreated, api::CONTAINER_CREATED},
      {runtime::ContainerState::kRunning, api::CONTAINER_RUNNING},
      {runtime::ContainerState::kExited, api::CONTAINER_STOPPED},
      {runtime::ContainerState::kUnknown, api::CONTAINER_UNKNOWN},
      {runtime::ContainerState::kRemoving, api::CONTAINER_STOPPED},
  };
  for (const auto& [state, expected] : kStates) {
    runtime::ContainerRecord record = FullRecord();
    record.state = state;
    EXPECT_EQ(MakeContainer(FullPod(), {record, nullptr}).state(), expected);
  }
}

TEST(MakeContainerTest, AnUnreadableMessageOfTheClientCostsLabelsAlone) {
  runtime::ContainerRecord record = FullRecord();
  record.client_config = "\xff\xff\xff";
  const api::Container made = MakeContainer(FullPod(), {record, &TestImage()});
  EXPECT_EQ(made.labels_size(), 0);
  EXPECT_EQ(made.name(), "app");
  EXPECT_EQ(made.image().name(), "sha256:abcd");
}

// The client's own word is newer than the pod's announcement; needs that are computed from control
// groups are nobody's word.
TEST(MakeContainerTest, ShowsTheLatestWordAboutItsNeeds) {
  const auto cpu = [](const api::Container& made) {
    return made.kubernetes_resources().requests().at("cpu").string();
  };
  runtime::ContainerRecord record = FullRecord();
  EXPECT_EQ(cpu(MakeContainer(FullPod(), {record, nullptr})), "500m");
  record.spec.kubernetes_resources.requests = {{"cpu", "750m"}};
  record.spec.said = {.made = 1, .resources = 1};
  EXPECT_EQ(cpu(MakeContainer(FullPod(), {record, nullptr})), "750m");

  runtime::HookedPod pod = FullPod();
  pod.record.spec.pod_resources = {};
  record.spec.kubernetes_resources = {};
  record.spec.said = {};
  pod.picture = runtime::MakePicture(pod.record.spec, {record.spec});
  ASSERT_EQ(pod.picture.now.containers.size(), 1u);
  EXPECT_FALSE(MakeContainer(pod, {record, nullptr}).has_kubernetes_resources());
  pod.picture.sources.containers["app"].kubernetes_resources = runtime::SaidBy::kKubelet;
  pod.picture.now.containers[0].kubernetes_resources.requests = {{"cpu", "2"}};
  EXPECT_EQ(cpu(MakeContainer(pod, {record, nullptr})), "2");
}

TEST(MakeContainerTest, APluginsSeccompPolicyThatIsNoneIsLeftOut) {
  for (const char* text : {"", "{", "[]", "7", R"({"syscalls":[7,{"args":[1]}],"flags":8})"}) {
    runtime::ContainerRecord record = FullRecord();
    record.spec.extras.seccomp_policy = text;
    const api::LinuxSeccomp policy =
        MakeContainer(FullPod(), {record, nullptr}).linux().seccomp_policy();
    EXPECT_EQ(policy.default_action(), "") << text;
    EXPECT_THAT(policy.flags(), IsEmpty()) << text;
  }
}

TEST(MakeUpdateTest, NewValuesStandBesideThePresentOnes) {
  runtime::ResourceUpdate update;
  update.cgroup.cpu_shares = 1024;
  update.classes = {{"rdt", ""}};
  update.kubernetes_resources = runtime::KubernetesResources{.requests = {{"cpu", "1"}}};
  const api::UpdateContainerRequest request = MakeUpdate(MakePod(FullPod()), Made(), update);
  EXPECT_EQ(request.pod().id(), "pod1");
  EXPECT_EQ(request.linux_resources().cpu().shares().value(), 1024u);
  EXPECT_TRUE(request.linux_resources().has_rdt_class());
  EXPECT_FALSE(request.linux_resources().has_blockio_class());
  EXPECT_EQ(request.container().linux().resources().cpu().shares().value(), 256u);
  EXPECT_EQ(request.kubernetes_resources().requests().at("cpu").string(), "1");
  EXPECT_EQ(request.container().kubernetes_resources().requests().at("cpu").string(), "500m");
  EXPECT_FALSE(
      MakeUpdate(MakePod(FullPod()), Made(), runtime::ResourceUpdate()).has_kubernetes_resources());
}

}  // namespace
}  // namespace plimsoll::nri
