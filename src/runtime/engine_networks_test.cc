// Pods' networks: the engine over plugins that are scripts, in real namespaces.
#include <thread>

#include "base/random_id.h"
#include "base/wait_until_for_test.h"
#include "linux/process_tree.h"
#include "network/plugins_for_test.h"
#include "qos/fake_type_for_test.h"
#include "runtime/engine_fixture_for_test.h"
#include "sqlite/database.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr char kConfig[] = R"({"cniVersion": "1.0.0", "name": "pods", "plugins": [
    {"type": "main", "capabilities": {"portMappings": true, "dns": true}}]})";
constexpr char kResult[] = R"({"cniVersion": "1.0.0",
    "interfaces": [{"name": "eth0", "sandbox": "/n"}],
    "ips": [{"address": "10.1.0.5/16", "interface": 0},
            {"address": "fd00::5/64", "interface": 0}]})";

class SandboxNetworkTest : public EngineTest {
 protected:
  void SetUp() override {
    scripts_.WriteConfig("10.conflist", kConfig);
    scripts_.WriteGood("main", kResult);
    OpenNetwork();
    EngineTest::SetUp();
  }
  // Called while there is no engine, before the next one is made.
  void OpenNetwork() {
    network::Options options{.host = host_, .state = *scripts_.root().Sub("state")};
    options.config_directory = scripts_.conf();
    options.plugin_directories = {scripts_.bin()};
    auto network = network::Network::Open(std::move(options));
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
  }
  void Restart() {
    engine_.reset();
    OpenNetwork();
    StartEngine();
  }
  // Ends the engine; the next one has a class type of pods.
  void MakeLane() {
    engine_.reset();
    std::vector<std::unique_ptr<qos::ClassType>> types;
    types.push_back(std::make_unique<qos::FakeType>(
        &lane_, qos::FakeType::Options{.name = "lane", .level = qos::Level::kPod}));
    lane_type_ = static_cast<qos::FakeType*>(types.back().get());
    classes_ = *qos::Registry::Create(std::move(types));
  }
  std::vector<Difference> Differences() {
    std::vector<Difference> found;
    for (const Finding& finding : engine_->Inspect()) found.push_back(finding.difference);
    return found;
  }
  // Shell for the script main: waits until the pod's PID namespace is pinned, and notes its name.
  // Fails the plugin if it isn't after a while.
  std::string AwaitPidNamespace() const {
    const std::string place = absl::StrCat(run_.path(), "/sandboxes/$CNI_CONTAINERID");
    // Until then the file is on the directory's file system. (busybox doesn't know nsfs.)
    return absl::StrCat("n=0\nuntil [ -e ", place, "/pid ] && ", "[ $(stat -c %d ", place,
                        "/pid) != $(stat -c %d ", place, ") ]; do\n",
                        "n=$((n + 1)); [ $n -lt 200 ] || exit 1; sleep 0.05\ndone\n",
                        "stat -c 'pid:[%i]' ", place, "/pid > ", scripts_.path(), "/namespace\n");
  }
  // The number of processes in the noted namespace.
  size_t CountInPidNamespace() const {
    const std::string text = scripts_.root().Read("namespace").value_or("");
    EXPECT_THAT(text, StartsWith("pid:["));
    const auto processes = linux::ListProcessTable(host_);
    EXPECT_TRUE(processes.ok()) << processes.status();
    size_t count = 0;
    for (const linux::ProcessEntry& entry : *processes) {
      if (entry.zombie) continue;
      const auto in = host_.ReadLink(absl::StrCat("proc/", entry.id.pid, "/ns/pid"));
      count += in.ok() && absl::StrCat(*in, "\n") == text;
    }
    return count;
  }
  std::string HostsOf(const std::string& pod) {
    return run_.Read(absl::StrCat("sandboxes/", pod, "/hosts")).value_or("");
  }

  network::ScriptedPlugins scripts_;
  qos::FakeKernel lane_;
  qos::FakeType* lane_type_ = nullptr;
};

TEST_F(SandboxNetworkTest, APodHasItsAddressesUntilItIsStopped) {
  // The namespace exists already, with its loopback up.
  scripts_.Write("main", absl::StrCat("nsenter --net=$CNI_NETNS cat /proc/net/fib_trie > ",
                                      scripts_.path(), "/$CNI_COMMAND.addresses\n",
                                      "[ $CNI_COMMAND != ADD ] || echo '", kResult, "'"));
  SandboxSpec spec = PodSpec();
  spec.dns_servers = {"10.0.0.10"};
  spec.network.port_mappings = {{.container_port = 80, .host_port = 8080}};
  const auto pod = engine_->RunSandbox(spec, "");
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_THAT(engine_->Addresses(*pod), ElementsAre("10.1.0.5", "fd00::5"));
  EXPECT_THAT(HostsOf(*pod),
              AllOf(HasSubstr("10.1.0.5\tpod\n"), HasSubstr("fd00::5\tpod\n"),
                    HasSubstr("127.0.0.1\tlocalhost\n"), Not(HasSubstr("127.0.1.1"))));
  EXPECT_THAT(scripts_.root().Read("ADD.addresses").value_or(""), HasSubstr("127.0.0.1"));
  const network::Json given = scripts_.InputOf("main", "ADD")["runtimeConfig"];
  EXPECT_EQ(given["portMappings"][0]["hostPort"], 8080);
  EXPECT_EQ(given["dns"]["servers"][0], "10.0.0.10");
  EXPECT_THAT(phases_, AllOf(Contains("sandbox_network"), Contains("sandbox_network_plugins")));

  ASSERT_TRUE(engine_->StopSandbox(*pod).ok());
  EXPECT_THAT(scripts_.root().Read("DEL.addresses").value_or(""), HasSubstr("127.0.0.1"));
  EXPECT_THAT(engine_->Addresses(*pod), IsEmpty());
  ASSERT_TRUE(engine_->StopSandbox(*pod).ok());
  ASSERT_TRUE(engine_->RemoveSandbox(*pod).ok());
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD main", "DEL main"));
  ExpectNothingLeft();
}

TEST_F(SandboxNetworkTest, APodOfTheHostsNetworkHasNone) {
  SandboxSpec spec = PodSpec();
  spec.namespaces.network = NamespaceMode::kNode;
  const auto pod = engine_->RunSandbox(spec, "");
  ASSERT_TRUE(pod.ok()) << pod.status();
  ASSERT_TRUE(engine_->RemoveSandbox(*pod).ok());
  EXPECT_THAT(scripts_.calls(), IsEmpty());
}

TEST_F(SandboxNetworkTest, WithoutConfigurationThereIsLoopback) {
  ASSERT_TRUE(scripts_.root().RemoveFile("conf/10.conflist").ok());
  const auto pod = engine_->RunSandbox(PodSpec(), "");
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_THAT(engine_->Addresses(*pod), IsEmpty());
  EXPECT_THAT(HostsOf(*pod), HasSubstr("127.0.1.1\tpod\n"));
  ASSERT_TRUE(engine_->RemoveSandbox(*pod).ok());
}

TEST_F(SandboxNetworkTest, AFailedAddFailsThePodAndLeavesNothing) {
  scripts_.Write("main",
                 R"([ $CNI_COMMAND != ADD ] || { echo '{"code": 11, "msg": "later"}'; exit 1; })");
  const auto pod = engine_->RunSandbox(PodSpec(), "");
  EXPECT_TRUE(absl::IsUnavailable(pod.status())) << pod.status();
  EXPECT_THAT(std::string(pod.status().message()),
              HasSubstr("network pods: plugin main ADD: later"));
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD main", "DEL main"));
  EXPECT_THAT(network_->Attached(), IsEmpty());
  ExpectNothingLeft();
}

TEST_F(SandboxNetworkTest, ThePidNamespaceIsMadeWhilePluginsRun) {
  scripts_.Write("main", absl::StrCat("[ $CNI_COMMAND = ADD ] || exit 0\n", AwaitPidNamespace(),
                                      "echo '", kResult, "'"));
  const auto pod = engine_->RunSandbox(SharedPid(), "");
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(CountInPidNamespace(), 1u);
  EXPECT_THAT(engine_->Addresses(*pod), ElementsAre("10.1.0.5", "fd00::5"));
  EXPECT_THAT(phases_, AllOf(Contains("sandbox_network"), Contains("sandbox_pid_namespace")));
  ASSERT_TRUE(engine_->RemoveSandbox(*pod).ok());
  EXPECT_EQ(CountInPidNamespace(), 0u);
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD main", "DEL main"));
  ExpectNothingLeft();
}

TEST_F(SandboxNetworkTest, AFailedAddEndsThePidNamespaceMadeBesideIt) {
  scripts_.Write("main", absl::StrCat("[ $CNI_COMMAND = ADD ] || exit 0\n", AwaitPidNamespace(),
                                      R"(echo '{"code": 11, "msg": "later"}'; exit 1)"));
  const auto pod = engine_->RunSandbox(SharedPid(), "");
  EXPECT_TRUE(absl::IsUnavailable(pod.status())) << pod.status();
  EXPECT_EQ(CountInPidNamespace(), 0u);
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD main", "DEL main"));
  EXPECT_THAT(network_->Attached(), IsEmpty());
  EXPECT_THAT(phases_, Not(Contains("sandbox_pid_namespace")));
  ExpectNothingLeft();
}

TEST_F(SandboxNetworkTest, APidNamespaceThatFailsUndoesTheNetworkMadeBesideIt) {
  pause_program_ = "/bin/false";
  StartEngine();
  const auto pod = engine_->RunSandbox(SharedPid(), "");
  EXPECT_THAT(std::string(pod.status().message()), StartsWith("make a PID namespace for the pod"));
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD main", "DEL main"));
  EXPECT_THAT(network_->Attached(), IsEmpty());
  ExpectNothingLeft();
}

TEST_F(SandboxNetworkTest, WhereNetworkAndPidNamespaceFailTheNetworksErrorIsTold) {
  pause_program_ = "/bin/false";
  StartEngine();
  scripts_.Write("main", R"([ $CNI_COMMAND != ADD ] || {
    sleep 0.2; echo '{"code": 11, "msg": "later"}'; exit 1; })");
  const auto pod = engine_->RunSandbox(SharedPid(), "");
  EXPECT_TRUE(absl::IsUnavailable(pod.status())) << pod.status();
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD main", "DEL main"));
  EXPECT_THAT(network_->Attached(), IsEmpty());
  ExpectNothingLeft();
}

TEST_F(SandboxNetworkTest, AHostPortThatAnotherPodHoldsIsRefusedUntilThatIsStopped) {
  SandboxSpec spec = PodSpec();
  spec.network.port_mappings = {{.container_port = 80, .host_port = 8080}};
  const auto pod = engine_->RunSandbox(spec, "");
  ASSERT_TRUE(pod.ok()) << pod.status();
  SandboxSpec other = spec;
  other.name = "other";
  const auto refuse = [&] {
    const absl::Status refused = engine_->RunSandbox(other, "").status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr(absl::StrCat("host port 8080/tcp is held by pod ", spec.pod_namespace,
                                       "/", spec.name, " (sandbox ", *pod, ")")));
    EXPECT_EQ(engine_->ListSandboxes().size(), 1u);
    EXPECT_EQ(store_.LoadSandboxes()->size(), 1u);
    EXPECT_THAT(network_->Attached(), ElementsAre(*pod));
    EXPECT_THAT(scripts_.calls(), ElementsAre("ADD main"));
  };
  refuse();
  Restart();
  refuse();
  // On the host's network the pod's own programs take the port.
  SandboxSpec of_host = spec;
  of_host.name = "of-host";
  of_host.namespaces.network = NamespaceMode::kNode;
  const auto third = engine_->RunSandbox(of_host, "");
  EXPECT_TRUE(third.ok()) << third.status();

  ASSERT_TRUE(engine_->StopSandbox(*pod).ok());
  const auto second = engine_->RunSandbox(other, "");
  EXPECT_TRUE(second.ok()) << second.status();
  for (const SandboxRecord& record : engine_->ListSandboxes()) {
    EXPECT_TRUE(engine_->RemoveSandbox(record.id).ok());
  }
  ExpectNothingLeft();
}

TEST_F(SandboxNetworkTest, WhatCanNotBeGivenBackIsToldAndTriedAgain) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  scripts_.Write("main", "echo no >&2; exit 1");
  EXPECT_THAT(std::string(engine_->StopSandbox(pod).message()), HasSubstr("plugin main DEL: "));
  // The namespace waits for the next try.
  EXPECT_TRUE(run_.Exists(absl::StrCat("sandboxes/", pod, "/net")));
  EXPECT_FALSE(engine_->RemoveSandbox(pod).ok());
  scripts_.WriteGood("main", kResult);
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  ExpectNothingLeft();
}

// The namespace exists until the plugins have released it.
TEST_F(SandboxNetworkTest, OfABrokenSandboxItIsGivenBackBeforeTheNamespaceGoes) {
  SandboxSpec spec = PodSpec();
  const std::string pod = *engine_->RunSandbox(spec, "");
  engine_.reset();
  const std::string place = absl::StrCat("sandboxes/", pod);
  ASSERT_TRUE(linux::Unmount(run_.PathOf(place + "/ipc"), /*lazy=*/false).ok());
  Restart();
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  EXPECT_TRUE(WaitUntil([&] { return !run_.Exists(place + "/net"); }));
  EXPECT_THAT(scripts_.EnvironmentOf("main", "DEL"),
              Contains(absl::StrCat("CNI_NETNS=", run_.PathOf(place), "/net")));
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  ExpectNothingLeft();
}

// A kill of the daemon during a stop that gives back the pod's network.
TEST_F(SandboxNetworkTest, APodWhoseStopWasCutOffIsStoppedByTheNextDaemon) {
  for (const bool network_is_gone : {false, true}) {
    SCOPED_TRACE(network_is_gone ? "after DEL" : "during DEL");
    const std::string pod = *engine_->RunSandbox(PodSpec(), "");
    const std::string place = absl::StrCat("sandboxes/", pod);
    // The stop ends at the plugin's failure, or just after the plugin's work.
    scripts_.Write("main", "[ $CNI_COMMAND != DEL ]");
    ASSERT_FALSE(engine_->StopSandbox(pod).ok());
    scripts_.WriteGood("main", kResult);
    if (network_is_gone) {
      ASSERT_TRUE(network_->Delete(pod).ok());
    }
    // The row is written once the plugin has ended.
    SandboxRecord row = store_.LoadSandboxes()->front();
    row.state = SandboxState::kReady;
    ASSERT_TRUE(store_.PutSandbox(row).ok());
    Restart();
    EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
    EXPECT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kNotReady);
    EXPECT_TRUE(WaitUntil([&] { return !run_.Exists(place + "/net"); }));
    EXPECT_THAT(network_->Attached(), IsEmpty());
    EXPECT_THAT(engine_->Addresses(pod), IsEmpty());
    EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty());
    EXPECT_THAT(Differences(), IsEmpty());
    EXPECT_TRUE(engine_->StopSandbox(pod).ok());
    EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
    ExpectNothingLeft();
  }
}

// Plugins may take longer than the time between two looks.
TEST_F(SandboxNetworkTest, AStopUnderWayIsNoDifference) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  scripts_.Write("main", "[ $CNI_COMMAND != DEL ] || sleep 2");
  std::thread stop([&] { EXPECT_TRUE(engine_->StopSandbox(pod).ok()); });
  EXPECT_TRUE(WaitUntil([&] { return !scripts_.InputOf("main", "DEL").is_null(); }));
  EXPECT_THAT(Differences(), IsEmpty());
  stop.join();
}

// Remains of a failed creation, which the pod's next sandbox has removed.
TEST_F(SandboxNetworkTest, ARemovalUnderWayIsNoDifference) {
  SandboxSpec spec = PodSpec();
  scripts_.Write("main", "exit 1");
  ASSERT_FALSE(engine_->RunSandbox(spec, "").ok());
  EXPECT_THAT(Differences(), ElementsAre(Difference::kSandboxHalfRemoved));
  scripts_.Write("main", absl::StrCat("case $CNI_COMMAND in ADD) echo '", kResult, "';;\nDEL) ",
                                      "touch ", scripts_.path(), "/began\nuntil [ -e ",
                                      scripts_.path(), "/go-on ]; do sleep 0.05; done;; esac"));
  spec.attempt = 1;
  const auto next = engine_->RunSandbox(spec, "");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_TRUE(WaitUntil([&] { return scripts_.root().Exists("began"); }));
  EXPECT_THAT(Differences(), IsEmpty());
  ASSERT_TRUE(scripts_.root().ReplaceFile("go-on", "").ok());
  EXPECT_TRUE(WaitUntil([&] { return engine_->ListSandboxes().size() == 1; }));
  EXPECT_TRUE(engine_->RemoveSandbox(*next).ok());
  ExpectNothingLeft();
}

// While it is Ready, kubelet neither stops it again nor makes the pod's next sandbox.
TEST_F(SandboxNetworkTest, APodWhoseStopHasFailedIsNotReady) {
  scripts_.WriteGood("main", kResult);
  const std::string other = *engine_->RunSandbox(PodSpec(), "");
  scripts_.Write("main", "[ $CNI_COMMAND != DEL ]");
  ASSERT_FALSE(engine_->StopSandbox(other).ok());
  EXPECT_EQ(engine_->GetSandbox(other)->state, SandboxState::kNotReady);
  EXPECT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kNotReady);
  EXPECT_THAT(Differences(), ElementsAre(Difference::kSandboxStillHeld));
  const absl::Status refused = engine_->CreateContainer(other, Spec(), "").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("is NotReady"));
  // The network is still held, also by the next daemon.
  EXPECT_THAT(network_->Attached(), ElementsAre(other));
  Restart();
  EXPECT_EQ(engine_->GetSandbox(other)->state, SandboxState::kNotReady);
  EXPECT_FALSE(engine_->StopSandbox(other).ok());
  scripts_.WriteGood("main", kResult);
  EXPECT_TRUE(engine_->StopSandbox(other).ok());
  EXPECT_THAT(network_->Attached(), IsEmpty());
  EXPECT_TRUE(engine_->RemoveSandbox(other).ok());
}

// A kill of the daemon while the plugin ran.
TEST_F(SandboxNetworkTest, WhatWasHalfMadeIsUndoneAtTheNextStart) {
  SandboxRecord record;
  record.id = RandomId();
  record.spec = PodSpec();
  ASSERT_TRUE(store_.PutSandbox(record).ok());
  network::Attachment attachment;
  attachment.id = record.id;
  attachment.netns = "/nowhere";
  scripts_.Write("main", "[ $CNI_COMMAND = DEL ]");
  EXPECT_FALSE(network_->Add(attachment).ok());
  Restart();
  EXPECT_TRUE(WaitUntil([&] { return engine_->ListSandboxes().empty(); }));
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD main", "DEL main"));
  EXPECT_THAT(network_->Attached(), IsEmpty());
  ExpectNothingLeft();
}

// A half made pod: its row, its class and its network, as a kill leaves them.
TEST_F(SandboxNetworkTest, WhatWasHalfMadeGivesBackItsClassPlace) {
  SandboxSpec spec = PodSpec("next");
  spec.classes = {{"lane", "bronze"}};  // one place
  for (const bool can_be_given_back : {true, false}) {
    SCOPED_TRACE(can_be_given_back);
    MakeLane();
    SandboxRecord record;
    record.id = RandomId();
    record.spec = PodSpec();
    record.classes["lane"].name = "bronze";
    ASSERT_TRUE(store_.PutSandbox(record).ok());
    lane_.members[record.id] = "bronze";
    network::Attachment attachment;
    attachment.id = record.id;
    scripts_.Write("main", "exit 1");
    EXPECT_FALSE(network_->Add(attachment).ok());
    if (can_be_given_back) scripts_.WriteGood("main", kResult);
    Restart();
    if (can_be_given_back) {
      EXPECT_TRUE(WaitUntil([&] { return engine_->ListSandboxes().empty(); }));
    }
    scripts_.WriteGood("main", kResult);
    EXPECT_THAT(lane_.members, IsEmpty());
    const auto next = engine_->RunSandbox(spec, "");
    EXPECT_TRUE(next.ok()) << next.status();
    EXPECT_THAT(Differences(), Not(Contains(Difference::kStrayClassPlace)));
    for (const SandboxRecord& left : engine_->ListSandboxes()) {
      EXPECT_TRUE(engine_->RemoveSandbox(left.id).ok());
    }
  }
}

// A kill of the daemon once a stop's plugins have failed: the stop had released the class.
TEST_F(SandboxNetworkTest, AStopThatWasCutOffTakesNoClassPlaceAgain) {
  MakeLane();
  Restart();
  SandboxSpec spec = PodSpec("first");
  spec.classes = {{"lane", "bronze"}};  // one place
  const std::string first = *engine_->RunSandbox(spec, "");
  scripts_.Write("main", "[ $CNI_COMMAND != DEL ]");
  ASSERT_FALSE(engine_->StopSandbox(first).ok());
  scripts_.WriteGood("main", kResult);
  spec.name = "second";
  const auto second = engine_->RunSandbox(spec, "");
  ASSERT_TRUE(second.ok()) << second.status();
  MakeLane();
  Restart();
  EXPECT_EQ(engine_->GetSandbox(first)->state, SandboxState::kNotReady);
  EXPECT_THAT(lane_type_->adopted, ElementsAre(Pair(*second, "bronze")));
  EXPECT_THAT(lane_.members, ElementsAre(Pair(*second, "bronze")));
  spec.name = "third";
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->RunSandbox(spec, "").status()));
  for (const SandboxRecord& record : engine_->ListSandboxes()) {
    EXPECT_TRUE(engine_->RemoveSandbox(record.id).ok());
  }
  ExpectNothingLeft();
}

// A network outage: neither ADD nor DEL succeeds.
TEST_F(SandboxNetworkTest, AStopGivesBackWhatAFailedPodHolds) {
  SandboxSpec spec = PodSpec();
  spec.network.port_mappings = {{.container_port = 80, .host_port = 8080}};
  scripts_.Write("main", "exit 1");
  ASSERT_FALSE(engine_->RunSandbox(spec, "").ok());
  ASSERT_EQ(engine_->ListSandboxes().size(), 1u);
  const std::string failed = engine_->ListSandboxes().front().id;
  EXPECT_THAT(std::string(engine_->StopSandbox(failed).message()), HasSubstr("plugin main DEL"));
  SandboxSpec other = spec;
  other.name = "other";
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->RunSandbox(other, "").status()));
  scripts_.WriteGood("main", kResult);
  EXPECT_TRUE(engine_->StopSandbox(failed).ok());
  EXPECT_THAT(network_->Attached(), IsEmpty());
  EXPECT_FALSE(run_.Exists(absl::StrCat("sandboxes/", failed, "/net")));
  const auto next = engine_->RunSandbox(other, "");
  EXPECT_TRUE(next.ok()) << next.status();
  for (const SandboxRecord& record : engine_->ListSandboxes()) {
    EXPECT_TRUE(engine_->RemoveSandbox(record.id).ok());
  }
  ExpectNothingLeft();
}

TEST_F(SandboxNetworkTest, AFailedPodsRemainsDontKeepItFromBeingMadeAgain) {
  SandboxSpec spec = PodSpec();
  spec.network.port_mappings = {{.container_port = 80, .host_port = 8080}};
  scripts_.Write("main", "exit 1");
  ASSERT_FALSE(engine_->RunSandbox(spec, "").ok());
  const std::string failed = engine_->ListSandboxes().front().id;
  // Under its own name, while the remains still can't be given back.
  scripts_.Write(
      "main", absl::StrCat("case $CNI_COMMAND in ADD) echo '", kResult, "';; DEL) exit 1;; esac"));
  const auto again = engine_->RunSandbox(spec, "");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(network_->Attached(), UnorderedElementsAre(failed, *again));
  // The next sandbox of the pod has them removed, and waits for nothing.
  scripts_.WriteGood("main", kResult);
  ASSERT_TRUE(engine_->RemoveSandbox(*again).ok());
  spec.attempt = 1;
  const auto third = engine_->RunSandbox(spec, "");
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_TRUE(WaitUntil([&] { return engine_->ListSandboxes().size() == 1; }));
  EXPECT_THAT(network_->Attached(), ElementsAre(*third));
  EXPECT_TRUE(engine_->RemoveSandbox(*third).ok());
  ExpectNothingLeft();
}

TEST_F(SandboxNetworkTest, AfterARebootItIsGivenBackWithoutANamespace) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  engine_.reset();
  SandboxRecord record = (*store_.LoadSandboxes())[0];
  record.boot_id = "another";
  ASSERT_TRUE(store_.PutSandbox(record).ok());
  ASSERT_TRUE(scripts_.root().RemoveFile("conf/10.conflist").ok());
  Restart();
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  EXPECT_TRUE(WaitUntil([&] { return network_->Attached().empty(); }));
  EXPECT_THAT(scripts_.EnvironmentOf("main", "DEL"), Contains("CNI_NETNS="));
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  ExpectNothingLeft();
}

TEST_F(SandboxNetworkTest, ASandboxWithADamagedRowKeepsItUntilItIsRemoved) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  engine_.reset();
  {
    auto database =
        sqlite::Database::Open(dir_.path() + "/state/plimsoll.db", sqlite::Durability::kNormal);
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE((*database)->Execute("UPDATE sandboxes SET spec = '{'").ok());
  }
  Restart();
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  EXPECT_THAT(Differences(), ElementsAre(Difference::kDamagedRow));
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD main"));
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_THAT(scripts_.calls(), ElementsAre("ADD main", "DEL main"));
}

TEST_F(SandboxNetworkTest, AnAttachmentOfNoSandboxIsGivenBack) {
  network::Attachment attachment;
  attachment.id = RandomId();
  ASSERT_TRUE(network_->Add(attachment).ok());
  const std::string place = "sandboxes/" + attachment.id;
  ASSERT_TRUE(run_.MakeDirs(place).ok());
  EXPECT_THAT(Differences(), ElementsAre(Difference::kStraySandbox, Difference::kStrayNetwork));
  Restart();
  EXPECT_TRUE(WaitUntil([&] { return !run_.Exists(place); }));
  EXPECT_THAT(network_->Attached(), IsEmpty());
  EXPECT_THAT(scripts_.calls(), Contains("DEL main"));
}

TEST_F(SandboxNetworkTest, InspectionAsksThePluginsAndShowsWhatIsLeft) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  EXPECT_THAT(Differences(), IsEmpty());
  scripts_.Write("main", R"(echo '{"code": 100, "msg": "no such link"}'; exit 1)");
  const std::vector<Finding> findings = engine_->Inspect();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].difference, Difference::kSandboxNetworkBroken);
  EXPECT_EQ(findings[0].sandbox_id, pod);
  EXPECT_THAT(findings[0].what, HasSubstr("plugin main CHECK: no such link"));
  EXPECT_FALSE(IsActedUpon(findings[0].difference));

  engine_.reset();
  SandboxRecord record = (*store_.LoadSandboxes())[0];
  record.boot_id = "another";
  ASSERT_TRUE(store_.PutSandbox(record).ok());
  Restart();  // its DEL fails
  EXPECT_TRUE(WaitUntil([&] { return !scripts_.InputOf("main", "DEL").is_null(); }));
  EXPECT_THAT(Differences(), ElementsAre(Difference::kSandboxNetworkLeft));
  scripts_.WriteGood("main", kResult);
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
}

}  // namespace
}  // namespace plimsoll::runtime
