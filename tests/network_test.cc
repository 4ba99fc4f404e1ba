// Pods' networks with Debian's plugins: a bridge, its addresses and host ports; what fails, hangs
// or is cut off. All of it in a network namespace of the test's own, which the daemon is started
// in and which goes with the test: nothing of the machine's network is touched.
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "runtime/store/store.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kGateway[] = "10.191.0.1";
constexpr int kPort = 8080;
constexpr int kHostPort = 18080;

// Interfaces of this thread's network namespace.
std::vector<std::string> Interfaces() {
  std::vector<std::string> names;
  struct if_nameindex* all = if_nameindex();
  for (struct if_nameindex* each = all; each != nullptr && each->if_index != 0; ++each) {
    names.emplace_back(each->if_name);
  }
  if (all != nullptr) if_freenameindex(all);
  return names;
}

std::vector<std::string> Veths() {
  std::vector<std::string> names = Interfaces();
  std::erase_if(names, [](const std::string& name) { return !absl::StartsWith(name, "veth"); });
  return names;
}

void BringLoopbackUp() {
  const UniqueFd handle(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  struct ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  ASSERT_EQ(ioctl(handle.get(), SIOCSIFFLAGS, &request), 0);
}

bool Connect(int handle, const std::string& address, int port) {
  struct sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &to.sin_addr) == 1) {
    return connect(handle, reinterpret_cast<struct sockaddr*>(&to), sizeof(to)) == 0;
  }
  struct sockaddr_in6 to6 = {};
  to6.sin6_family = AF_INET6;
  to6.sin6_port = htons(static_cast<uint16_t>(port));
  return inet_pton(AF_INET6, address.c_str(), &to6.sin6_addr) == 1 &&
         connect(handle, reinterpret_cast<struct sockaddr*>(&to6), sizeof(to6)) == 0;
}

// What an HTTP server says there; empty: nobody answers.
std::string Get(const std::string& address, int port) {
  const int family = absl::StrContains(address, ":") ? AF_INET6 : AF_INET;
  const UniqueFd handle(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const struct timeval patience = {.tv_sec = 2, .tv_usec = 0};
  setsockopt(handle.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(handle.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  constexpr absl::string_view kRequest = "GET /page HTTP/1.0\r\n\r\n";
  if (!Connect(handle.get(), address, port) ||
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

// Before the node, whose configuration names it.
class NetworkFiles {
 protected:
  NetworkFiles() {
    for (const char* name : {"conf", "bin"}) {
      EXPECT_TRUE(files_.root().MakeDirs(name, 0755).ok());
    }
  }
  std::string Config() const {
    return absl::StrCat("network:\n  config_dir: ", files_.path(), "/conf\n  plugin_dirs: [",
                        files_.path(), "/bin, /usr/lib/cni]\n  plugin_timeout: 10\n");
  }
  void WriteConfig(const std::string& plugins) {
    EXPECT_TRUE(
        files_.root()
            .ReplaceFile("conf/10-test.conflist",
                         absl::StrCat(R"({"cniVersion": "1.0.0", "name": "test",)",
                                      R"("disableCheck": true, "plugins": [)", plugins, "]}"),
                         0644)
            .ok());
  }
  std::string Bridge() const {
    return absl::StrCat(R"({"type": "bridge", "bridge": "pltest0", "isGateway": true,
        "ipMasq": true, "hairpinMode": true, "ipam": {"type": "host-local", "dataDir": ")",
                        files_.path(), R"(/leases", "ranges": [[{"subnet": "10.191.0.0/16"}],
        [{"subnet": "fd2a:5c1d:7b3e::/64"}]],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}})");
  }
  void WriteBridge() {
    WriteConfig(absl::StrCat(
        Bridge(),
        R"(, {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}})"));
  }
  // The bridge, and after it a plugin of the test's, which lets go without a word. `add`: what it
  // does for ADD, with the result before it in $prev.
  void WriteBridgeAnd(const std::string& add) {
    EXPECT_TRUE(files_.root()
                    .ReplaceFile("bin/odd",
                                 absl::StrCat("#!/bin/sh\ncat > /dev/null\n",
                                              "[ $CNI_COMMAND = ADD ] || exit 0\n", add, "\n"),
                                 0755)
                    .ok());
    WriteConfig(Bridge() + R"(, {"type": "odd"})");
  }
  // A file that is installed, but for where its leases are.
  void WritePackaged(const std::string& name) {
    const auto text = Host().Read(absl::StrCat(PLIMSOLL_SOURCE_DIRECTORY, "/packaging/", name));
    ASSERT_TRUE(text.ok()) << text.status();
    const std::string type = R"("type": "host-local",)";
    ASSERT_THAT(*text, HasSubstr(type));
    const std::string here = absl::StrReplaceAll(
        *text, {{type, absl::StrCat(type, R"( "dataDir": ")", files_.path(), R"(/leases",)")}});
    EXPECT_TRUE(files_.root().ReplaceFile("conf/10-test.conflist", here, 0644).ok());
  }
  // Addresses that host-local has given away.
  std::vector<std::string> Leases() const {
    std::vector<std::string> names;
    for (const std::string& network :
         files_.root().List("leases").value_or(std::vector<std::string>())) {
      const auto more = files_.root().List("leases/" + network);
      if (more.ok()) names.insert(names.end(), more->begin(), more->end());
    }
    std::erase_if(names, [](const std::string& name) {
      return name == "lock" || absl::StartsWith(name, "last_reserved_ip");
    });
    return names;
  }

  TestDir files_;
};

class NetworkTest : protected NetworkFiles, public NodeTest {
 protected:
  NetworkTest() : NodeTest(Config()) { WriteBridge(); }

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    before_.Reset(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(before_.valid());
    ASSERT_EQ(unshare(CLONE_NEWNET), 0);
    BringLoopbackUp();
    NodeTest::SetUp();
  }
  void TearDown() override {
    NodeTest::TearDown();
    if (before_.valid() && !IsSkipped()) ExpectNothingLeft();
    if (before_.valid()) {
      EXPECT_EQ(setns(before_.get(), CLONE_NEWNET), 0);
    }
  }
  void ExpectNothingLeft() {
    EXPECT_THAT(Veths(), IsEmpty());
    EXPECT_THAT(Leases(), IsEmpty());
    EXPECT_THAT(Host()
                    .List(node_.state_directory() + "/network")
                    .value_or(std::vector<std::string>({"no directory"})),
                IsEmpty());
    for (const char* program : {"iptables", "ip6tables"}) {
      const auto rules = RunProgram({.argv = {*FindProgram(program), "-t", "nat", "-S"}});
      ASSERT_TRUE(rules.ok()) << rules.status();
      EXPECT_EQ(rules->exit.code, 0) << rules->err;
      // Of a pod: its ports, its masquerading. Chains that all pods share stay.
      EXPECT_THAT(rules->out, AllOf(Not(HasSubstr("CNI-DN-")), Not(HasSubstr("id: "))));
    }
  }

  cri::PodSandboxConfig WithPort() {
    cri::PodSandboxConfig config = PodConfig();
    cri::PortMapping* port = config.add_port_mappings();
    port->set_container_port(kPort);
    port->set_host_port(kHostPort);
    return config;
  }
  // Serves /page with this text.
  std::string Serve(const std::string& pod, const std::string& text) {
    return Start(pod, Shell(absl::StrCat("echo ", text, " > /tmp/page; exec /bin/busybox httpd -f ",
                                         "-p ", kPort, " -h /tmp")));
  }
  void ExpectPage(const std::string& address, int port, const std::string& text) {
    std::string answer;
    EXPECT_TRUE(Eventually([&] {
      answer = Get(address, port);
      return absl::StrContains(answer, text);
    })) << address
        << " port " << port << " says \"" << answer << "\"";
  }
  grpc::Status TryRunPod(const cri::PodSandboxConfig& config) {
    std::string id;
    return NodeTest::TryRunPod(config, &id);
  }
  size_t CountPods() {
    grpc::ClientContext context;
    cri::ListPodSandboxResponse response;
    EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &response).ok());
    return static_cast<size_t>(response.items_size());
  }
  cri::RuntimeCondition NetworkReady() {
    grpc::ClientContext context;
    cri::StatusResponse response;
    EXPECT_TRUE(node_.runtime().Status(&context, {}, &response).ok());
    for (const cri::RuntimeCondition& condition : response.status().conditions()) {
      if (condition.type() == "NetworkReady") return condition;
    }
    ADD_FAILURE() << "there is no condition NetworkReady";
    return {};
  }

 private:
  UniqueFd before_;  // the network namespace of the machine
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
  for (int i = 0; i < kPods; ++i) configs.push_back(PodConfig());
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
  config.set_hostname("web-0");
  config.mutable_dns_config()->add_servers("10.96.0.10");
  config.mutable_dns_config()->add_searches("default.svc.cluster.local");
  config.mutable_dns_config()->add_searches("svc.cluster.local");
  config.mutable_dns_config()->add_options("ndots:5");
  const std::string pod = RunPod(config);
  const std::string container = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(container, "cat /etc/resolv.conf"),
            "search default.svc.cluster.local svc.cluster.local\nnameserver 10.96.0.10\n"
            "options ndots:5\n");
  EXPECT_EQ(ExecOutput(container, "cat /etc/hostname"), "web-0\n");
  EXPECT_EQ(ExecOutput(container, "hostname"), "web-0\n");
  const cri::PodSandboxNetworkStatus network = PodStatus(pod).network();
  EXPECT_THAT(
      ExecOutput(container, "cat /etc/hosts"),
      AllOf(HasSubstr("127.0.0.1\tlocalhost\n"), HasSubstr(absl::StrCat(network.ip(), "\tweb-0\n")),
            HasSubstr(absl::StrCat(network.additional_ips(0).ip(), "\tweb-0\n"))));
}

TEST_F(NetworkTest, ReadyIsWhatTheDirectorySaysNow) {
  EXPECT_TRUE(NetworkReady().status()) << NetworkReady().message();
  ASSERT_TRUE(files_.root().RemoveFile("conf/10-test.conflist").ok());
  EXPECT_FALSE(NetworkReady().status());
  EXPECT_EQ(NetworkReady().reason(), "NetworkPluginNotReady");
  EXPECT_THAT(NetworkReady().message(), HasSubstr("no CNI network"));
  // Loopback is there without any set-up.
  const std::string pod = RunPod();
  EXPECT_EQ(PodStatus(pod).network().ip(), "");
  ASSERT_TRUE(files_.root().ReplaceFile("conf/10-test.conflist", "{", 0644).ok());
  EXPECT_THAT(NetworkReady().message(), HasSubstr("10-test.conflist: not valid JSON"));
  EXPECT_EQ(TryRunPod(PodConfig()).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  WriteBridge();
  EXPECT_TRUE(NetworkReady().status()) << NetworkReady().message();
  EXPECT_THAT(PodStatus(RunPod()).network().ip(), StartsWith("10.191."));
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
  const std::string mark = absl::StrCat("sleep 7", getpid());
  WriteBridgeAnd(absl::StrCat("trap '' TERM\n", mark, " &\nwait"));
  const grpc::Status status = TryRunPod(PodConfig());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("plugin odd ADD: "));
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(mark).empty(); }));
  EXPECT_EQ(CountPods(), 0u);
  ExpectNothingLeft();
}

TEST_F(NetworkTest, AKillInTheMidstOfAddLeavesNothingAfterTheNextStart) {
  const std::string mark = absl::StrCat("sleep 8", getpid());
  WriteBridgeAnd(absl::StrCat("touch ", files_.path(), "/began\nexec ", mark));
  std::thread client([&] { EXPECT_FALSE(TryRunPod(PodConfig()).ok()); });
  EXPECT_TRUE(Eventually([&] { return files_.root().Exists("began"); }));
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

// Rows of another boot; the plugins are told that there is no namespace any more. (That all else is
// gone too is not shown here, so the veth goes with the namespace.)
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
  // Rules don't outlive a boot, and without the namespace the plugin can't tell which were its.
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
