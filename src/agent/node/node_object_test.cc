#include "agent/node/node_object.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using nlohmann::json;
using resources::Quantity;

class NodeObjectTest : public ::testing::Test {
 protected:
  json Object() const {
    const absl::Time start = absl::FromUnixSeconds(1'000'000'000);
    return NodeObject(options_, facts_, picture_, conditions_, start, start + absl::Seconds(20));
  }
  NodeOptions options_ = {.agent_version = "v1"};
  MachineFacts facts_ = {.host_name = "edge",
                         .kernel_version = "6.1",
                         .os_image = "Debian",
                         .architecture = "amd64",
                         .machine_id = "m",
                         .boot_id = "b",
                         .system_uuid = "s",
                         .address = "192.0.2.7"};
  NodePicture picture_;
  Conditions conditions_;
};

TEST_F(NodeObjectTest, TellsTheMachine) {
  conditions_.Set(kReady, false, "Why", "because", absl::FromUnixSeconds(1'000'000'000));
  EXPECT_EQ(Object(), json::parse(R"({
    "apiVersion": "v1", "kind": "Node",
    "metadata": {"name": "edge", "creationTimestamp": "2001-09-09T01:46:40Z",
                 "labels": {"kubernetes.io/hostname": "edge", "kubernetes.io/os": "linux",
                            "kubernetes.io/arch": "amd64"}},
    "spec": {},
    "status": {
      "capacity": {}, "allocatable": {},
      "conditions": [{"type": "Ready", "status": "False", "reason": "Why", "message": "because",
                      "lastTransitionTime": "2001-09-09T01:46:40Z",
                      "lastHeartbeatTime": "2001-09-09T01:47:00Z"}],
      "addresses": [{"type": "InternalIP", "address": "192.0.2.7"},
                    {"type": "Hostname", "address": "edge"}],
      "nodeInfo": {"machineID": "m", "systemUUID": "s", "bootID": "b", "kernelVersion": "6.1",
                   "osImage": "Debian", "containerRuntimeVersion": "", "kubeletVersion": "v1",
                   "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64"}}})"))
      << Object().dump(2);
}

TEST_F(NodeObjectTest, TheTopologyStandsBeforeTheMachineEachIdForItself) {
  picture_ = {.capacity = {{"cpu", *Quantity::Parse("4000m")}},
              .allocatable = {{"cpu", *Quantity::Parse("3500m")}},
              .machine_id = "M",
              .system_uuid = "S",
              .swap_bytes = 4096,
              .runtime_version = "plimsoll://0.1.0"};
  const json status = Object()["status"];
  EXPECT_EQ(status["capacity"]["cpu"], "4");
  EXPECT_EQ(status["allocatable"]["cpu"], "3500m");
  const json& info = status["nodeInfo"];
  EXPECT_EQ(info["machineID"], "M");
  EXPECT_EQ(info["bootID"], "b");
  EXPECT_EQ(info["systemUUID"], "S");
  EXPECT_EQ(info["swap"]["capacity"], 4096);
  EXPECT_EQ(info["containerRuntimeVersion"], "plimsoll://0.1.0");
}

TEST_F(NodeObjectTest, TheConfigurationStandsBeforeAll) {
  options_.name = "own";
  options_.address = "198.51.100.1";
  options_.labels = {{"kubernetes.io/arch", "mine"}, {"zone.plimsoll.dev/tier", "slow"}};
  picture_.zone_labels = {{"zone.plimsoll.dev/tier", "fast"}, {"zone.plimsoll.dev/rack", "7"}};
  const json node = Object();
  EXPECT_EQ(node["metadata"]["name"], "own");
  EXPECT_EQ(node["metadata"]["labels"], json({{"kubernetes.io/hostname", "own"},
                                              {"kubernetes.io/os", "linux"},
                                              {"kubernetes.io/arch", "mine"},
                                              {"zone.plimsoll.dev/tier", "slow"},
                                              {"zone.plimsoll.dev/rack", "7"}}));
  EXPECT_EQ(node["status"]["addresses"][0]["address"], "198.51.100.1");
}

}  // namespace
}  // namespace plimsoll::agent
