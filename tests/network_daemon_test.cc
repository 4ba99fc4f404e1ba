// The daemon's use of network plugins: a DEL that fails or hangs, GC at its start, STATUS, the
// interfaces that count; and a pod's default resolver.
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "harness/network_node.h"
#include "harness/own_mark.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Longer means hanging: plugins have 10 seconds.
constexpr absl::Duration kBound = absl::Seconds(60);

class NetworkDaemonTest : public NetworkNodeTest {
 protected:
  explicit NetworkDaemonTest(const std::string& more = "") : NetworkNodeTest(more) {}

  // The bridge, followed by a plugin that changes nothing (Debian's tuning) but at DEL runs `del`
  // until the file "mended" exists.
  void WriteBridgeAndDel(const std::string& del) {
    WritePlugin("odd", absl::StrCat("cd ", files_.path(), "\nif [ $CNI_COMMAND = DEL ] && ",
                                    "[ ! -e mended ]; then\ncat > /dev/null\n", del, "\nfi\n",
                                    "exec /usr/lib/cni/tuning\n"));
    WriteConfig(Bridge() + R"(, {"type": "odd"})");
  }
  void Mend() { EXPECT_TRUE(files_.root().ReplaceFile("mended", "", 0644).ok()); }
  // A network of version 1.1.0 with the test's plugin only.
  void WriteAlone(const std::string& script) {
    WritePlugin("odd", script);
    WriteConfig(R"({"type": "odd"})", "1.1.0");
  }
  // Everything that DEL would have released is still there.
  void ExpectKept(const std::string& pod) {
    EXPECT_THAT(Leases(), SizeIs(2));
    EXPECT_THAT(Veths(), SizeIs(1));
    EXPECT_TRUE(Host().Exists(NetworkOf(pod)));
  }
};

TEST_F(NetworkDaemonTest, ADelThatFailsFailsTheStopUntilItIsMended) {
  WriteBridgeAndDel(R"(echo '{"code": 11, "msg": "the zone is away", "details": "zone-7"}'
                       exit 1)");
  const std::string pod = RunPod();
  Start(pod, Shell("sleep 1000"));
  for (int i = 0; i < 2; ++i) {
    const grpc::Status status = StopPod(pod);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(status.error_message(),
                HasSubstr("network test: plugin odd DEL: the zone is away; zone-7 (code 11)"));
    ExpectKept(pod);
    EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_NOTREADY) << "nothing of it runs";
  }
  EXPECT_FALSE(RemovePod(pod).ok());
  // The next daemon has to do it as well.
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_FALSE(StopPod(pod).ok());
  ExpectKept(pod);
  Mend();
  const grpc::Status stopped = StopPod(pod);
  EXPECT_TRUE(stopped.ok()) << stopped.error_message();
  EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_NOTREADY);
  EXPECT_FALSE(Host().Exists(NetworkOf(pod)));
  ExpectNothingLeft();
  EXPECT_TRUE(RemovePod(pod).ok());
  EXPECT_EQ(CountPods(), 0u);
}

TEST_F(NetworkDaemonTest, ADelThatHangsIsEndedAndHoldsNoOtherPodUp) {
  const std::string mark = "sleep " + OwnMark(1);
  WriteBridgeAndDel(absl::StrCat("trap '' TERM\n", mark, " &\nwait"));
  const std::string pod = RunPod();
  const absl::Time start = absl::Now();
  grpc::Status status;
  std::thread client([&] { status = StopPod(pod); });
  EXPECT_TRUE(Eventually([&] { return !ProcessesWith(mark).empty(); }));
  const std::string other = RunPod();
  EXPECT_FALSE(ProcessesWith(mark).empty()) << "that pod has waited for the plugin's end";
  EXPECT_THAT(PodStatus(other).network().ip(), StartsWith("10.191."));
  client.join();
  EXPECT_LT(absl::Now() - start, Patience(kBound));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("network test: plugin odd DEL: "));
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(mark).empty(); }));
  EXPECT_THAT(Leases(), SizeIs(4));
  EXPECT_TRUE(Host().Exists(NetworkOf(pod)));
  Mend();
  for (const std::string& each : {pod, other}) {
    const grpc::Status stopped = StopPod(each);
    EXPECT_TRUE(stopped.ok()) << stopped.error_message();
    EXPECT_FALSE(Host().Exists(NetworkOf(each)));
  }
  ExpectNothingLeft();
}

TEST_F(NetworkDaemonTest, WhatAPluginSaysOfItsStatusIsTheNetworks) {
  WriteAlone(absl::StrCat("cat > /dev/null\n[ $CNI_COMMAND = STATUS ] || exit 0\n[ -e ",
                          files_.path(), R"(/ready ] && exit 0
echo '{"code": 50, "msg": "the controller is away", "details": "since ten"}'
exit 1
)"));
  const cri::RuntimeCondition condition = NetworkReady();
  EXPECT_FALSE(condition.status());
  EXPECT_EQ(condition.reason(), "NetworkPluginNotReady");
  EXPECT_THAT(condition.message(),
              HasSubstr("network test: plugin odd STATUS: the controller is away; since ten "
                        "(code 50)"));
  ASSERT_TRUE(files_.root().ReplaceFile("ready", "", 0644).ok());
  EXPECT_TRUE(Eventually([&] { return NetworkReady().status(); }));
}

TEST_F(NetworkDaemonTest, AStatusThatHangsHoldsNobodyUp) {
  const std::string mark = "sleep " + OwnMark(2);
  WriteAlone(absl::StrCat("cat > /dev/null\n[ $CNI_COMMAND = STATUS ] || exit 0\n",
                          "trap '' TERM\n", mark, " &\nwait\n"));
  const absl::Time start = absl::Now();
  cri::RuntimeCondition first;
  std::thread client([&] { first = NetworkReady(); });
  EXPECT_TRUE(Eventually([&] { return !ProcessesWith(mark).empty(); }));
  const cri::RuntimeCondition second = NetworkReady();
  EXPECT_EQ(CountPods(), 0u);
  EXPECT_FALSE(ProcessesWith(mark).empty()) << "the others have waited for the plugin's end";
  client.join();
  EXPECT_LT(absl::Now() - start, Patience(kBound));
  EXPECT_FALSE(first.status());
  EXPECT_EQ(first.reason(), "NetworkPluginNotReady");
  EXPECT_THAT(first.message(), HasSubstr("network test: plugin odd STATUS: "));
  EXPECT_FALSE(second.status()) << "nobody knows yet, or it has hung";
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(mark).empty(); }));
}

TEST_F(NetworkDaemonTest, WithoutADnsConfigThePodsResolverIsTheHosts) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(container, "cat /etc/resolv.conf"),
            Host().Read("etc/resolv.conf").value_or(""));
}

// Host ports, and a class of pods with one place, over a network that fails.
class NetworkOutageTest : public NetworkDaemonTest {
 protected:
  NetworkOutageTest()
      : NetworkDaemonTest(
            "classes:\n  cgroup:\n  - {name: lane, level: pod, default: slow, capacity: "
            "{fast: 1}, classes: {fast: {}, slow: {}}}\n") {}

  // The bridge with host ports, and a plugin that runs `outage` for ADD and DEL until it is mended.
  void WriteOutage(const std::string& outage) {
    WritePlugin("odd",
                absl::StrCat("cd ", files_.path(), "\nif [ ! -e mended ]; then\n",
                             "cat > /dev/null\n", outage, "\nfi\n", "exec /usr/lib/cni/tuning\n"));
    WriteConfig(absl::StrCat(
        Bridge(), R"(, {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}},
                     {"type": "odd"})"));
  }
  // Kubelet's request for a pod's next sandbox.
  cri::PodSandboxConfig InFastLane(const cri::PodSandboxConfig& of, uint32_t attempt) {
    cri::PodSandboxConfig config = of;
    config.mutable_metadata()->set_attempt(attempt);
    (*config.mutable_class_resources()->mutable_class_())["lane"] = "fast";
    return config;
  }
  std::string OnlySandbox() {
    grpc::ClientContext context;
    cri::ListPodSandboxResponse pods;
    EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &pods).ok());
    EXPECT_EQ(pods.items_size(), 1);
    return pods.items_size() == 1 ? pods.items(0).id() : "";
  }
};

TEST_F(NetworkOutageTest, APodWithAHostPortComesBackAfterIt) {
  WriteOutage(R"(echo '{"code": 11, "msg": "the network is away"}'; exit 1)");
  const cri::PodSandboxConfig pod = WithPort();
  EXPECT_EQ(TryRunPod(InFastLane(pod, 0)).error_code(), grpc::StatusCode::UNAVAILABLE);
  const std::string failed = OnlySandbox();
  EXPECT_EQ(PodStatus(failed).state(), cri::SANDBOX_NOTREADY);
  // kubelet stops what is left before it makes the next sandbox: an OK means that nothing is held.
  EXPECT_THAT(StopPod(failed).error_message(), HasSubstr("DEL: the network is away"));
  // A client that makes it all the same fails for the network alone.
  EXPECT_EQ(TryRunPod(InFastLane(pod, 1)).error_code(), grpc::StatusCode::UNAVAILABLE);
  Mend();
  EXPECT_TRUE(StopPod(failed).ok());
  EXPECT_TRUE(StopPod(failed).ok());
  const std::string next = RunPod(InFastLane(pod, 2));
  EXPECT_TRUE(Eventually([&] { return CountPods() == 1; })) << "it removes the remains";
  EXPECT_EQ(Leases().size(), 2u) << "of the second attempt";
  Serve(next, "again");
  ExpectPage("127.0.0.1", kHostPort, "again");
  EXPECT_EQ(Doctor().exit.code, 0) << Doctor().out;
}

// kubelet leaves a Ready sandbox alone: one whose stop has failed must not pass for it.
TEST_F(NetworkOutageTest, ARunningPodWhoseStopFailedComesBackToo) {
  WriteOutage(R"(echo '{"code": 11, "msg": "the network is away"}'; exit 1)");
  Mend();
  const cri::PodSandboxConfig pod = WithPort();
  const std::string first = RunPod(InFastLane(pod, 0));
  Serve(first, "first");
  EXPECT_TRUE(files_.root().RemoveFile("mended").ok());
  EXPECT_THAT(StopPod(first).error_message(), HasSubstr("DEL: the network is away"));
  EXPECT_EQ(PodStatus(first).state(), cri::SANDBOX_NOTREADY);
  EXPECT_THAT(Doctor().out, HasSubstr("is NotReady, but namespaces of it are still pinned"));
  Mend();
  EXPECT_TRUE(StopPod(first).ok());
  Serve(RunPod(InFastLane(pod, 1)), "again");
  ExpectPage("127.0.0.1", kHostPort, "again");
  EXPECT_EQ(Doctor().exit.code, 0) << Doctor().out;
}

TEST_F(NetworkOutageTest, AKilledDaemonsHalfMadePodHoldsNothingAgainstTheNext) {
  const std::string mark = "sleep " + OwnMark(3);
  WriteOutage(absl::StrCat("[ $CNI_COMMAND = ADD ] || { echo '{\"code\": 11}'; exit 1; }\n",
                           "touch began\n", mark));
  const cri::PodSandboxConfig pod = WithPort();
  std::thread client([&] { EXPECT_FALSE(TryRunPod(InFastLane(pod, 0)).ok()); });
  EXPECT_TRUE(Eventually([&] { return files_.root().Exists("began"); }));
  node_.KillDaemon();
  client.join();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(mark).empty(); }));
  // DEL fails still, so the remains are there.
  OnlySandbox();
  Mend();
  // Another pod takes the place in the class, the pod itself its name and its host port.
  const std::string other = RunPod(InFastLane(PodConfig(), 0));
  EXPECT_EQ(PodStatus(other).class_resources().class_().at("lane"), "fast");
  const std::string again = RunPod(pod);
  EXPECT_TRUE(Eventually([&] { return CountPods() == 2; }))
      << "the next sandbox removes the remains";
  Serve(again, "again");
  ExpectPage("127.0.0.1", kHostPort, "again");
  EXPECT_EQ(Doctor().exit.code, 0) << Doctor().out;
}

class NetworkGarbageTest : public NetworkDaemonTest {
 protected:
  // The network's plugin keeps a file for each attachment; GC removes those that aren't named.
  NetworkGarbageTest() : NetworkDaemonTest("  collect_garbage: true\n") {
    EXPECT_TRUE(files_.root().MakeDirs("held", 0755).ok());
    WriteAlone(absl::StrCat("cd ", files_.path(), R"(
input=$(cat)
case $CNI_COMMAND in
  ADD) touch held/$CNI_CONTAINERID
       echo '{"cniVersion": "1.1.0", "ips": [{"address": "10.191.0.9/16"}]}' ;;
  DEL) rm -f held/$CNI_CONTAINERID ;;
  GC) for each in held/*; do
        case $input in *"${each##*/}"*) ;; *) rm -f "$each" ;; esac
      done
      printf %s "$input" > told && mv told collected ;;
esac
)"));
  }
  // The plugin's input at GC.
  std::string AwaitCollected() {
    EXPECT_TRUE(Eventually([&] { return files_.root().Exists("collected"); }));
    return files_.root().Read("collected").value_or("");
  }
  std::vector<std::string> Held() { return *files_.root().List("held"); }
};

TEST_F(NetworkGarbageTest, WhatIsNoPodsIsGivenBackAtTheStart) {
  EXPECT_THAT(AwaitCollected(), HasSubstr(R"("cni.dev/valid-attachments":[])"));
  const std::string pod = RunPod();
  EXPECT_EQ(PodStatus(pod).network().ip(), "10.191.0.9");
  node_.KillDaemon();
  const std::string stray(64, 'e');
  ASSERT_TRUE(files_.root().ReplaceFile("held/" + stray, "", 0644).ok());
  ASSERT_TRUE(files_.root().RemoveFile("collected").ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  const std::string valid = absl::StrCat(R"("cni.dev/valid-attachments":[{"containerID":")", pod,
                                         R"(","ifname":"eth0"}])");
  EXPECT_THAT(AwaitCollected(), HasSubstr(valid));
  EXPECT_THAT(Held(), ElementsAre(pod));
  ASSERT_TRUE(StopPod(pod).ok());
  EXPECT_THAT(Held(), IsEmpty());
}

class NetworkInterfacesTest : public NetworkDaemonTest {
 protected:
  NetworkInterfacesTest() : NetworkDaemonTest("  interfaces: [eth1]\n") {
    // Two bridges, by Debian's plugin, with both in the result.
    WritePlugin("two", R"(cat > /dev/null
one() {
  CNI_IFNAME=$1 /usr/lib/cni/bridge >&2 <<E
{"cniVersion": "1.0.0", "name": "test-$1", "type": "bridge", "bridge": "pl-$1", "isGateway": true,
 "ipam": {"type": "static", "addresses": [{"address": "$2"}]}}
E
}
one eth0 10.191.0.5/16 && one eth1 10.193.0.5/16 || exit 1
[ $CNI_COMMAND = ADD ] || exit 0
cat <<E
{"cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "sandbox": "$CNI_NETNS"},
                                       {"name": "eth1", "sandbox": "$CNI_NETNS"}],
 "ips": [{"interface": 0, "address": "10.191.0.5/16"},
         {"interface": 1, "address": "10.193.0.5/16"}]}
E
)");
    WriteConfig(R"({"type": "two"})");
  }
  void ExpectTheSecondAlone(const std::string& pod) {
    const cri::PodSandboxNetworkStatus network = PodStatus(pod).network();
    EXPECT_EQ(network.ip(), "10.193.0.5");
    EXPECT_EQ(network.additional_ips_size(), 0);
  }
};

TEST_F(NetworkInterfacesTest, OnlyAddressesOfTheConfiguredOnesAreThePods) {
  const std::string pod = RunPod();
  const std::string container = Serve(pod, "second");
  ExpectTheSecondAlone(pod);
  EXPECT_THAT(ExecOutput(container, "cat /etc/hosts"),
              AllOf(HasSubstr("10.193.0.5\t"), Not(HasSubstr("10.191.0.5"))));
  ExpectPage("10.193.0.5", kPort, "second");
  ExpectPage("10.191.0.5", kPort, "second");  // which it has nevertheless
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  ExpectTheSecondAlone(pod);
}

TEST_F(NetworkInterfacesTest, ANetworkWithoutThemIsRefused) {
  WriteBridge();
  const grpc::Status status = TryRunPod(PodConfig());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("gave no address to an interface eth1"));
  EXPECT_EQ(CountPods(), 0u);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace plimsoll::testing
