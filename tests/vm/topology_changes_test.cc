// CPUs, memory and huge pages that come and go while streams are open. In the virtual machine
// only: nobody's CPUs are to be taken away on a machine that others use.
#include <cstdio>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/topology_stream.h"
#include "topology_sums.h"

namespace plimsoll::testing {
namespace {

constexpr char kCpu7[] = "sys/devices/system/cpu/cpu7/online";

class TopologyChangesTest : public NodeTest {
 protected:
  void TearDown() override {
    EXPECT_TRUE(Host().Write(kCpu7, "1").ok());
    NodeTest::TearDown();
  }
};

TEST_F(TopologyChangesTest, TwoNodesAreSeenAsSuch) {
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  ASSERT_TRUE(stream.Next(&topology));
  EXPECT_EQ(
      CountTypes(topology),
      (std::map<std::string, int>{{"Machine", 1}, {"Package", 2}, {"NUMANode", 2}, {"Core", 4}}))
      << topology.DebugString();
  EXPECT_EQ(Sum(topology, "cpu"), 8);
  for (const auto& zone : topology.zones()) {
    if (zone.name() != "numa-1") continue;
    ASSERT_EQ(zone.costs_size(), 2);
    EXPECT_EQ(zone.costs(0).name(), "numa-0");
    EXPECT_EQ(zone.costs(0).value(), 20u);
    EXPECT_EQ(zone.parent(), "package-1");
  }
}

TEST_F(TopologyChangesTest, ACpuGoesAndComesBack) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("while :; do :; done");
  config.mutable_linux()->mutable_resources()->set_cpuset_cpus("7");
  const std::string container = Start(pod, config);

  TopologyStream first(node_);
  TopologyStream second(node_);
  cri::ResourceTopology whole;
  cri::ResourceTopology topology;
  ASSERT_TRUE(first.Next(&whole));
  ASSERT_TRUE(second.Next(&topology));
  ASSERT_TRUE(Host().Write(kCpu7, "0").ok());
  const absl::Time gone = absl::Now();
  for (TopologyStream* stream : {&first, &second}) {
    ASSERT_TRUE(stream->Next(&topology)) << stream->Finish().error_message();
    std::printf("%s after the CPU had gone: the message\n",
                absl::FormatDuration(absl::Now() - gone).c_str());
    EXPECT_EQ(Sum(topology, "cpu"), 7);
    EXPECT_EQ(CountTypes(topology), CountTypes(whole)) << "its core has another CPU";
  }
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING) << "it goes on elsewhere";
  EXPECT_TRUE(Eventually([&] {
    return Status(container).resources().linux().cpuset_cpus() == "0-6";
  })) << "its only CPU went";
  ASSERT_TRUE(Host().Write(kCpu7, "1").ok());
  for (TopologyStream* stream : {&first, &second}) {
    ASSERT_TRUE(stream->Next(&topology)) << stream->Finish().error_message();
    EXPECT_EQ(topology.DebugString(), whole.DebugString()) << "one message for each change";
  }
  EXPECT_TRUE(
      Eventually([&] { return Status(container).resources().linux().cpuset_cpus() == "7"; }));
}

TEST_F(TopologyChangesTest, HugePagesAreSeenByThePoll) {
  const std::string pool = "sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages";
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  ASSERT_TRUE(stream.Next(&topology));
  EXPECT_EQ(Sum(topology, "hugepages-2Mi"), 0);
  ASSERT_TRUE(Host().Write(pool, "4").ok());
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  EXPECT_EQ(Sum(topology, "hugepages-2Mi"), 8 << 20);
  ASSERT_TRUE(Host().Write(pool, "0").ok());
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  EXPECT_EQ(Sum(topology, "hugepages-2Mi"), 0);
}

TEST_F(TopologyChangesTest, AMemoryBlockGoesAndComesBack) {
  // The last block that the kernel lets go of.
  std::string block;
  TopologyStream stream(node_);
  cri::ResourceTopology whole;
  ASSERT_TRUE(stream.Next(&whole));
  std::vector<std::string> names = *Host().List("sys/devices/system/memory");
  for (auto name = names.rbegin(); name != names.rend() && block.empty(); ++name) {
    const std::string state = absl::StrCat("sys/devices/system/memory/", *name, "/state");
    if (Host().Exists(state) && Host().Write(state, "offline").ok()) block = state;
  }
  if (block.empty()) GTEST_SKIP() << "this kernel lets no memory block go";
  cri::ResourceTopology topology;
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  EXPECT_LT(Sum(topology, "memory"), Sum(whole, "memory"));
  ASSERT_TRUE(Host().Write(block, "online").ok());
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  EXPECT_EQ(Sum(topology, "memory"), Sum(whole, "memory"));
}

}  // namespace
}  // namespace plimsoll::testing
