// Topologies that come from elsewhere than the kernel (`nodeResources.source`).
#include <sched.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/topology_stream.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

int LastCpu() {
  cpu_set_t allowed;
  EXPECT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) last = cpu;
  }
  return last;
}

// A machine of one core with this machine's last CPU, and so much memory.
std::string OneCore(const std::string& memory, int cpu = LastCpu()) {
  return absl::StrCat(
      "zones:\n- {name: board, type: NUMANode, resources: [{name: memory, capacity: ", memory,
      "}]}\n- {name: only, type: Core, parent: board, attributes: {cpu-ids: ", cpu,
      "}, resources: [{name: cpu, capacity: 1}]}\n");
}

// Before the node whose configuration names it.
struct GivenFile {
  void Put(const std::string& text) {
    ASSERT_TRUE(directory.root().ReplaceFile("topology.yaml", text).ok());
  }
  TestDir directory;
};

class FileSourceTest : protected GivenFile, public NodeTest {
 protected:
  FileSourceTest()
      : NodeTest(absl::StrCat("nodeResources:\n  source: {file: ", directory.path(),
                              "/topology.yaml}\n")) {
    Put(OneCore("8Gi"));
  }
  static std::string Memory(const cri::ResourceTopology& topology) {
    return topology.zones(0).resources(0).capacity().string();
  }
  std::string Limitations() {
    plimsoll::v1::DaemonStatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.node().DaemonStatus(&context, {}, &response).ok());
    std::string all;
    for (const std::string& each : response.limitations()) absl::StrAppend(&all, each, "\n");
    return all;
  }
};

TEST_F(FileSourceTest, IsToldEnforcedAndWatched) {
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  ASSERT_TRUE(stream.Next(&topology));
  ASSERT_EQ(topology.zones_size(), 2);
  EXPECT_EQ(Memory(topology), "8Gi");
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(id, "grep Cpus_allowed_list /proc/self/status | cut -f2"),
            absl::StrCat(LastCpu(), "\n"));
  Put(OneCore("4Gi"));
  ASSERT_TRUE(stream.Next(&topology));
  EXPECT_EQ(Memory(topology), "4Gi");
  // A bad one is told of, and the last good one stays.
  Put(OneCore("2Gi", 4000));
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Limitations(), "topology.yaml: zone \"only\" has CPUs 4000");
  })) << Limitations();
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(node_.Log(), "zone \\\"only\\\" has CPUs 4000");
  })) << node_.Log();
  ASSERT_TRUE(TopologyStream(node_).Next(&topology));
  EXPECT_EQ(Memory(topology), "4Gi");
  Put(OneCore("2Gi"));
  ASSERT_TRUE(stream.Next(&topology));
  EXPECT_EQ(Memory(topology), "2Gi");
}

TEST(FileSourceStartTest, ABadFileIsRefused) {
  TestDir given;
  ASSERT_TRUE(given.root().ReplaceFile("t.yaml", "zones: [{name: a, parent: a}]\n").ok());
  Node node(absl::StrCat("nodeResources: {source: {file: ", given.path(), "/t.yaml}}\n"));
  EXPECT_FALSE(node.StartDaemon().ok());
  EXPECT_THAT(node.Log(), HasSubstr("is its own parent"));
}

}  // namespace
}  // namespace plimsoll::testing
