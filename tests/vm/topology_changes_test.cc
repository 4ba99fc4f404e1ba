// CPUs, memory and huge pages that come and go while streams are open. In the virtual machine only:
// CPUs can't be taken away on a machine with other users.
#include <cstdio>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/topology_stream.h"
#include "resources/cpu_set.h"
#include "topology_sums.h"

namespace plimsoll::testing {
namespace {

constexpr char kCpu7[] = "sys/devices/system/cpu/cpu7/online";
constexpr char kPods[] = "/kubepods";

class TopologyChangesTest : public NodeTest {
 protected:
  void TearDown() override {
    EXPECT_TRUE(Host().Write(kCpu7, "1").ok());
    RemoveAllPods();
    Cgroups().Remove(kPods).IgnoreError();
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

// A client like kubelet: it reads the CPUs once, at its start.
TEST_F(TopologyChangesTest, AClientGoesOnSendingACpuThatWent) {
  const std::string pod = RunPod();
  const auto pinned = [this](const std::string& cpus) {
    cri::ContainerConfig config = Shell("sleep 1000");
    config.mutable_linux()->mutable_resources()->set_cpuset_cpus(cpus);
    return config;
  };
  const auto allowed = [&](const std::string& id) {
    return ExecOutput(id, "grep Cpus_allowed_list /proc/1/status | cut -f2");
  };
  const std::string before = Start(pod, pinned("6-7"));
  TopologyStream stream(node_);
  cri::ResourceTopology topology;
  ASSERT_TRUE(stream.Next(&topology));
  ASSERT_TRUE(Host().Write(kCpu7, "0").ok());
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  ASSERT_EQ(Sum(topology, "cpu"), 7);
  EXPECT_TRUE(Eventually([&] { return Status(before).resources().linux().cpuset_cpus() == "6"; }))
      << Status(before).resources().linux().cpuset_cpus();
  EXPECT_EQ(allowed(before), "6\n");
  const std::string both = Start(pod, pinned("6-7"));
  EXPECT_EQ(allowed(both), "6\n") << "what went is taken away, though a client has the topology";
  const std::string gone = Start(pod, pinned("7"));
  EXPECT_EQ(allowed(gone), "0-6\n") << "nothing is left of what was asked for";
  cri::LinuxContainerResources update;
  update.set_cpuset_cpus("5,7");
  ASSERT_TRUE(TryUpdate(before, update).ok());
  EXPECT_EQ(allowed(before), "5\n");
  // A CPU that never existed is an error.
  std::string none;
  const grpc::Status refused = TryCreate(pod, pinned("6,4000"), &none);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << refused.error_message();
  ASSERT_TRUE(Host().Write(kCpu7, "1").ok());
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  EXPECT_TRUE(Eventually([&] { return allowed(both) == "6-7\n"; })) << allowed(both);
  EXPECT_TRUE(Eventually([&] { return allowed(gone) == "7\n"; })) << allowed(gone);
  EXPECT_TRUE(Eventually([&] { return allowed(before) == "5,7\n"; })) << allowed(before);
}

// Before the daemon has seen it, and again by the next daemon.
TEST_F(TopologyChangesTest, ACpuGoesAtTheMomentOfACreateAndOverARestart) {
  const std::string pod = RunPod();
  const auto pinned = [this] {
    cri::ContainerConfig config = Shell("sleep 1000");
    config.mutable_linux()->mutable_resources()->set_cpuset_cpus("6-7");
    return config;
  };
  const auto allowed = [&](const std::string& id) {
    return ExecOutput(id, "grep Cpus_allowed_list /proc/1/status | cut -f2");
  };
  ASSERT_TRUE(Host().Write(kCpu7, "0").ok());
  const std::string at_once = Start(pod, pinned());
  EXPECT_EQ(Status(at_once).resources().linux().cpuset_cpus(), "6");
  // It is back before the next look.
  ASSERT_TRUE(Host().Write(kCpu7, "1").ok());
  EXPECT_TRUE(Eventually([&] { return allowed(at_once) == "6-7\n"; })) << allowed(at_once);
  const std::string created = Create(pod, pinned());
  node_.KillDaemon();
  ASSERT_TRUE(Host().Write(kCpu7, "0").ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  ASSERT_TRUE(TryStart(created).ok());
  EXPECT_TRUE(Eventually([&] { return allowed(created) == "6\n"; })) << allowed(created);
  const std::string after = Start(pod, pinned());
  EXPECT_EQ(allowed(after), "6\n");
  ASSERT_TRUE(Host().Write(kCpu7, "1").ok());
  for (const std::string& id : {at_once, created, after}) {
    EXPECT_TRUE(Eventually([&] { return allowed(id) == "6-7\n"; })) << allowed(id);
  }
}

// The root group's effective CPUs then exclude the pods'.
TEST_F(TopologyChangesTest, WherePodsAreACpusetPartitionItsCpusAreTold) {
  TopologyStream stream(node_);
  cri::ResourceTopology whole;
  ASSERT_TRUE(stream.Next(&whole));
  ASSERT_TRUE(Cgroups().Create(kPods).ok());
  const std::string group = absl::StrCat("sys/fs/cgroup", kPods);
  ASSERT_TRUE(Host().Write(group + "/cpuset.cpus", "4-7").ok());
  ASSERT_TRUE(Host().Write(group + "/cpuset.cpus.partition", "root").ok());
  ASSERT_EQ(*Host().Read(group + "/cpuset.cpus.partition"), "root\n");
  ASSERT_EQ(*Host().Read("sys/fs/cgroup/cpuset.cpus.effective"), "0-3\n");
  cri::ResourceTopology topology;
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  EXPECT_EQ(Sum(topology, "cpu"), 4);
  resources::CpuSet cpus;
  for (const auto& zone : topology.zones()) {
    const auto ids = zone.attributes().find("cpu-ids");
    if (ids == zone.attributes().end()) continue;
    cpus = cpus.Union(*resources::CpuSet::Parse(ids->second));
  }
  EXPECT_EQ(cpus.ToString(), "4-7");
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_linux()->set_cgroup_parent(absl::StrCat(kPods, "/pod1"));
  const std::string id = Start(RunPod(config), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(id, "grep Cpus_allowed_list /proc/1/status | cut -f2"), "4-7\n");
  RemoveAllPods();
  ASSERT_TRUE(Host().Write(group + "/cpuset.cpus.partition", "member").ok());
  ASSERT_TRUE(Cgroups().Remove(kPods).ok());
  ASSERT_TRUE(stream.Next(&topology)) << stream.Finish().error_message();
  EXPECT_EQ(topology.DebugString(), whole.DebugString());
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
  // The last block that the kernel releases.
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
