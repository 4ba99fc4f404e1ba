// Network devices and kernel parameters that plugins of the Node Resource Interface give to
// containers of a pod with a network.
#include <string>
#include <vector>

#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/network_node.h"
#include "harness/nri.h"

namespace plimsoll::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class NriNetworkTest : public NetworkNodeTest {
 protected:
  NriNetworkTest() : NetworkNodeTest("nri: {plugin_dir: \"\"}\n") { WriteBridge(); }

  void Join(TestPlugin& plugin) {
    ASSERT_TRUE(plugin.Connect(node_.run_directory() + "/nri/nri.sock").ok());
    ASSERT_TRUE(plugin.Await("Synchronize"));
  }
};

TEST_F(NriNetworkTest, APluginIsToldThePodsAddresses) {
  TestPlugin plugin("10", "reader");
  Join(plugin);
  const std::string pod = RunPod();
  const napi::PodSandbox told = plugin.Last("RunPodSandbox").pod;
  ASSERT_EQ(told.ips_size(), 2);
  EXPECT_EQ(told.ips(0), PodStatus(pod).network().ip());
  EXPECT_THAT(told.ips(1), StartsWith("fd2a:"));
  std::string network;
  for (const napi::LinuxNamespace& each : told.linux().namespaces()) {
    if (each.type() == "network") network = each.path();
  }
  EXPECT_EQ(network, NetworkOf(pod));
}

TEST_F(NriNetworkTest, ADeviceOfTheHostMovesIntoTheContainer) {
  Printed({"ip", "link", "add", "nri0", "type", "veth", "peer", "name", "nri1"});
  Printed({"ip", "addr", "add", "10.99.0.1/24", "dev", "nri0"});
  TestPlugin plugin("10", "mover");
  napi::ContainerAdjustment adjustment;
  (*adjustment.mutable_linux()->mutable_net_devices())["nri0"].set_name("fast0");
  plugin.Adjust(adjustment);
  Join(plugin);
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  EXPECT_THAT(ExecOutput(container, "ip addr show fast0"), HasSubstr("10.99.0.1/24"));
  EXPECT_THAT(Interfaces(), Not(Contains("nri0")));
  EXPECT_TRUE(StopPod(pod).ok());
  EXPECT_TRUE(RemovePod(pod).ok());
  // The kernel removes a pod's network namespace, and with it the pair, a moment later.
  EXPECT_TRUE(Eventually([] { return Veths().empty(); }));
}

}  // namespace
}  // namespace plimsoll::testing
