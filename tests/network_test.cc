// Pods' networks with Debian's plugins: a bridge, its addresses and host ports; failing, hanging
// and interrupted plugins.
#include <atomic>
#include <set>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/metrics.h"
#include "harness/network_node.h"
#include "harness/node.h"
#include "harness/own_mark.h"
#include "runtime/store/store.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class NetworkTest : public NetworkNodeTest {
 protected:
  // An installed file, except for the place of its leases.
  void WritePackaged(const std::string& name) {
    const auto text = Host().Read(SourcePath("packaging/" + name));
    ASSERT_TRUE(text.ok()) << text.status();
    const std::string type = R"("type": "host-local",)";
    ASSERT_THAT(*text, HasSubstr(type));
    const std::string here = absl::StrReplaceAll(
        *text, {{type, absl::StrCat(type, R"( "dataDir": ")", files_.path(), R"(/leases",)")}});
    EXPECT_TRUE(files_.root().ReplaceFile("conf/10-test.conflist", here, 0644).ok());
  }
  // A pod whose containers share a PID namespace.
  cri::PodSandboxConfig WithOnePidNamespace() {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
        cri::POD);
    return config;
  }
  // "pid:[4026531836]", as a plugin has noted it.
  size_t CountInPidNamespace(const std::string& pid_namespace) {
    const auto names = Host().List("proc");
    EXPECT_TRUE(names.ok()) << names.status();
    size_t count = 0;
    for (const std::string& name : *names) {
      count +=
          Host().ReadLink(absl::StrCat("proc/", name, "/ns/pid")).value_or("") == pid_namespace;
    }
    return count;
  }
};

TEST_F(NetworkTest, APodIsReachedByItsAddressesAndByAHostPort) {
  const std::string pod = RunPod(WithPort());
  Serve(pod, "hello");
  const cri::PodSandboxStatus status = PodStatus(pod);
  EXPECT_THAT(status.network().ip(), StartsWith("10.191."));
  ASSERT_EQ(status.network().additional_ips_size(), 1);
  EXPECT_THAT(status.network().additional_ips(0).ip(), StartsWith("fd2a:5c1d:7b3e:"));
  ExpectPage(status.network().ip(), kPort, "hello");
  ExpectPage(status.network().additional_ips(0).ip(), kPort, "hello");
  ExpectPage("127.0.0.1", kHostPort, "hello");
  ExpectPage(kGateway, kHostPort, "hello");
  ASSERT_TRUE(StopPod(pod).ok());
  EXPECT_EQ(Get("127.0.0.1", kHostPort), "");
  EXPECT_EQ(PodStatus(pod).network().ip(), "");
  EXPECT_TRUE(StopPod(pod).ok());
  ExpectNothingLeft();
}

class CountedNetworkTest : public NetworkNodeTest {
 protected:
  CountedNetworkTest() : NetworkNodeTest(MetricsConfig()) {}
};

TEST_F(CountedNetworkTest, EachPhaseOfAPodsStartIsTimed) {
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
      cri::POD);
  RunPod(config);
  for (const char* phase : {"sandbox_cgroup", "sandbox_namespaces", "sandbox_network_plugins",
                            "sandbox_network", "sandbox_pid_namespace"}) {
    const std::string labels = absl::StrCat("{phase=\"", phase, "\"}");
    EXPECT_EQ(MetricValue("plimsoll_start_phase_duration_seconds_count" + labels), 1) << phase;
    EXPECT_GT(MetricValue("plimsoll_start_phase_duration_seconds_sum" + labels), 0) << phase;
  }
  RunPod();
  EXPECT_EQ(MetricValue("plimsoll_start_phase_duration_seconds_count{phase=\"sandbox_network\"}"),
            2);
  EXPECT_EQ(
      MetricValue("plimsoll_start_phase_duration_seconds_count{phase=\"sandbox_pid_namespace\"}"),
      1)
      << "only where there is one";
}

TEST_F(NetworkTest, TheCommandLineListsAddresses) {
  const cri::PodSandboxStatus status = PodStatus(RunPod());
  ASSERT_EQ(status.network().additional_ips_size(), 1);
  const auto pods = RunProgram(
      {.argv = {ProgramPath("plimsoll"), "--address", node_.address(), "pods", "-o", "wide"}});
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_THAT(pods->out, HasSubstr(absl::StrCat(" ", status.network().ip(), ",",
                                                status.network().additional_ips(0).ip(), " ")));
}

TEST_F(NetworkTest, ThePackagedNetworksWork) {
  for (const auto& [name, addresses] : {std::pair<const char*, size_t>("99-plimsoll.conflist", 1),
                                        {"99-plimsoll-dual-stack.conflist", 2}}) {
    WritePackaged(name);
    EXPECT_TRUE(NetworkReady().status()) << NetworkReady().message();
    const std::string pod = RunPod(WithPort());
    Serve(pod, "packaged");
    EXPECT_EQ(Leases().size(), addresses);
    ExpectPage("127.0.0.1", kHostPort, "packaged");
    const std::string address = PodStatus(pod).network().ip();
    const std::string client = Start(RunPod(), Shell("sleep 1000"));
    EXPECT_EQ(ExecOutput(client, absl::StrCat("/bin/busybox wget -q -O - http://", address, ":",
                                              kPort, "/page")),
              "packaged\n");
    RemoveAllPods();
    ExpectNothingLeft();
  }
}

TEST_F(NetworkTest, ManyAtOnceHaveAddressesOfTheirOwn) {
  constexpr int kPods = 30;
  std::vector<cri::PodSandboxConfig> configs;
  for (int i = 0; i < kPods; ++i)
    configs.push_back(i % 2 == 0 ? PodConfig() : WithOnePidNamespace());
  std::vector<std::string> pods(kPods);
  std::atomic<int> next = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 10; ++i) {
    clients.emplace_back([&] {
      for (int at = next++; at < kPods; at = next++) {
        const auto place = static_cast<size_t>(at);
        const grpc::Status status = NodeTest::TryRunPod(configs[place], &pods[place]);
        EXPECT_TRUE(status.ok()) << status.error_message();
      }
    });
  }
  for (std::thread& client : clients) client.join();
  std::set<std::string> addresses;
  for (const std::string& pod : pods) addresses.insert(PodStatus(pod).network().ip());
  EXPECT_EQ(addresses.size(), static_cast<size_t>(kPods));
  EXPECT_EQ(addresses.count(""), 0u);
}

TEST_F(NetworkTest, PodsReachEachOther) {
  const std::string server = RunPod();
  Serve(server, "neighbour");
  const std::string address = PodStatus(server).network().ip();
  ExpectPage(address, kPort, "neighbour");
  const std::string client = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(client, absl::StrCat("/bin/busybox wget -q -O - http://", address, ":",
                                            kPort, "/page")),
            "neighbour\n");
}

TEST_F(NetworkTest, TheDaemonIsNotNeededForItAndFindsItAgain) {
  const std::string pod = RunPod(WithPort());
  Serve(pod, "still");
  const std::string address = PodStatus(pod).network().ip();
  ExpectPage(address, kPort, "still");
  node_.KillDaemon();
  ExpectPage("127.0.0.1", kHostPort, "still");
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(PodStatus(pod).network().ip(), address);
  ASSERT_TRUE(StopPod(pod).ok());
  ExpectNothingLeft();
}

TEST_F(NetworkTest, AHostPortIsOnePodsUntilThatIsStopped) {
  const cri::PodSandboxConfig config = WithPort();
  const std::string pod = RunPod(config);
  Serve(pod, "first");
  const cri::PodSandboxConfig other = WithPort();
  const auto refuse = [&] {
    const grpc::Status status = TryRunPod(other);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(),
                HasSubstr(absl::StrCat("host port ", kHostPort, "/tcp is held by pod ",
                                       config.metadata().namespace_(), "/",
                                       config.metadata().name(), " (sandbox ", pod, ")")));
    EXPECT_EQ(CountPods(), 1u);
    EXPECT_EQ(Leases().size(), 2u);
    ExpectPage("127.0.0.1", kHostPort, "first");
  };
  refuse();
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  refuse();
  ASSERT_TRUE(StopPod(pod).ok());
  const std::string second = RunPod(other);
  Serve(second, "second");
  ExpectPage("127.0.0.1", kHostPort, "second");
  ASSERT_TRUE(StopPod(second).ok());
  ExpectNothingLeft();
}

TEST_F(NetworkTest, APodOfTheHostsNetworkHasNoneOfItsOwn) {
  cri::PodSandboxConfig config = WithPort();
  config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
      cri::NODE);
  const std::string pod = RunPod(config);
  EXPECT_EQ(PodStatus(pod).network().ip(), "");
  EXPECT_THAT(Interfaces(), Not(Contains("pltest0")));
  const std::string container = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(container, "cat /etc/hostname"), ExecOutput(container, "hostname"));
  EXPECT_EQ(ExecOutput(container, "cat /etc/hosts"), *Host().Read("etc/hosts"));
  EXPECT_THAT(Leases(), IsEmpty());
}

TEST_F(NetworkTest, NameAndResolverAreThePods) {
  cri::PodSandboxConfig config = PodConfig();
  const std::string name = "web-0.nginx.default.svc.";  // setHostnameAsFQDN without a domain
  config.set_hostname(name);
  config.mutable_dns_config()->add_servers("10.96.0.10");
  config.mutable_dns_config()->add_searches("default.svc.cluster.local");
  config.mutable_dns_config()->add_searches("svc.cluster.local");
  config.mutable_dns_config()->add_options("ndots:5");
  const std::string pod = RunPod(config);
  const std::string container = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(container, "cat /etc/resolv.conf"),
            "search default.svc.cluster.local svc.cluster.local\nnameserver 10.96.0.10\n"
            "options ndots:5\n");
  EXPECT_EQ(ExecOutput(container, "cat /etc/hostname"), name + "\n");
  EXPECT_EQ(ExecOutput(container, "hostname"), name + "\n");
  const cri::PodSandboxNetworkStatus network = PodStatus(pod).network();
  EXPECT_THAT(ExecOutput(container, "cat /etc/hosts"),
              AllOf(HasSubstr("127.0.0.1\tlocalhost\n"),
                    HasSubstr(absl::StrCat(network.ip(), "\t", name, "\n")),
                    HasSubstr(absl::StrCat(network.additional_ips(0).ip(), "\t", name, "\n"))));
}

TEST_F(NetworkTest, ReadyIsWhatTheDirectorySaysNow) {
  EXPECT_TRUE(NetworkReady().status()) << NetworkReady().message();
  ASSERT_TRUE(files_.root().RemoveFile("conf/10-test.conflist").ok());
  EXPECT_FALSE(NetworkReady().status());
  EXPECT_EQ(NetworkReady().reason(), "NetworkPluginNotReady");
  EXPECT_THAT(NetworkReady().message(), HasSubstr("no CNI network"));
  // Loopback needs no set-up.
  const std::string pod = RunPod();
  EXPECT_EQ(PodStatus(pod).network().ip(), "");
  ASSERT_TRUE(files_.root().ReplaceFile("conf/10-test.conflist", "{", 0644).ok());
  EXPECT_THAT(NetworkReady().message(), HasSubstr("10-test.conflist: not valid JSON"));
  EXPECT_EQ(TryRunPod(PodConfig()).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  WriteBridge();
  EXPECT_TRUE(NetworkReady().status()) << NetworkReady().message();
  EXPECT_THAT(PodStatus(RunPod()).network().ip(), StartsWith("10.191."));
}

TEST_F(NetworkTest, ARunSaysThatItsPodHasLoopbackAlone) {
  const std::string manifest = files_.path() + "/pod.yaml";
  ASSERT_TRUE(Host()
                  .ReplaceFile(manifest,
                               "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n"
                               "  restartPolicy: Never\n  containers: [{name: a, image: busybox, "
                               "command: [/bin/busybox, echo, hello]}]\n")
                  .ok());
  const auto run = [&] {
    return RunProgram(
        {.argv = {ProgramPath("plimsoll"), "--address", node_.address(), "run", manifest}},
        {.timeout = Patience(absl::Seconds(60))});
  };
  const auto with_network = run();
  ASSERT_TRUE(with_network.ok()) << with_network.status();
  EXPECT_EQ(with_network->exit.code, 0) << with_network->err;
  EXPECT_THAT(with_network->err, Not(HasSubstr("loopback")));
  ASSERT_TRUE(files_.root().RemoveFile("conf/10-test.conflist").ok());
  const auto without = run();
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->exit.code, 0) << without->err;
  EXPECT_THAT(without->err,
              HasSubstr(absl::StrCat("pod web: note: has loopback alone (no CNI network: ",
                                     files_.path(), "/conf has no file that ends in ")));
}

TEST_F(NetworkTest, APluginThatFailsFailsThePod) {
  WriteBridgeAnd(R"(echo '{"code": 7, "msg": "no such zone", "details": "zone-7"}'; exit 1)");
  const grpc::Status status = TryRunPod(PodConfig());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              HasSubstr("network test: plugin odd ADD: no such zone; zone-7 (code 7)"));
  EXPECT_EQ(CountPods(), 0u);
  ExpectNothingLeft();
  WriteBridge();
  EXPECT_THAT(PodStatus(RunPod()).network().ip(), StartsWith("10.191."));
}

TEST_F(NetworkTest, APluginThatWritesGarbageFailsThePod) {
  for (const char* garbage : {"echo garbage", "head -c 3000000 /dev/zero", "true",
                              R"(echo '{"ips": [{"address": "300.1.1.1/8"}]}')"}) {
    WriteBridgeAnd(garbage);
    const grpc::Status status = TryRunPod(PodConfig());
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL) << garbage;
    EXPECT_THAT(status.error_message(), HasSubstr("plugin odd ADD: printed")) << garbage;
    EXPECT_EQ(CountPods(), 0u);
    ExpectNothingLeft();
  }
}

TEST_F(NetworkTest, APluginThatHangsIsEndedAndFailsThePod) {
  const std::string mark = "sleep " + OwnMark(1);
  WriteBridgeAnd(absl::StrCat("trap '' TERM\n", mark, " &\nwait"));
  const grpc::Status status = TryRunPod(PodConfig());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("plugin odd ADD: "));
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(mark).empty(); }));
  EXPECT_EQ(CountPods(), 0u);
  ExpectNothingLeft();
}

TEST_F(NetworkTest, AKillInTheMidstOfAddLeavesNothingAfterTheNextStart) {
  const std::string mark = "sleep " + OwnMark(2);
  WriteBridgeAnd("exec " + mark);
  std::thread client([&] { EXPECT_FALSE(TryRunPod(PodConfig()).ok()); });
  EXPECT_TRUE(Eventually([&] { return !ProcessesWith(mark).empty(); }));
  EXPECT_EQ(Veths().size(), 1u);
  EXPECT_EQ(Leases().size(), 2u);
  node_.KillDaemon();
  client.join();
  EXPECT_EQ(ProcessesWith(mark).size(), 1u) << "nobody has ended the plugin yet";
  const auto inspected = RunProgram(
      {.argv = {ProgramPath("plimsolld"), "--config", node_.config_path(), "--inspect"}});
  ASSERT_TRUE(inspected.ok()) << inspected.status();
  EXPECT_THAT(inspected->out,
              AllOf(HasSubstr("SandboxHalfMade"), HasSubstr("network plugins are told")));
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_THAT(ProcessesWith(mark), IsEmpty());
  EXPECT_TRUE(Eventually([&] { return CountPods() == 0; }));
  ExpectNothingLeft();
}

// The init of the pod's PID namespace is made in parallel, and waits for the plugins' end.
TEST_F(NetworkTest, AKillInTheMidstOfAddEndsThePidNamespaceMadeBesideIt) {
  const std::string mark = "sleep " + OwnMark(3);
  const std::string pin = "$(dirname $CNI_NETNS)/pid";
  WriteBridgeAnd(absl::StrCat("until [ \"$(stat -f -c %T ", pin,
                              ")\" = nsfs ]; do sleep 0.05; done\n", "stat -L -c 'pid:[%i]' ", pin,
                              " > ", files_.path(), "/new\n", "mv ", files_.path(), "/new ",
                              files_.path(), "/namespace\nexec ", mark));
  std::thread client([&] { EXPECT_FALSE(TryRunPod(WithOnePidNamespace()).ok()); });
  EXPECT_TRUE(Eventually([&] { return files_.root().Exists("namespace"); }));
  const std::string made(absl::StripAsciiWhitespace(files_.root().Read("namespace").value_or("")));
  EXPECT_THAT(made, StartsWith("pid:["));
  EXPECT_EQ(CountInPidNamespace(made), 1u);
  node_.KillDaemon();
  client.join();
  EXPECT_TRUE(Eventually([&] { return CountInPidNamespace(made) == 0; })) << "nobody remembers it";
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_THAT(ProcessesWith(mark), IsEmpty());
  EXPECT_TRUE(Eventually([&] { return CountPods() == 0; }));
  ExpectNothingLeft();
}

// Rows of another boot: the plugins hear that the namespace is removed. (The rest of a reboot isn't
// tested here, so the veth goes with the namespace.)
TEST_F(NetworkTest, AfterARebootAddressesAreGivenBack) {
  const std::string pod = RunPod();
  EXPECT_EQ(Leases().size(), 2u);
  node_.KillDaemon();
  {
    const auto store = runtime::Store::Open(*FsRoot::Open(node_.state_directory()));
    ASSERT_TRUE(store.ok()) << store.status();
    auto sandboxes = *(*store)->LoadSandboxes();
    ASSERT_EQ(sandboxes.size(), 1u);
    sandboxes[0].boot_id = "another";
    ASSERT_TRUE((*store)->PutSandbox(sandboxes[0]).ok());
  }
  // Rules don't survive a boot, and without the namespace the plugin can't find its own.
  ASSERT_EQ(RunProgram({.argv = {*FindProgram("iptables"), "-t", "nat", "-F"}})->exit.code, 0);
  ASSERT_EQ(RunProgram({.argv = {*FindProgram("ip6tables"), "-t", "nat", "-F"}})->exit.code, 0);
  ASSERT_TRUE(files_.root().RemoveFile("conf/10-test.conflist").ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_NOTREADY);
  EXPECT_TRUE(Eventually([&] { return Leases().empty(); }));
  EXPECT_TRUE(Eventually([&] { return Veths().empty(); }));
}

}  // namespace
}  // namespace plimsoll::testing
