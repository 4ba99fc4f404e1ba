// Debian's CNI plugins one by one: bandwidth, prefixes from kubelet, CHECK, versions before 1.0.0,
// a chain of four, host ports over UDP and IPv6. The kernel's own state is checked.
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "harness/kernel.h"
#include "harness/network_node.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

// A socket in that network namespace; this thread is back in its own.
UniqueFd SocketIn(const std::string& network, int family, int type) {
  const UniqueFd here(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  const UniqueFd there(open(network.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(setns(there.get(), CLONE_NEWNET), 0) << network;
  UniqueFd made(socket(family, type | SOCK_CLOEXEC, 0));
  EXPECT_EQ(setns(here.get(), CLONE_NEWNET), 0);
  return made;
}

// A UDP socket on a port of all the pod's addresses.
UniqueFd UdpServer(const std::string& network, int port) {
  UniqueFd server = SocketIn(network, AF_INET6, SOCK_DGRAM);
  const int both = 0;
  EXPECT_EQ(setsockopt(server.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof(both)), 0);
  struct sockaddr_in6 at = {};
  at.sin6_family = AF_INET6;
  at.sin6_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(bind(server.get(), reinterpret_cast<struct sockaddr*>(&at), sizeof(at)), 0);
  return server;
}

// True if a packet sent there arrives at `server`, and its answer here.
bool Exchanges(const std::string& address, int port, int server) {
  const int family = absl::StrContains(address, ":") ? AF_INET6 : AF_INET;
  const UniqueFd client(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!Connect(client.get(), address, port)) return false;
  return Eventually([&] {
    char buffer[64];
    send(client.get(), "ask", 3, MSG_DONTWAIT | MSG_NOSIGNAL);
    struct sockaddr_storage from = {};
    socklen_t length = sizeof(from);
    auto* const asker = reinterpret_cast<struct sockaddr*>(&from);
    if (recvfrom(server, buffer, sizeof(buffer), MSG_DONTWAIT, asker, &length) == 3) {
      sendto(server, "answer", 6, MSG_DONTWAIT | MSG_NOSIGNAL, asker, length);
    }
    return recv(client.get(), buffer, sizeof(buffer), MSG_DONTWAIT) == 6;
  });
}

class NetworkPluginsTest : public NetworkNodeTest {
 protected:
  // Empty if the kernel has everything that the bandwidth plugin needs.
  std::string LacksForBandwidth() {
    const std::vector<std::vector<std::string>> needed = {
        {"tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1mbit", "burst", "10kb",
         "latency", "10ms"},
        {"tc", "qdisc", "add", "dev", "lo", "ingress"},
        {"ip", "link", "add", "probe0", "type", "ifb"}};
    for (std::vector<std::string> words : needed) {
      words[0] = FindProgram(words[0]).value_or(words[0]);
      const auto done = RunChecked({.argv = words});
      if (!done.ok())
        return absl::StrCat("the kernel shapes no traffic: ", done.status().message());
    }
    Printed({"tc", "qdisc", "del", "dev", "lo", "root"});
    Printed({"tc", "qdisc", "del", "dev", "lo", "ingress"});
    Printed({"ip", "link", "del", "probe0"});
    return "";
  }
  // Rates of the token buckets on this side in bytes per second, by the beginning of their
  // interface's name.
  std::map<std::string, int64_t> Rates() {
    std::map<std::string, int64_t> rates;
    const auto queues =
        nlohmann::json::parse(Printed({"tc", "-j", "qdisc", "show"}), nullptr, false);
    EXPECT_TRUE(queues.is_array());
    if (!queues.is_array()) return rates;
    for (const auto& queue : queues) {
      if (queue.value("kind", "") != "tbf") continue;
      rates[queue.value("dev", "").substr(0, 3)] = queue["options"].value("rate", int64_t{0});
    }
    return rates;
  }
  void SetPodCidr(const std::string& cidr) {
    grpc::ClientContext context;
    cri::UpdateRuntimeConfigRequest request;
    request.mutable_runtime_config()->mutable_network_config()->set_pod_cidr(cidr);
    cri::UpdateRuntimeConfigResponse response;
    const grpc::Status status = node_.runtime().UpdateRuntimeConfig(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  void ExpectAgrees() {
    const RunResult result = Doctor();
    EXPECT_EQ(result.exit.code, 0) << result.out << result.err;
  }
  void ExpectBroken(const std::string& pod) {
    const RunResult result = Doctor();
    EXPECT_EQ(result.exit.code, 3) << result.out << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("SandboxNetworkBroken"), HasSubstr(pod.substr(0, 12)),
                                  HasSubstr("network test: plugin bridge CHECK: ")));
  }
};

TEST_F(NetworkPluginsTest, ABandwidthIsTheKernelsAndGoesWithThePod) {
  const std::string lacks = LacksForBandwidth();
  if (!lacks.empty()) GTEST_SKIP() << lacks;
  WriteConfig(Bridge() + R"(, {"type": "bandwidth", "capabilities": {"bandwidth": true}})");
  RunPod();
  EXPECT_THAT(Rates(), IsEmpty()) << "nobody has asked for one";
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_annotations())["kubernetes.io/ingress-bandwidth"] = "10M";
  (*config.mutable_annotations())["kubernetes.io/egress-bandwidth"] = "2M";
  const std::string pod = RunPod(config);
  // To the pod at its veth; from it at an interface of its own, through which its packets go.
  EXPECT_THAT(Rates(), ElementsAre(Pair("bwp", 250000), Pair("vet", 1250000)));
  EXPECT_THAT(Interfaces(), Contains(StartsWith("bwp")));
  ASSERT_TRUE(StopPod(pod).ok());
  EXPECT_THAT(Rates(), IsEmpty());
  EXPECT_THAT(Interfaces(), Not(Contains(StartsWith("bwp"))));
  EXPECT_EQ(Leases().size(), 2u) << "of the other pod";
}

TEST_F(NetworkPluginsTest, AddressesComeFromThePrefixesThatKubeletSays) {
  WriteConfig(absl::StrCat(R"({"type": "bridge", "bridge": "pltest0",
      "capabilities": {"ipRanges": true}, "ipam": {"type": "host-local", "dataDir": ")",
                           files_.path(), R"(/leases"}})"));
  // Only the plugins know whether that network has prefixes of its own.
  EXPECT_TRUE(NetworkReady().status()) << NetworkReady().message();
  const grpc::Status early = TryRunPod(PodConfig());
  EXPECT_EQ(early.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(early.error_message(),
              HasSubstr("network test: plugin bridge ADD: no IP ranges specified"));
  SetPodCidr("10.201.7.0/24,fd2a:5c1d:7b3e:7::/64");
  // host-local releases nothing without a prefix.
  RemoveAllPods();
  ExpectNothingLeft();

  const auto of_both = [this] {
    const cri::PodSandboxNetworkStatus network = PodStatus(RunPod()).network();
    EXPECT_THAT(network.ip(), StartsWith("10.201.7."));
    EXPECT_EQ(network.additional_ips_size(), 1);
    if (network.additional_ips_size() == 0) return;
    EXPECT_THAT(network.additional_ips(0).ip(), StartsWith("fd2a:5c1d:7b3e:7:"));
  };
  of_both();
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  of_both();
  SetPodCidr("10.202.7.0/24");
  const cri::PodSandboxNetworkStatus network = PodStatus(RunPod()).network();
  EXPECT_THAT(network.ip(), StartsWith("10.202.7."));
  EXPECT_EQ(network.additional_ips_size(), 0);
}

TEST_F(NetworkPluginsTest, CheckTellsWhatSomebodyHasTakenAway) {
  for (const char* version : {"0.4.0", "1.0.0"}) {
    WriteConfig(Bridge(), version, /*more=*/"");
    const std::string pod = RunPod();
    const std::string address = PodStatus(pod).network().ip() + "/16";
    ExpectAgrees();
    const std::vector<std::string> route = {"default", "via", kGateway, "dev", "eth0"};
    const auto ip = [&](std::vector<std::string> words, const std::vector<std::string>& of) {
      words.insert(words.begin(), "ip");
      words.insert(words.end(), of.begin(), of.end());
      RunIn(pod, words);
    };
    ip({"route", "del"}, route);
    ExpectBroken(pod);
    ip({"route", "add"}, route);
    ExpectAgrees();
    ip({"addr", "del"}, {address, "dev", "eth0"});  // and the route with it
    ExpectBroken(pod);
    // The plugin finds its masquerading rules by the address.
    ip({"addr", "add"}, {address, "dev", "eth0"});
    ip({"route", "add"}, route);
    ExpectAgrees();
    RemoveAllPods();
    ExpectNothingLeft();
  }
}

TEST_F(NetworkPluginsTest, OnePluginWithoutAListServesInOldVersionsToo) {
  ASSERT_TRUE(files_.root().RemoveFile("conf/10-test.conflist").ok());
  for (const char* version : {"0.3.1", "0.4.0"}) {
    const std::string text =
        absl::StrCat(R"({"cniVersion": ")", version, R"(", "name": "test", )", Bridge().substr(1));
    ASSERT_TRUE(files_.root().ReplaceFile("conf/10-test.conf", text, 0644).ok());
    EXPECT_TRUE(NetworkReady().status()) << NetworkReady().message();
    const std::string pod = RunPod();
    Serve(pod, "plain");
    const cri::PodSandboxNetworkStatus network = PodStatus(pod).network();
    EXPECT_THAT(network.ip(), StartsWith("10.191."));
    ASSERT_EQ(network.additional_ips_size(), 1) << version;
    EXPECT_EQ(Leases().size(), 2u);
    ExpectPage(network.ip(), kPort, "plain");
    ExpectPage(network.additional_ips(0).ip(), kPort, "plain");
    ExpectAgrees();
    ASSERT_TRUE(StopPod(pod).ok()) << version;
    ExpectNothingLeft();
  }
}

// Only the previous result gives portmap and firewall the pod's addresses.
TEST_F(NetworkPluginsTest, EachOfAChainGoesOnFromTheResultBefore) {
  WriteConfig(
      absl::StrCat(Bridge(),
                   R"(, {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}},
          {"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}},
          {"type": "firewall", "backend": "iptables"})"),
      "0.4.0");
  const std::string pod = RunPod(WithPort());
  const std::string container = Serve(pod, "chained");
  const cri::PodSandboxNetworkStatus network = PodStatus(pod).network();
  ASSERT_EQ(network.additional_ips_size(), 1);
  ExpectPage("127.0.0.1", kHostPort, "chained");
  EXPECT_EQ(ExecOutput(container, "cat /proc/sys/net/core/somaxconn"), "500\n");
  const std::string rule = absl::StrCat("-s ", network.ip(), "/32 -j ACCEPT");
  const std::string rule6 = absl::StrCat("-s ", network.additional_ips(0).ip(), "/128 -j ACCEPT");
  EXPECT_THAT(Printed({"iptables", "-S"}), HasSubstr(rule));
  EXPECT_THAT(Printed({"ip6tables", "-S"}), HasSubstr(rule6));
  ASSERT_TRUE(StopPod(pod).ok());
  EXPECT_THAT(Printed({"iptables", "-S"}), Not(HasSubstr(rule)));
  EXPECT_THAT(Printed({"ip6tables", "-S"}), Not(HasSubstr(rule6)));
  ExpectNothingLeft();
}

// One port for both protocols, as of a name server. (The kernel never routes packets from ::1 to a
// pod, hence the bridge's address.)
TEST_F(NetworkPluginsTest, AHostPortIsAlsoOfUdpAndOfIpv6) {
  cri::PodSandboxConfig config = WithPort();
  cri::PortMapping* port = config.add_port_mappings();
  port->set_protocol(cri::UDP);
  port->set_container_port(kPort);
  port->set_host_port(kHostPort);
  const std::string pod = RunPod(config);
  Serve(pod, "both");
  ExpectPage("127.0.0.1", kHostPort, "both");
  ExpectPage(kGateway6, kHostPort, "both");
  {
    const UniqueFd server = UdpServer(NetworkOf(pod), kPort);
    for (const char* address : {"127.0.0.1", kGateway, kGateway6}) {
      EXPECT_TRUE(Exchanges(address, kHostPort, server.get())) << address;
    }
  }
  ASSERT_TRUE(StopPod(pod).ok());
  EXPECT_EQ(Get(kGateway6, kHostPort), "");
  ExpectNothingLeft();
}

}  // namespace
}  // namespace plimsoll::testing
