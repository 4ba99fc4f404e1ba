#include "harness/network_node.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "harness/kernel.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void BringLoopbackUp() {
  const UniqueFd handle(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  struct ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  ASSERT_EQ(ioctl(handle.get(), SIOCSIFFLAGS, &request), 0);
}

}  // namespace

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

NetworkFiles::NetworkFiles() {
  for (const char* name : {"conf", "bin"}) {
    EXPECT_TRUE(files_.root().MakeDirs(name, 0755).ok());
  }
}

std::string NetworkFiles::Config(const std::string& more) const {
  return absl::StrCat("network:\n  config_dir: ", files_.path(), "/conf\n  plugin_dirs: [",
                      files_.path(), "/bin, /usr/lib/cni]\n  plugin_timeout: 10\n", more);
}

void NetworkFiles::WriteConfig(const std::string& plugins, const std::string& version,
                               const std::string& more) {
  EXPECT_TRUE(
      files_.root()
          .ReplaceFile("conf/10-test.conflist",
                       absl::StrCat(R"({"cniVersion": ")", version, R"(", "name": "test", )", more,
                                    R"("plugins": [)", plugins, "]}"),
                       0644)
          .ok());
}

std::string NetworkFiles::Bridge() const {
  return absl::StrCat(R"({"type": "bridge", "bridge": "pltest0", "isGateway": true,
      "ipMasq": true, "hairpinMode": true, "ipam": {"type": "host-local", "dataDir": ")",
                      files_.path(), R"(/leases", "ranges": [[{"subnet": "10.191.0.0/16"}],
      [{"subnet": "fd2a:5c1d:7b3e::/64"}]],
      "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}})");
}

void NetworkFiles::WriteBridge() {
  WriteConfig(absl::StrCat(
      Bridge(), R"(, {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}})"));
}

void NetworkFiles::WriteBridgeAnd(const std::string& add) {
  WritePlugin("odd",
              absl::StrCat("cat > /dev/null\n", "[ $CNI_COMMAND = ADD ] || exit 0\n", add, "\n"));
  WriteConfig(Bridge() + R"(, {"type": "odd"})");
}

void NetworkFiles::WritePlugin(const std::string& type, const std::string& script) {
  EXPECT_TRUE(
      files_.root().ReplaceFile("bin/" + type, absl::StrCat("#!/bin/sh\n", script), 0755).ok());
}

std::vector<std::string> NetworkFiles::Leases() const {
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

NetworkNodeTest::NetworkNodeTest(const std::string& more) : NodeTest(Config(more)) {
  WriteBridge();
}

void NetworkNodeTest::SetUp() {
  if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
  before_.Reset(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(before_.valid());
  ASSERT_EQ(unshare(CLONE_NEWNET), 0);
  BringLoopbackUp();
  NodeTest::SetUp();
}

void NetworkNodeTest::TearDown() {
  NodeTest::TearDown();
  if (before_.valid() && !IsSkipped()) ExpectNothingLeft();
  if (before_.valid()) {
    EXPECT_EQ(setns(before_.get(), CLONE_NEWNET), 0);
  }
}

void NetworkNodeTest::ExpectNothingLeft() {
  EXPECT_THAT(Veths(), IsEmpty());
  EXPECT_THAT(Leases(), IsEmpty());
  std::vector<std::string> records = Host()
                                         .List(node_.state_directory() + "/network")
                                         .value_or(std::vector<std::string>({"no directory"}));
  std::erase(records, "pod-cidr");  // the node's record
  EXPECT_THAT(records, IsEmpty());
  for (const char* program : {"iptables", "ip6tables"}) {
    const auto rules = RunProgram({.argv = {*FindProgram(program), "-t", "nat", "-S"}});
    ASSERT_TRUE(rules.ok()) << rules.status();
    EXPECT_EQ(rules->exit.code, 0) << rules->err;
    // Rules of a pod: its ports, its masquerading. Chains that all pods share stay.
    EXPECT_THAT(rules->out, AllOf(Not(HasSubstr("CNI-DN-")), Not(HasSubstr("id: "))));
  }
}

cri::PodSandboxConfig NetworkNodeTest::WithPort() {
  cri::PodSandboxConfig config = PodConfig();
  cri::PortMapping* port = config.add_port_mappings();
  port->set_container_port(kPort);
  port->set_host_port(kHostPort);
  return config;
}

std::string NetworkNodeTest::Serve(const std::string& pod, const std::string& text) {
  return Start(pod, Shell(absl::StrCat("echo ", text, " > /tmp/page; exec /bin/busybox httpd -f ",
                                       "-p ", kPort, " -h /tmp")));
}

void NetworkNodeTest::ExpectPage(const std::string& address, int port, const std::string& text) {
  std::string answer;
  EXPECT_TRUE(Eventually([&] {
    answer = Get(address, port);
    return absl::StrContains(answer, text);
  })) << address
      << " port " << port << " says \"" << answer << "\"";
}

grpc::Status NetworkNodeTest::TryRunPod(const cri::PodSandboxConfig& config) {
  std::string id;
  return NodeTest::TryRunPod(config, &id);
}

size_t NetworkNodeTest::CountPods() {
  grpc::ClientContext context;
  cri::ListPodSandboxResponse response;
  EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &response).ok());
  return static_cast<size_t>(response.items_size());
}

cri::RuntimeCondition NetworkNodeTest::NetworkReady() {
  grpc::ClientContext context;
  cri::StatusResponse response;
  EXPECT_TRUE(node_.runtime().Status(&context, {}, &response).ok());
  for (const cri::RuntimeCondition& condition : response.status().conditions()) {
    if (condition.type() == "NetworkReady") return condition;
  }
  ADD_FAILURE() << "there is no condition NetworkReady";
  return {};
}

std::string NetworkNodeTest::NetworkOf(const std::string& pod) const {
  return absl::StrCat(node_.run_directory(), "/sandboxes/", pod, "/net");
}

void NetworkNodeTest::RunIn(const std::string& pod, const std::vector<std::string>& words) {
  std::vector<std::string> command = {"nsenter", "--net=" + NetworkOf(pod)};
  command.insert(command.end(), words.begin(), words.end());
  Printed(command);
}

std::string NetworkNodeTest::Printed(const std::vector<std::string>& words) {
  std::vector<std::string> command = words;
  const auto program = FindProgram(words[0]);
  EXPECT_TRUE(program.ok()) << program.status();
  if (program.ok()) command[0] = *program;
  const auto result = RunChecked({.argv = command});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or("");
}

RunResult NetworkNodeTest::Doctor() {
  const auto result =
      RunProgram({.argv = {ProgramPath("plimsoll"), "--address", node_.address(), "doctor"}});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or(RunResult());
}

}  // namespace plimsoll::testing
