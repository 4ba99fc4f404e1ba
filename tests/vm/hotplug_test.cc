// Hardware that comes and goes while streams are open. hotplug.py does what this test requests on
// its standard output.
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/topology_stream.h"
#include "topology_sums.h"

namespace plimsoll::testing {
namespace {

constexpr char kNewCpu[] = "sys/devices/system/cpu/cpu8";
constexpr char kOnline[] = "sys/devices/system/cpu/cpu8/online";

void Ask(const char* what) {
  std::printf("%s\n", what);
  std::fflush(stdout);
}

class HotplugTest : public NodeTest {
 protected:
  // Reads until the sum is that; returns the number of messages read. 0: the stream has ended.
  static int ReadUntil(TopologyStream& stream, const std::string& resource, int64_t sum) {
    cri::ResourceTopology topology;
    for (int messages = 1; stream.Next(&topology); ++messages) {
      if (Sum(topology, resource) == sum) return messages;
    }
    return 0;
  }
};

// Tests run in the order of this file: each continues with the machine of the one before.
TEST_F(HotplugTest, ACpuIsPluggedIn) {
  const std::string everywhere = Start(RunPod(), Shell("sleep 1000"));
  TopologyStream stream(node_);
  cri::ResourceTopology whole;
  ASSERT_TRUE(stream.Next(&whole));
  ASSERT_EQ(Sum(whole, "cpu"), 8);
  Ask("plug in a CPU");
  ASSERT_TRUE(Eventually([] { return Host().Exists(kNewCpu); }));
  ASSERT_EQ(Host().Write(kOnline, "1"), absl::OkStatus());
  cri::ResourceTopology more;
  ASSERT_TRUE(stream.Next(&more)) << stream.Finish().error_message();
  EXPECT_EQ(Sum(more, "cpu"), 9) << "one message, when it is online";
  EXPECT_EQ(CountTypes(more)["Package"], CountTypes(whole)["Package"] + 1);
  EXPECT_EQ(CountTypes(more)["Core"], CountTypes(whole)["Core"] + 1) << more.DebugString();
  EXPECT_TRUE(Eventually([&] {
    return ExecOutput(everywhere, "grep Cpus_allowed_list /proc/1/status | cut -f2") == "0-8\n";
  })) << "who asked for no CPUs in particular may use the new one";
}

TEST_F(HotplugTest, MemoryIsPluggedInAndTakenOut) {
  TopologyStream stream(node_);
  cri::ResourceTopology before;
  ASSERT_TRUE(stream.Next(&before));
  const int64_t bytes = Sum(before, "memory");
  // Two memory blocks, which come and go one after the other.
  Ask("plug in memory");
  EXPECT_EQ(ReadUntil(stream, "memory", bytes + (int64_t{256} << 20)), 1);
  Ask("take the memory out");
  EXPECT_EQ(ReadUntil(stream, "memory", bytes), 1);
}

TEST_F(HotplugTest, AContainerOutlivesItsOnlyCpu) {
  cri::ContainerConfig config = Shell("while :; do :; done");
  config.mutable_linux()->mutable_resources()->set_cpuset_cpus("8");
  const std::string pod = RunPod();
  const std::string id = Start(pod, config);
  TopologyStream stream(node_);
  ASSERT_EQ(ReadUntil(stream, "cpu", 9), 1);
  ASSERT_EQ(Host().Write(kOnline, "0"), absl::OkStatus());
  ASSERT_EQ(ReadUntil(stream, "cpu", 8), 1);
  EXPECT_TRUE(Eventually([&] { return Status(id).resources().linux().cpuset_cpus() == "0-7"; }))
      << Status(id).resources().linux().cpuset_cpus();
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
  ASSERT_EQ(Host().Write(kOnline, "1"), absl::OkStatus());
  ASSERT_EQ(ReadUntil(stream, "cpu", 9), 1);
  EXPECT_TRUE(Eventually([&] { return Status(id).resources().linux().cpuset_cpus() == "8"; }))
      << "what it asked for, as soon as that is there again";
  ASSERT_EQ(Host().Write(kOnline, "0"), absl::OkStatus());
  ASSERT_EQ(ReadUntil(stream, "cpu", 8), 1);
}

// Run alone, last: QEMU may not survive it. It prints its results up to then.
class CpuRemovalTest : public HotplugTest {};

TEST_F(CpuRemovalTest, StreamsAreToldAndTheContainerOnItRunsOn) {
  ASSERT_EQ(Host().Write(kOnline, "1"), absl::OkStatus());
  cri::ContainerConfig config = Shell("while :; do :; done");
  config.mutable_linux()->mutable_resources()->set_cpuset_cpus("8");
  const std::string id = Start(RunPod(), config);
  TopologyStream stream(node_);
  ASSERT_EQ(ReadUntil(stream, "cpu", 9), 1);
  Ask("take the CPU out");
  ASSERT_EQ(ReadUntil(stream, "cpu", 8), 1);
  Ask("the stream was told");
  EXPECT_TRUE(Eventually([&] { return Status(id).resources().linux().cpuset_cpus() == "0-7"; }))
      << Status(id).resources().linux().cpuset_cpus();
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
  EXPECT_EQ(ExecOutput(id, "echo here"), "here\n");
  Ask("its container runs on");
  EXPECT_TRUE(Eventually([] { return !Host().Exists(kNewCpu); }));
}

}  // namespace
}  // namespace plimsoll::testing
