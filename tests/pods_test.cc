// Life cycle of sandboxes and containers: states, namespaces, lists, names, idempotency.
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/own_mark.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class PodsTest : public NodeTest {
 protected:
  std::vector<std::string> ListContainerIds(const cri::ContainerFilter& filter) {
    cri::ListContainersRequest request;
    *request.mutable_filter() = filter;
    cri::ListContainersResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListContainers(&context, request, &response).ok());
    std::vector<std::string> ids;
    for (const cri::Container& container : response.containers()) ids.push_back(container.id());
    return ids;
  }
};

TEST_F(PodsTest, ContainerGoesThroughItsStates) {
  const std::string pod = RunPod();
  EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_READY);
  const std::string id = Create(pod, Shell("exit 3"));
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_CREATED);
  ASSERT_TRUE(TryStart(id).ok());
  const cri::ContainerStatus status = AwaitExit(id);
  EXPECT_EQ(status.exit_code(), 3);
  EXPECT_EQ(status.reason(), "Error");
  EXPECT_GE(status.started_at(), status.created_at());
  EXPECT_GE(status.finished_at(), status.started_at());
  EXPECT_EQ(TryStart(id).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(PodsTest, SuccessIsCompleted) {
  const std::string id = Start(RunPod(), Shell("true"));
  const cri::ContainerStatus status = AwaitExit(id);
  EXPECT_EQ(status.exit_code(), 0);
  EXPECT_EQ(status.reason(), "Completed");
}

TEST_F(PodsTest, DeathBySignalIs128PlusSignal) {
  const std::string id = Start(RunPod(), Shell("sh -c 'kill -9 $$'; exit $?"));
  EXPECT_EQ(AwaitExit(id).exit_code(), 137);
}

TEST_F(PodsTest, StopSendsTheSignalAndWaits) {
  const std::string id =
      Start(RunPod(), Shell("trap 'exit 7' TERM; touch /ready; while :; do sleep 0.05; done"));
  ExecOutput(id, "while [ ! -e /ready ]; do sleep 0.01; done");
  EXPECT_TRUE(StopContainer(id, 20).ok());
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_EXITED);
  EXPECT_EQ(Status(id).exit_code(), 7);
}

TEST_F(PodsTest, StopKillsWhatDoesNotListen) {
  const std::string id = Start(RunPod(), Shell("trap '' TERM; while :; do sleep 0.05; done"));
  EXPECT_TRUE(StopContainer(id, 1).ok());
  EXPECT_EQ(Status(id).exit_code(), 137);
}

TEST_F(PodsTest, StopSignalOfTheContainerIsUsed) {
  cri::ContainerConfig config = Shell("trap 'exit 5' USR1; while :; do sleep 0.05; done");
  config.set_stop_signal(cri::SIGNAL_SIGUSR1);
  const std::string id = Start(RunPod(), config);
  ExecOutput(id, "true");
  EXPECT_TRUE(StopContainer(id, 20).ok());
  EXPECT_EQ(Status(id).exit_code(), 5);
}

TEST_F(PodsTest, RemovalOfARunningContainerKillsIt) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_TRUE(RemoveContainer(id).ok());
  EXPECT_THAT(ListContainerIds({}), IsEmpty());
}

TEST_F(PodsTest, ACreatedContainerCanBeStoppedAndRemoved) {
  const std::string pod = RunPod();
  const std::string id = Create(pod, Shell("true"));
  EXPECT_TRUE(StopContainer(id, 0).ok());
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_EXITED);
  EXPECT_TRUE(RemoveContainer(id).ok());
}

TEST_F(PodsTest, StopAndRemoveMayBeAskedAgain) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell("true"));
  AwaitExit(id);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(StopContainer(id, 1).ok());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(RemoveContainer(id).ok());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(StopPod(pod).ok());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(RemovePod(pod).ok());
}

TEST_F(PodsTest, StoppingThePodKillsItsContainersAndFreesItsNamespaces) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell("sleep 1000"));
  EXPECT_FALSE(MountsBelow(node_.run_directory() + "/sandboxes").empty());
  ASSERT_TRUE(StopPod(pod).ok());
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_EXITED);
  EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_NOTREADY);
  EXPECT_THAT(MountsBelow(node_.run_directory() + "/sandboxes"), IsEmpty());
  std::string refused;
  EXPECT_EQ(TryCreate(pod, Shell("true"), &refused).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(PodsTest, ContainersOfAPodShareNetworkIpcAndHostname) {
  const std::string pod = RunPod();
  const std::string one = Start(pod, Shell("sleep 1000"));
  const std::string two = Start(pod, Shell("sleep 1000"));
  for (const char* ns : {"net", "ipc", "uts"}) {
    const std::string link = absl::StrCat("readlink /proc/self/ns/", ns);
    EXPECT_EQ(ExecOutput(one, link), ExecOutput(two, link)) << ns;
    EXPECT_NE(ExecOutput(one, link),
              absl::StrCat(*Host().ReadLink(absl::StrCat("proc/self/ns/", ns)), "\n"))
        << ns;
  }
  for (const char* ns : {"pid", "mnt"}) {
    const std::string link = absl::StrCat("readlink /proc/self/ns/", ns);
    EXPECT_NE(ExecOutput(one, link), ExecOutput(two, link)) << ns;
  }
  EXPECT_EQ(ExecOutput(one, "hostname"), absl::StrCat(PodStatus(pod).metadata().name(), "\n"));
  ExecOutput(one, "echo shared > /dev/shm/x");
  EXPECT_EQ(ExecOutput(two, "cat /dev/shm/x"), "shared\n");
}

TEST_F(PodsTest, PodNetworkHasLoopbackUp) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_THAT(ExecOutput(id, "cat /sys/class/net/lo/flags; ip addr show lo"),
              HasSubstr("127.0.0.1"));
  EXPECT_EQ(ExecOutput(id, "ls /sys/class/net"), "lo\n");
}

TEST_F(PodsTest, HostNetworkIsTheHosts) {
  cri::PodSandboxConfig config = PodConfig();
  cri::NamespaceOption* namespaces =
      config.mutable_linux()->mutable_security_context()->mutable_namespace_options();
  namespaces->set_network(cri::NODE);
  namespaces->set_pid(cri::CONTAINER);
  const std::string id = Start(RunPod(config), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(id, "readlink /proc/self/ns/net"),
            absl::StrCat(*Host().ReadLink("proc/self/ns/net"), "\n"));
}

TEST_F(PodsTest, HostIpcAndHostnameAreTheHosts) {
  cri::PodSandboxConfig config = PodConfig();
  cri::NamespaceOption* namespaces =
      config.mutable_linux()->mutable_security_context()->mutable_namespace_options();
  namespaces->set_network(cri::NODE);
  namespaces->set_ipc(cri::NODE);
  namespaces->set_pid(cri::CONTAINER);
  const std::string id = Start(RunPod(config), Shell("sleep 1000"));
  for (const char* ns : {"ipc", "uts"}) {
    EXPECT_EQ(ExecOutput(id, absl::StrCat("readlink /proc/self/ns/", ns)),
              absl::StrCat(*Host().ReadLink(absl::StrCat("proc/self/ns/", ns)), "\n"));
  }
  // In such a pod these settings would change the host.
  for (const char* name : {"kernel.shmmax", "fs.mqueue.msg_max", "net.ipv4.ip_forward"}) {
    cri::PodSandboxConfig refused = config;
    refused.mutable_metadata()->set_attempt(1);
    (*refused.mutable_linux()->mutable_sysctls())[name] = "1";
    std::string unused;
    const grpc::Status status = TryRunPod(refused, &unused);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << name;
    EXPECT_THAT(status.error_message(), HasSubstr(name));
  }
}

TEST_F(PodsTest, HostPidSeesTheHostsProcesses) {
  cri::PodSandboxConfig pod = PodConfig();
  pod.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(cri::NODE);
  const std::string sleep = "sleep " + OwnMark(1);
  cri::ContainerConfig config = Shell("setsid " + sleep + " >/dev/null 2>&1 & sleep 1000");
  config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
      cri::NODE);
  const std::string id = Start(RunPod(pod), config);
  EXPECT_EQ(ExecOutput(id, "readlink /proc/self/ns/pid"),
            absl::StrCat(*Host().ReadLink("proc/self/ns/pid"), "\n"));
  // Without a PID namespace of its own the whole group has to be killed.
  ASSERT_TRUE(Eventually([&] { return !ProcessesWith(sleep).empty(); }));
  ASSERT_TRUE(StopContainer(id, 0).ok());
  EXPECT_THAT(ProcessesWith(sleep), IsEmpty());
}

TEST_F(PodsTest, SysctlsAreSetInThePodOnly) {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_linux()->mutable_sysctls())["net.ipv4.ip_unprivileged_port_start"] = "80";
  const std::string id = Start(RunPod(config), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(id, "cat /proc/sys/net/ipv4/ip_unprivileged_port_start"), "80\n");
  EXPECT_EQ(*Host().Read("proc/sys/net/ipv4/ip_unprivileged_port_start"), "1024\n");
}

TEST_F(PodsTest, SysctlsOfTheHostAreRefused) {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_linux()->mutable_sysctls())["vm.overcommit_memory"] = "1";
  std::string id;
  const grpc::Status status = TryRunPod(config, &id);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("vm.overcommit_memory"));
}

TEST_F(PodsTest, DnsConfigBecomesResolvConf) {
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_dns_config()->add_servers("192.0.2.1");
  config.mutable_dns_config()->add_searches("example.test");
  config.mutable_dns_config()->add_options("ndots:5");
  const std::string id = Start(RunPod(config), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(id, "cat /etc/resolv.conf"),
            "search example.test\nnameserver 192.0.2.1\noptions ndots:5\n");
}

TEST_F(PodsTest, APodsNameIsTakenOnce) {
  cri::PodSandboxConfig config = PodConfig();
  const std::string pod = RunPod(config);
  std::string second;
  const grpc::Status status = TryRunPod(config, &second);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_THAT(status.error_message(), HasSubstr(pod));
  config.mutable_metadata()->set_attempt(1);
  EXPECT_TRUE(TryRunPod(config, &second).ok());
}

TEST_F(PodsTest, AContainersNameIsTakenOnceInItsPod) {
  const std::string pod = RunPod();
  const cri::ContainerConfig config = Shell("true");
  Create(pod, config);
  std::string second;
  EXPECT_EQ(TryCreate(pod, config, &second).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(TryCreate(RunPod(), config, &second).ok());
}

TEST_F(PodsTest, ListsFilter) {
  const std::string pod_a = RunPod();
  const std::string pod_b = RunPod();
  cri::ContainerConfig labelled = Shell("sleep 1000");
  (*labelled.mutable_labels())["tier"] = "web";
  const std::string running = Start(pod_a, labelled);
  const std::string created = Create(pod_a, Shell("true"));
  const std::string other = Create(pod_b, Shell("true"));
  EXPECT_THAT(ListContainerIds({}), UnorderedElementsAre(running, created, other));
  cri::ContainerFilter by_pod;
  by_pod.set_pod_sandbox_id(pod_a);
  EXPECT_THAT(ListContainerIds(by_pod), UnorderedElementsAre(running, created));
  cri::ContainerFilter by_state;
  by_state.mutable_state()->set_state(cri::CONTAINER_CREATED);
  EXPECT_THAT(ListContainerIds(by_state), UnorderedElementsAre(created, other));
  cri::ContainerFilter by_label;
  (*by_label.mutable_label_selector())["tier"] = "web";
  EXPECT_THAT(ListContainerIds(by_label), UnorderedElementsAre(running));
  cri::ContainerFilter by_id;
  by_id.set_id(other.substr(0, 12));
  EXPECT_THAT(ListContainerIds(by_id), UnorderedElementsAre(other));
}

TEST_F(PodsTest, IdsMayBeAbbreviated) {
  const std::string id = Create(RunPod(), Shell("true"));
  EXPECT_EQ(Status(id.substr(0, 13)).id(), id);
}

TEST_F(PodsTest, LabelsAndAnnotationsComeBackAsGiven) {
  cri::PodSandboxConfig pod_config = PodConfig();
  (*pod_config.mutable_labels())["a"] = "b";
  (*pod_config.mutable_annotations())["c"] = "d";
  const std::string pod = RunPod(pod_config);
  EXPECT_EQ(PodStatus(pod).labels().at("a"), "b");
  EXPECT_EQ(PodStatus(pod).annotations().at("c"), "d");
  cri::ContainerConfig config = Shell("true");
  (*config.mutable_annotations())["run.oci.handler"] = "krun";
  const std::string id = Create(pod, config);
  EXPECT_EQ(Status(id).annotations().at("run.oci.handler"), "krun");
}

TEST_F(PodsTest, UnknownIdsAreNotFound) {
  grpc::ClientContext context;
  cri::ContainerStatusRequest request;
  request.set_container_id(std::string(64, 'f'));
  cri::ContainerStatusResponse response;
  EXPECT_EQ(node_.runtime().ContainerStatus(&context, request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

// More of it: start_error_test.cc.
TEST_F(PodsTest, AMissingCommandIsAClearErrorOfTheStart) {
  const std::string pod = RunPod();
  for (const char* command : {"/no/such/command", "no-such-command"}) {
    cri::ContainerConfig config = Shell("true");
    config.clear_args();
    config.set_command(0, command);
    const grpc::Status status = TryStart(Create(pod, config));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << command;
    EXPECT_THAT(status.error_message(),
                HasSubstr(absl::StrCat("command \"", command,
                                       "\" is not in the image: executable file not found")));
  }
}

TEST_F(PodsTest, AMissingImageIsNotFound) {
  cri::ContainerConfig config = Shell("true");
  config.mutable_image()->set_image("registry.test/missing:1");
  std::string id;
  const grpc::Status status = TryCreate(RunPod(), config, &id);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("registry.test/missing:1"));
}

TEST_F(PodsTest, TenPodsAtOnce) {
  std::vector<std::string> pods(10);
  std::vector<cri::PodSandboxConfig> configs;
  std::vector<cri::ContainerConfig> containers;
  for (size_t i = 0; i < pods.size(); ++i) {
    configs.push_back(PodConfig());
    containers.push_back(Shell("exit 4"));
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < pods.size(); ++i) {
    threads.emplace_back([&, i] {
      std::string id;
      ASSERT_TRUE(TryRunPod(configs[i], &pods[i]).ok());
      const grpc::Status created = TryCreate(pods[i], containers[i], &id);
      ASSERT_TRUE(created.ok()) << created.error_message();
      ASSERT_TRUE(TryStart(id).ok());
      EXPECT_EQ(AwaitExit(id).exit_code(), 4);
      EXPECT_TRUE(StopPod(pods[i]).ok());
      EXPECT_TRUE(RemovePod(pods[i]).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// NOT_FOUND of a container that another call has removed says nothing about the pod.
TEST_F(PodsTest, AStopBesideRemovalsOfItsContainersStopsThePod) {
  for (int round = 0; round < 8; ++round) {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_metadata()->set_uid(absl::StrCat("round-", round));
    config.mutable_metadata()->set_name(absl::StrCat("round-", round));
    const std::string pod = RunPod(config);
    std::vector<std::string> ids;
    for (int i = 0; i < 5; ++i) {
      cri::ContainerConfig container = Shell("sleep 1000");
      container.mutable_metadata()->set_name(absl::StrCat("c", i));
      ids.push_back(i < 2 ? Start(pod, container) : Create(pod, container));
    }
    std::thread removals([&] {
      for (const std::string& id : ids) EXPECT_TRUE(RemoveContainer(id).ok());
    });
    usleep(static_cast<useconds_t>(round) * 3000);
    const bool removes = round % 2 == 1;
    const grpc::Status status = removes ? RemovePod(pod) : StopPod(pod);
    removals.join();
    EXPECT_TRUE(status.ok()) << status.error_message();
    cri::ListPodSandboxResponse list;
    cri::ListPodSandboxRequest request;
    request.mutable_filter()->set_id(pod);
    grpc::ClientContext context;
    ASSERT_TRUE(node_.runtime().ListPodSandbox(&context, request, &list).ok());
    if (removes) {
      EXPECT_EQ(list.items_size(), 0);
    } else {
      EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_NOTREADY);
    }
  }
}

// Code and reason tell of a container's end, and kubelet appends the container's own words to the
// message: so it stays empty unless the runtime has something to say.
TEST_F(PodsTest, AnEndByItselfHasAReasonAndNoMessage) {
  const std::string pod = RunPod();
  cri::PodSandboxConfig host_pids = PodConfig();  // elsewhere process 1 ignores signals
  host_pids.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
      cri::NODE);
  cri::ContainerConfig hungry = Shell("exec tail -c 1000000000 /dev/zero > /dev/null");
  hungry.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(16 << 20);
  struct Case {
    std::string id;
    int exit_code;
    const char* reason;
  };
  const std::vector<Case> cases = {
      {Start(pod, Shell("exit 3")), 3, "Error"},
      {Start(pod, Shell("exit 0")), 0, "Completed"},
      {Start(RunPod(host_pids), Shell("kill -TERM $$; sleep 1000")), 143, "Error"},
      {Start(pod, hungry), 137, "OOMKilled"}};
  for (const Case& one : cases) AwaitExit(one.id);
  const auto expect_told = [&] {
    for (const Case& one : cases) {
      const cri::ContainerStatus status = Status(one.id);
      EXPECT_EQ(status.state(), cri::CONTAINER_EXITED) << one.reason;
      EXPECT_EQ(status.exit_code(), one.exit_code);
      EXPECT_EQ(status.reason(), one.reason);
      EXPECT_EQ(status.message(), "") << one.reason;
    }
  };
  expect_told();
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  expect_told();
}

// The daemon runs in its own mount namespace, whose propagation the test chooses.
class RootPropagationTest : public NodeTest {
 protected:
  void StartWith(const std::string& propagation) {
    if (geteuid() != 0) GTEST_SKIP() << "containers need root";
    const auto unshare = FindProgram("unshare");
    if (!unshare.ok()) GTEST_SKIP() << unshare.status();
    node_.StartBy({*unshare, "--mount", "--propagation", propagation});
    NodeTest::SetUp();
  }
  std::string Limitations() {
    cri::StatusRequest request;
    request.set_verbose(true);
    cri::StatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().Status(&context, request, &response).ok());
    return response.info().at("limitations");
  }
  // Creates a privileged container whose volume has this propagation.
  grpc::Status CreateWith(cri::MountPropagation propagation) {
    cri::PodSandboxConfig pod = PodConfig();
    pod.mutable_linux()->mutable_security_context()->set_privileged(true);
    cri::ContainerConfig config = Shell("true");
    config.mutable_linux()->mutable_security_context()->set_privileged(true);
    cri::Mount* volume = config.add_mounts();
    volume->set_host_path(node_.directory() + "/volume");
    volume->set_container_path("/v");
    volume->set_propagation(propagation);
    std::string id;
    return TryCreate(RunPod(pod), config, &id);
  }
};

class PrivateRootTest : public RootPropagationTest {
 protected:
  void SetUp() override { StartWith("private"); }
};

TEST_F(PrivateRootTest, IsToldAtTheStartAndPropagationIsRefused) {
  for (const std::string& told : {Limitations(), node_.Log()}) {
    EXPECT_THAT(told, HasSubstr("the mount at / is not shared"));
    EXPECT_THAT(told, HasSubstr("mount --make-rshared /"));
  }
  for (const cri::MountPropagation propagation :
       {cri::PROPAGATION_HOST_TO_CONTAINER, cri::PROPAGATION_BIDIRECTIONAL}) {
    const grpc::Status refused = CreateWith(propagation);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(refused.error_message(), HasSubstr("is private"));
  }
  EXPECT_TRUE(CreateWith(cri::PROPAGATION_PRIVATE).ok());
  EXPECT_EQ(AwaitExit(Start(RunPod(), Shell("exit 4"))).exit_code(), 4);
}

class SharedRootTest : public RootPropagationTest {
 protected:
  void SetUp() override { StartWith("shared"); }
};

TEST_F(SharedRootTest, LacksNothing) {
  EXPECT_THAT(Limitations(), Not(HasSubstr("the mount at / is not shared")));
  for (const cri::MountPropagation propagation :
       {cri::PROPAGATION_HOST_TO_CONTAINER, cri::PROPAGATION_BIDIRECTIONAL}) {
    const grpc::Status made = CreateWith(propagation);
    EXPECT_TRUE(made.ok()) << made.error_message();
  }
}

class CgroupfsTest : public NodeTest {
 protected:
  CgroupfsTest() : NodeTest("cgroup_driver: cgroupfs\n") {}
};

TEST_F(CgroupfsTest, KubeletIsToldOfIt) {
  cri::RuntimeConfigResponse response;
  grpc::ClientContext context;
  const grpc::Status status = node_.runtime().RuntimeConfig(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_TRUE(response.has_linux());
  EXPECT_EQ(response.linux().cgroup_driver(), cri::CGROUPFS);
  // The groups indeed have no names of systemd's.
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell("sleep 1000"));
  EXPECT_TRUE(CgroupExists(CgroupOf(pod, id)));
}

}  // namespace
}  // namespace plimsoll::testing
