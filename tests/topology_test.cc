// Node resource discovery (KEP-5224) on this machine, whatever it is.
#include <sched.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/topology_stream.h"

namespace plimsoll::testing {
namespace {

class TopologyTest : public NodeTest {};

TEST_F(TopologyTest, TellsTheMachineAtOnce) {
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  int64_t cpus = 0;
  bool has_memory = false;
  for (const auto& zone : topology.zones()) {
    for (const auto& resource : zone.resources()) {
      int64_t number = 0;
      if (resource.name() == "cpu" && absl::SimpleAtoi(resource.capacity().string(), &number)) {
        cpus += number;
      }
      has_memory = has_memory || (resource.name() == "memory" && zone.type() == "NUMANode");
    }
  }
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  EXPECT_EQ(cpus, CPU_COUNT(&allowed));
  EXPECT_TRUE(has_memory);
  EXPECT_EQ(topology.zones(0).type(), "Machine");
  const std::string boot_id = *Host().Read("proc/sys/kernel/random/boot_id");
  EXPECT_EQ(topology.zones(0).attributes().at("boot-id"), absl::StripSuffix(boot_id, "\n"));
}

// Without memory, which a balloon may take from a virtual machine at any moment.
std::string WithoutMemory(cri::ResourceTopology topology) {
  for (auto& zone : *topology.mutable_zones()) {
    if (zone.type() == "NUMANode") zone.clear_resources();
  }
  return topology.DebugString();
}

TEST_F(TopologyTest, IsTheSameAfterARestart) {
  cri::ResourceTopology before;
  cri::ResourceTopology after;
  ASSERT_TRUE(TopologyStream(node_).Next(&before));
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  ASSERT_TRUE(TopologyStream(node_).Next(&after));
  EXPECT_EQ(WithoutMemory(before), WithoutMemory(after));
}

class GateOffTest : public NodeTest {
 protected:
  GateOffTest() : NodeTest("feature_gates: {KubeletResourceDiscoveryFromCRI: false}\n") {}
};

TEST_F(GateOffTest, TheCallIsUnimplemented) {
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  EXPECT_FALSE(stream.Next(&topology));
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
}

}  // namespace
}  // namespace plimsoll::testing
