// Pods' networks: addresses, host ports, names and resolvers.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/unique_fd.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kPort = 8080;

class NetworkTest : public CriTest {
 protected:
  void SetUp() override {
    CriTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (const std::string why = NoNetwork(); !why.empty()) GTEST_SKIP() << why;
  }
  // Serves "harbour <name>" at /page on kPort.
  cri::ContainerConfig Server(const std::string& name) {
    return Shell(absl::StrCat("mkdir /srv && echo harbour ", name,
                              " > /srv/page && exec httpd -f -p ", kPort, " -h /srv"));
  }
  // The whole answer to GET /page; empty if there is none.
  static std::string Get(const std::string& address, int port) {
    sockaddr_storage to = {};
    socklen_t size = 0;
    if (auto* v4 = reinterpret_cast<sockaddr_in*>(&to);
        inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
      v4->sin_port = htons(static_cast<uint16_t>(port));
      size = sizeof(*v4);
    } else if (auto* v6 = reinterpret_cast<sockaddr_in6*>(&to);
               inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(static_cast<uint16_t>(port));
      size = sizeof(*v6);
    }
    const UniqueFd handle(socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience = {.tv_sec = 3, .tv_usec = 0};
    setsockopt(handle.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(handle.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    constexpr absl::string_view kRequest = "GET /page HTTP/1.0\r\n\r\n";
    if (connect(handle.get(), reinterpret_cast<sockaddr*>(&to), size) != 0 ||
        send(handle.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL) < 0) {
      return "";
    }
    std::string answer;
    char buffer[4096];
    ssize_t n = 0;
    while ((n = read(handle.get(), buffer, sizeof(buffer))) > 0) {
      answer.append(buffer, static_cast<size_t>(n));
    }
    return answer;
  }
  static bool Answers(const std::string& address, int port, const std::string& name) {
    return Eventually([&] {
      return absl::StrContains(Get(address, port), absl::StrCat("harbour ", name, "\n"));
    });
  }
  static bool IsAddress(const std::string& text) {
    in6_addr address = {};
    return inet_pton(AF_INET, text.c_str(), &address) == 1 ||
           inet_pton(AF_INET6, text.c_str(), &address) == 1;
  }
  // The primary address and the others.
  std::vector<std::string> AddressesOf(const std::string& pod) {
    const cri::PodSandboxNetworkStatus network = PodStatus(pod).network();
    std::vector<std::string> addresses = {network.ip()};
    for (const cri::PodIP& ip : network.additional_ips()) addresses.push_back(ip.ip());
    return addresses;
  }
  // A port without a listener.
  static int FreeHostPort() {
    const absl::StatusOr<ReservedPort> port = ReservedPort::Reserve();
    EXPECT_OK(port);
    return port.ok() ? port->number() : 0;
  }
};

PROMISE_TEST(NetworkTest, APodHasItsAddress,
             "PodSandboxStatus shows the addresses that the pod's network has, all of which are in "
             "its containers") {
  const std::string pod = RunPod(NetworkPodConfig());
  const std::string id = Start(pod, Sleeper());
  const std::string inside = Exec(id, "ip addr");
  const std::vector<std::string> addresses = AddressesOf(pod);
  for (const std::string& address : addresses) {
    EXPECT_TRUE(IsAddress(address)) << address;
    EXPECT_THAT(inside, HasSubstr(absl::StrCat(" ", address, "/")));
  }
}

PROMISE_TEST(NetworkTest, LoopbackIsUp, "A pod's loopback device is up and carries") {
  const std::string id = Start(RunPod(NetworkPodConfig()), Server("inside"));
  EXPECT_THAT(Exec(id, "ip addr show lo"), HasSubstr("127.0.0.1/8"));
  EXPECT_TRUE(Eventually([&] {
    const auto got = TryExec(id, {"/bin/sh", "-c", "wget -q -O - http://127.0.0.1:8080/page"});
    return got.ok() && got->stdout() == "harbour inside\n";
  }));
}

PROMISE_TEST(NetworkTest, EachPodHasAnotherAddress,
             "Pods that run at the same time have different addresses") {
  std::set<std::string> addresses;
  for (int i = 0; i < 4; ++i) {
    const std::string pod = RunPod(NetworkPodConfig());
    EXPECT_TRUE(addresses.insert(PodStatus(pod).network().ip()).second)
        << PodStatus(pod).network().ip();
  }
}

PROMISE_TEST(NetworkTest, AServerIsReachedByThePodsAddress,
             "A server in a pod is reached from the host at each of the pod's addresses") {
  const std::string pod = RunPod(NetworkPodConfig());
  Start(pod, Server("one"));
  const std::vector<std::string> addresses = AddressesOf(pod);
  for (const std::string& address : addresses) {
    EXPECT_TRUE(Answers(address, kPort, "one")) << address;
  }
}

PROMISE_TEST(NetworkTest, PodsReachEachOther, "A server in one pod is reached from another") {
  const std::string pod = RunPod(NetworkPodConfig());
  Start(pod, Server("other"));
  const std::string client = Start(RunPod(NetworkPodConfig()), Sleeper());
  const std::string address = PodStatus(pod).network().ip();
  const std::string url =
      absl::StrContains(address, ":") ? absl::StrCat("[", address, "]") : address;
  std::string said;
  EXPECT_TRUE(Eventually([&] {
    const auto got = TryExec(
        client, {"/bin/sh", "-c", absl::StrCat("wget -q -O - http://", url, ":8080/page")}, 3);
    said = got.ok() ? got->stdout() + got->stderr() : got.status().ToString();
    return said == "harbour other\n";
  })) << said;
}

PROMISE_TEST(NetworkTest, ContainersOfAPodShareIt,
             "Containers of one pod have one network: what one serves the other reaches at "
             "127.0.0.1") {
  const std::string pod = RunPod(NetworkPodConfig());
  const std::string server = Start(pod, Server("shared"));
  const std::string client = Start(pod, Sleeper());
  EXPECT_EQ(Exec(client, "readlink /proc/self/ns/net"), Exec(server, "readlink /proc/self/ns/net"));
  EXPECT_TRUE(Eventually([&] {
    const auto got = TryExec(client, {"/bin/sh", "-c", "wget -q -O - http://127.0.0.1:8080/page"});
    return got.ok() && got->stdout() == "harbour shared\n";
  }));
}

PROMISE_TEST(NetworkTest, AHostPortLeadsIntoThePod,
             "A host port of port_mappings leads to the container's port as long as the pod runs") {
  cri::PodSandboxConfig config = NetworkPodConfig();
  const int host_port = FreeHostPort();
  cri::PortMapping* mapping = config.add_port_mappings();
  mapping->set_protocol(cri::TCP);
  mapping->set_container_port(kPort);
  mapping->set_host_port(host_port);
  const std::string pod = RunPod(config);
  Start(pod, Server("mapped"));
  EXPECT_TRUE(Answers(PodStatus(pod).network().ip(), kPort, "mapped"));
  EXPECT_TRUE(Answers("127.0.0.1", host_port, "mapped"));
  ASSERT_OK(StopPod(pod));
  EXPECT_THAT(Get("127.0.0.1", host_port), IsEmpty());
}

PROMISE_TEST(NetworkTest, AHostPortIsThatOfItsAddress,
             "A host port with a host_ip is served at that address of the host and at no other") {
  cri::PodSandboxConfig config = NetworkPodConfig();
  const int host_port = FreeHostPort();
  cri::PortMapping* mapping = config.add_port_mappings();
  mapping->set_container_port(kPort);
  mapping->set_host_port(host_port);
  mapping->set_host_ip("127.0.0.1");
  Start(RunPod(config), Server("here"));
  EXPECT_TRUE(Answers("127.0.0.1", host_port, "here"));
  EXPECT_THAT(Get("127.0.0.2", host_port), IsEmpty());
}

PROMISE_TEST(NetworkTest, AHostPortIsFreeAgain,
             "A host port can be another pod's once the first has been stopped") {
  const int host_port = FreeHostPort();
  for (const char* name : {"first", "second"}) {
    cri::PodSandboxConfig config = NetworkPodConfig();
    cri::PortMapping* mapping = config.add_port_mappings();
    mapping->set_container_port(kPort);
    mapping->set_host_port(host_port);
    const std::string pod = RunPod(config);
    Start(pod, Server(name));
    EXPECT_TRUE(Answers("127.0.0.1", host_port, name)) << name;
    ASSERT_OK(StopPod(pod));
  }
}

PROMISE_TEST(NetworkTest, AStoppedPodGivesItsNetworkBack,
             "After StopPodSandbox nobody answers at the pod's address, and stopping again is no "
             "error") {
  const std::string pod = RunPod(NetworkPodConfig());
  Start(pod, Server("gone"));
  const std::string address = PodStatus(pod).network().ip();
  ASSERT_TRUE(Answers(address, kPort, "gone"));
  ASSERT_OK(StopPod(pod));
  EXPECT_THAT(Get(address, kPort), IsEmpty());
  EXPECT_OK(StopPod(pod));
}

PROMISE_TEST(NetworkTest, TheHostnameIsThePods,
             "hostname is the pod's host name, in every container and in /etc/hostname") {
  cri::PodSandboxConfig config = NetworkPodConfig();
  config.set_hostname("cutty-sark");
  const std::string pod = RunPod(config);
  EXPECT_EQ(RunToEnd(Shell("hostname; cat /etc/hostname; cat /proc/sys/kernel/hostname"), pod),
            "cutty-sark\ncutty-sark\ncutty-sark\n");
}

PROMISE_TEST(NetworkTest, ItKnowsItself, "/etc/hosts has localhost, and can be read") {
  EXPECT_THAT(RunToEnd(Shell("cat /etc/hosts"), RunPod(NetworkPodConfig())),
              HasSubstr("localhost"));
}

PROMISE_TEST(NetworkTest, SysctlsOfItsNetworkAreThePods,
             "net. sysctls are set in the pod's network and not in the host's") {
  const char* file = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
  const std::string before = ReadHostFile(file);
  cri::PodSandboxConfig config = NetworkPodConfig();
  (*config.mutable_linux()->mutable_sysctls())["net.ipv4.ip_unprivileged_port_start"] = "81";
  EXPECT_EQ(RunToEnd(Shell(absl::StrCat("cat ", file)), RunPod(config)), "81\n");
  EXPECT_EQ(ReadHostFile(file), before);
}

PROMISE_TEST(NetworkTest, StatsTellOfItsNetwork,
             "A pod's statistics have what its network interface received and sent") {
  const std::string pod = RunPod(NetworkPodConfig());
  Start(pod, Server("counted"));
  ASSERT_TRUE(Answers(PodStatus(pod).network().ip(), kPort, "counted"));
  cri::PodSandboxStatsRequest request;
  request.set_pod_sandbox_id(pod);
  const auto stats = client_.Ask<cri::PodSandboxStatsResponse>(request);
  if (IsLacking(stats.status())) GTEST_SKIP() << stats.status().message();
  ASSERT_OK(stats);
  if (!stats->stats().linux().has_network()) {
    GTEST_SKIP() << "the statistics of pods have no network";
  }
  const cri::NetworkUsage& network = stats->stats().linux().network();
  EXPECT_THAT(network.default_interface().name(), Not(IsEmpty()));
  EXPECT_TRUE(Eventually([&] {
    const auto later = client_.Ask<cri::PodSandboxStatsResponse>(request);
    return later.ok() &&
           later->stats().linux().network().default_interface().rx_bytes().value() > 0 &&
           later->stats().linux().network().default_interface().tx_bytes().value() > 0;
  }));
}

// None of these needs a network of the pod's own.
class ResolverTest : public CriTest {};

PROMISE_TEST(ResolverTest, IsWhatTheConfigSays,
             "/etc/resolv.conf has the servers, searches and options of dns_config, and no other "
             "servers") {
  cri::PodSandboxConfig config = PodConfig();
  cri::DNSConfig* dns = config.mutable_dns_config();
  for (const char* server : {"192.0.2.53", "2001:db8::53"}) dns->add_servers(server);
  for (const char* search : {"harbour.test", "test"}) dns->add_searches(search);
  for (const char* option : {"ndots:5", "timeout:1"}) dns->add_options(option);
  const std::string output = RunToEnd(Shell("cat /etc/resolv.conf"), RunPod(config));
  std::vector<std::string> servers;
  std::string search;
  std::string options;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() < 2) continue;
    if (words[0] == "nameserver") servers.push_back(words[1]);
    if (words[0] == "search") search = std::string(line);
    if (words[0] == "options") options = std::string(line);
  }
  EXPECT_THAT(servers, ::testing::ElementsAre("192.0.2.53", "2001:db8::53")) << output;
  EXPECT_EQ(search, "search harbour.test test");
  EXPECT_EQ(options, "options ndots:5 timeout:1");
}

PROMISE_TEST(
    ResolverTest, OtherContainersAreTheSame,
    "All containers of a pod have the same /etc/resolv.conf, also one that is made later") {
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_dns_config()->add_servers("192.0.2.54");
  const std::string pod = RunPod(config);
  const std::string first = RunToEnd(Shell("cat /etc/resolv.conf"), pod);
  EXPECT_THAT(first, HasSubstr("nameserver 192.0.2.54\n"));
  EXPECT_EQ(RunToEnd(Shell("cat /etc/resolv.conf"), pod), first);
}

PROMISE_TEST(NetworkTest, TrafficIsCounted,
             "A pod's statistics have its network by interface with a default among them, not "
             "loopback's, and grow with what it receives and sends") {
  const std::string pod = RunPod(NetworkPodConfig());
  Start(pod, Server("counted"));
  const auto network = [&] {
    cri::PodSandboxStatsRequest request;
    request.set_pod_sandbox_id(pod);
    const auto response = client_.Ask<cri::PodSandboxStatsResponse>(request);
    EXPECT_TRUE(response.ok() || IsLacking(response.status())) << response.status();
    return response.ok() ? response->stats().linux().network() : cri::NetworkUsage();
  };
  const cri::NetworkUsage before = network();
  if (!before.has_default_interface()) GTEST_SKIP() << "the statistics have no network";
  const std::string name = before.default_interface().name();
  std::set<std::string> names;
  for (const cri::NetworkInterfaceUsage& each : before.interfaces()) names.insert(each.name());
  EXPECT_TRUE(names.contains(name)) << before.ShortDebugString();
  EXPECT_FALSE(names.contains("lo")) << before.ShortDebugString();
  ASSERT_TRUE(Answers(PodStatus(pod).network().ip(), kPort, "counted"));
  // A request and its answer, each longer than a packet's headers.
  EXPECT_TRUE(Eventually([&] {
    const cri::NetworkInterfaceUsage now = network().default_interface();
    return (now.rx_bytes().value() > before.default_interface().rx_bytes().value() + 100 &&
            now.tx_bytes().value() > before.default_interface().tx_bytes().value() + 100) ||
           HasFailure();
  })) << network().ShortDebugString();
}

PROMISE_TEST(NetworkTest, TrafficIsAMetric,
             "Where there are metrics, those of a pod have its network by interface") {
  const std::string pod = RunPod(NetworkPodConfig());
  const auto described =
      client_.Ask<cri::ListMetricDescriptorsResponse>(cri::ListMetricDescriptorsRequest());
  if (IsLacking(described.status())) GTEST_SKIP() << described.status().message();
  ASSERT_OK(described);
  int interface_at = -1;
  for (const cri::MetricDescriptor& descriptor : described->descriptors()) {
    if (descriptor.name() != "container_network_receive_bytes_total") continue;
    for (int i = 0; i < descriptor.label_keys_size(); ++i) {
      if (descriptor.label_keys(i) == "interface") interface_at = i;
    }
  }
  ASSERT_GE(interface_at, 0) << "container_network_receive_bytes_total has no such label";
  const auto listed =
      client_.Ask<cri::ListPodSandboxMetricsResponse>(cri::ListPodSandboxMetricsRequest());
  ASSERT_OK(listed);
  std::vector<std::string> interfaces;
  for (const cri::PodSandboxMetrics& of_pod : listed->pod_metrics()) {
    if (of_pod.pod_sandbox_id() != pod) continue;
    for (const cri::Metric& metric : of_pod.metrics()) {
      if (metric.name() != "container_network_receive_bytes_total") continue;
      ASSERT_GT(metric.label_values_size(), interface_at);
      interfaces.push_back(metric.label_values(interface_at));
      EXPECT_EQ(metric.metric_type(), cri::COUNTER);
    }
  }
  EXPECT_THAT(interfaces, Not(IsEmpty()));
}

}  // namespace
}  // namespace plimsoll::conformance
