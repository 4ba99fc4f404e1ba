// Nodes with a network: Debian's plugins and the test's own, in a network namespace that the test
// makes, in which the daemon is started and which goes with the test. The machine's network is not
// touched.
#ifndef PLIMSOLL_TESTS_HARNESS_NETWORK_NODE_H_
#define PLIMSOLL_TESTS_HARNESS_NETWORK_NODE_H_

#include <string>
#include <vector>

#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "harness/node.h"

namespace plimsoll::testing {

// Addresses and ports of the network that WriteBridge configures.
inline constexpr char kGateway[] = "10.191.0.1";
inline constexpr char kGateway6[] = "fd2a:5c1d:7b3e::1";
inline constexpr int kPort = 8080;
inline constexpr int kHostPort = 18080;

// Interfaces of this thread's network namespace.
std::vector<std::string> Interfaces();
std::vector<std::string> Veths();

// Connects a socket of either family.
bool Connect(int handle, const std::string& address, int port);
// The answer of an HTTP server there to GET /page; empty: nobody answers.
std::string Get(const std::string& address, int port);

// Configurations and plugins. Construct it before the node, whose configuration names them.
class NetworkFiles {
 protected:
  NetworkFiles();
  // The node's configuration. `more`: further lines; those indented by two belong to "network".
  std::string Config(const std::string& more = "") const;
  // A conflist of `plugins`, objects with commas between them. `more`: further keys of it, each
  // with a comma behind it.
  void WriteConfig(const std::string& plugins, const std::string& version = "1.0.0",
                   const std::string& more = R"("disableCheck": true, )");
  // The bridge plugin's object, with an address of either family from host-local.
  std::string Bridge() const;
  // The bridge, and portmap.
  void WriteBridge();
  // Writes the bridge, followed by a plugin of the test's, whose DEL does nothing. `add`: its
  // script for ADD.
  void WriteBridgeAnd(const std::string& add);
  // Writes a plugin of that name: a shell script.
  void WritePlugin(const std::string& type, const std::string& script);
  // Addresses that host-local has assigned.
  std::vector<std::string> Leases() const;

  TestDir files_;
};

// At its end nothing of any pod may be left: no interface, lease, record or rule.
class NetworkNodeTest : protected NetworkFiles, public NodeTest {
 protected:
  // `more`: see Config.
  explicit NetworkNodeTest(const std::string& more = "");

  void SetUp() override;
  void TearDown() override;
  void ExpectNothingLeft();

  // A pod with host port kHostPort for its kPort, over TCP.
  cri::PodSandboxConfig WithPort();
  // Serves /page with this text.
  std::string Serve(const std::string& pod, const std::string& text);
  void ExpectPage(const std::string& address, int port, const std::string& text);
  grpc::Status TryRunPod(const cri::PodSandboxConfig& config);
  size_t CountPods();
  cri::RuntimeCondition NetworkReady();

  // The file of the pod's network namespace.
  std::string NetworkOf(const std::string& pod) const;
  // Runs a program of this machine in the pod's network namespace; fails the test unless it exits
  // 0.
  void RunIn(const std::string& pod, const std::vector<std::string>& words);
  // The output of a program in the test's namespace; fails the test unless it exits 0.
  std::string Printed(const std::vector<std::string>& words);
  RunResult Doctor();

 private:
  UniqueFd before_;  // the network namespace of the machine
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_NETWORK_NODE_H_
