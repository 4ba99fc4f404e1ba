// An agent's pods and node while CPUs and memory come and go (KEP-5224 "kubelet"), with gate
// NodeResourceHotPlug and without. hotplug.py does what this test requests on its standard output.
#include <algorithm>
#include <cstdio>
#include <string>

#include "../agent_runs_fixture.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "harness/agent.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "resources/cpu_set.h"
#include "resources/quantity.h"

namespace plimsoll::testing {
namespace {

using resources::CpuSet;
using ::testing::HasSubstr;

constexpr char kManagers[] =
    "cgroupDriver: cgroupfs\ncgroupRoot: /agent-hotplug\ncpuManagerPolicy: "
    "static\nreservedSystemCPUs: \"0\"\n"
    "memoryManagerPolicy: Static\nsystemReserved: {memory: 64Mi}\n"
    "reservedMemory: [{numaNode: 0, limits: {memory: 64Mi}}]\n";
constexpr char kRoot[] = "/agent-hotplug";
constexpr char kGateOff[] = "featureGates: {NodeResourceHotPlug: false}\n";

void RequestOfQemu(const char* what) {
  std::printf("%s\n", what);
  std::fflush(stdout);
}

// CPU 8 was plugged in by the program before this one, and is offline at the beginning.
class AgentHotplugTest : public NodeTest {
 protected:
  explicit AgentHotplugTest(const std::string& gates = "")
      : config_(absl::StrCat(kManagers, gates)), agent_(node_.directory(), node_.address()) {}
  void SetUp() override {
    NodeTest::SetUp();
    ASSERT_TRUE(Cgroups().Create(kRoot).ok());
    agent_.Begin(config_);
    Apply("own", "limits: {cpu: 2, memory: 64Mi}");
    Apply("shares", "requests: {cpu: 100m, memory: 16Mi}");
    for (const char* pod : {"own", "shares"}) {
      ASSERT_TRUE(agent_->Await(pod, IsReady)) << agent_->Log();
    }
    own_ = Allowed("own");
    ASSERT_EQ(own_.Size(), 2u) << own_.ToString();
    ASSERT_EQ(Allowed("shares"), All().Difference(own_)) << "reserved ones are shared";
  }
  void TearDown() override {
    for (int cpu = 1; cpu < 8; ++cpu) SetOnline(cpu, true);
    SetOnline(8, false);
    agent_.Kill();
    RemoveAllPods();
    EXPECT_TRUE(Cgroups().Remove(kRoot).ok());
    NodeTest::TearDown();
  }

  void Apply(const std::string& pod, const std::string& resources) {
    agent_.Apply(absl::StrCat(
        "{apiVersion: v1, kind: Pod, metadata: {name: ", pod,
        "}, spec: {containers: [{name: main, image: busybox, imagePullPolicy: Never, command: [sh, "
        "-c, '",
        kUntilTerm, "'], resources: {", resources, "}}]}}"));
  }
  static void SetOnline(uint32_t cpu, bool online) {
    const std::string file = absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/online");
    const absl::Status done = Host().Write(file, online ? "1" : "0");
    EXPECT_TRUE(done.ok()) << done;
  }
  static CpuSet All() { return *CpuSet::Parse(*Host().Read("sys/devices/system/cpu/online")); }
  static CpuSet Without(CpuSet cpus, uint32_t cpu) {
    cpus.Remove(cpu);
    return cpus;
  }
  static uint32_t LastOf(const CpuSet& cpus) { return cpus.ToVector().back(); }
  // By the kernel.
  CpuSet Allowed(const std::string& pod) {
    const std::string text =
        ExecOutput(MainId(agent_->Pod(pod)), "grep Cpus_allowed_list /proc/1/status | cut -f2");
    return CpuSet::Parse(text).value_or(CpuSet());
  }
  ::testing::AssertionResult Becomes(const std::string& pod, const CpuSet& cpus) {
    if (Eventually([&] { return Allowed(pod) == cpus; })) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << pod << " has " << Allowed(pod).ToString() << " and not " << cpus.ToString() << "\n"
           << agent_->Log();
  }
  ::testing::AssertionResult CapacityBecomes(const std::string& cpus) {
    if (Eventually([&] { return agent_.Capacity()["cpu"] == cpus; })) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << agent_.Capacity() << "\n" << agent_->Log();
  }
  Json Allocatable() {
    const auto node = agent_->client().Node();
    return node.ok() ? (*node)["status"]["allocatable"] : Json();
  }
  size_t NodeEvents(const std::string& reason) {
    const auto events = agent_->client().Events("", "");
    if (!events.ok()) return 0;
    return static_cast<size_t>(std::count_if(events->begin(), events->end(), [&](const Json& each) {
      return each["reason"] == reason && each["involvedObject"]["kind"] == "Node";
    }));
  }

  const std::string config_;
  AgentRuns agent_;
  CpuSet own_;
};

TEST_F(AgentHotplugTest, ASharedCpuGoesAndComes) {
  const Json own = agent_->Pod("own");
  const Json shares = agent_->Pod("shares");
  const CpuSet before = Allowed("shares");
  const uint32_t cpu = LastOf(before);
  SetOnline(cpu, false);
  EXPECT_TRUE(CapacityBecomes("7"));
  EXPECT_EQ(Allocatable()["cpu"], "6");
  EXPECT_TRUE(Becomes("shares", Without(before, cpu)));
  EXPECT_GE(NodeEvents("NodeCapacityChanged"), 1u);
  EXPECT_EQ(agent_.NodeReady()["status"], "True");
  SetOnline(cpu, true);
  EXPECT_TRUE(CapacityBecomes("8"));
  EXPECT_TRUE(Becomes("shares", before));
  EXPECT_EQ(Allowed("own"), own_);
  agent_.ExpectUntouched("own", own);
  agent_.ExpectUntouched("shares", shares);
}

TEST_F(AgentHotplugTest, AnExclusiveCpuThatGoesIsReplaced) {
  const Json own = agent_->Pod("own");
  const uint32_t cpu = LastOf(own_);
  SetOnline(cpu, false);
  EXPECT_TRUE(CapacityBecomes("7"));
  EXPECT_TRUE(Eventually([&] {
    const CpuSet now = Allowed("own");
    return now.Size() == 2 && !now.Contains(cpu);
  })) << Allowed("own").ToString();
  const CpuSet now = Allowed("own");
  EXPECT_TRUE(Without(own_, cpu).IsSubsetOf(now)) << now.ToString() << ": it keeps what it can";
  EXPECT_FALSE(now.Contains(0)) << "reserved";
  EXPECT_TRUE(Becomes("shares", All().Difference(now)));
  // The remaining CPUs have room for 3 more beside 2 and the share of the other pod.
  Apply("more", "limits: {cpu: 3, memory: 16Mi}");
  ASSERT_TRUE(agent_->Await("more", IsReady)) << agent_->Log();
  EXPECT_TRUE(Allowed("more").Intersection(now).Empty());
  Apply("too-many", "limits: {cpu: 2, memory: 16Mi}");
  ASSERT_TRUE(agent_->AwaitPhase("too-many", "Failed"));
  EXPECT_EQ(agent_->Pod("too-many")["status"]["reason"], "UnexpectedAdmissionError")
      << "the managers come before the sums, as in kubelet";
  SetOnline(cpu, true);
  EXPECT_TRUE(CapacityBecomes("8"));
  EXPECT_EQ(Allowed("own"), now) << "what fits stays";
  agent_.ExpectUntouched("own", own);
}

TEST_F(AgentHotplugTest, ACpuAndMemoryArePluggedIn) {
  const Json own = agent_->Pod("own");
  const Json shares = agent_->Pod("shares");
  const auto memory = [&] {
    return resources::Quantity::Parse(agent_.Capacity().value("memory", "0"))->Value();
  };
  SetOnline(8, true);
  EXPECT_TRUE(CapacityBecomes("9"));
  EXPECT_TRUE(Becomes("shares", All().Difference(own_)));
  const int64_t before = memory();
  RequestOfQemu("give the agent's node memory");
  EXPECT_TRUE(Eventually([&] { return memory() == before + (int64_t{256} << 20); })) << memory();
  EXPECT_TRUE(Eventually([&] {
    const auto group = Cgroups().Read(absl::StrCat(kRoot, "/kubepods"));
    return group.ok() &&
           group->memory_limit_bytes ==
               resources::Quantity::Parse(Allocatable().value("memory", "0"))->Value();
  })) << "what pods may have together";
  const Json allocations = Json::parse(agent_->Page("/allocations"), nullptr, false);
  ASSERT_TRUE(allocations.is_object());
  int64_t of_nodes = 0;
  for (const Json& node : allocations["memory"]) {
    of_nodes += node["resources"]["memory"]["capacity"].get<int64_t>();
  }
  EXPECT_EQ(of_nodes, memory());
  EXPECT_EQ(allocations["cpus"]["exclusive"], own_.ToString());
  agent_.ExpectUntouched("own", own);
  agent_.ExpectUntouched("shares", shares);
}

TEST_F(AgentHotplugTest, WhatChangesWhileTheStreamIsBrokenIsSeenLater) {
  const Json own = agent_->Pod("own");
  const Json shares = agent_->Pod("shares");
  const CpuSet before = Allowed("shares");
  const uint32_t cpu = LastOf(before);
  node_.KillDaemon();
  SetOnline(cpu, false);
  EXPECT_EQ(agent_.Capacity()["cpu"], "8") << "nobody tells";
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(CapacityBecomes("7"));
  EXPECT_TRUE(Becomes("shares", Without(before, cpu)));
  node_.KillDaemon();
  SetOnline(cpu, true);
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(CapacityBecomes("8"));
  EXPECT_TRUE(Becomes("shares", before));
  EXPECT_TRUE(Becomes("own", own_));
  EXPECT_TRUE(Eventually([&] { return agent_.NodeReady()["status"] == "True"; }));
  agent_.ExpectUntouched("own", own);
  agent_.ExpectUntouched("shares", shares);
}

// The agent goes on with its first topology, as a kubelet does.
class AgentHotplugOffTest : public AgentHotplugTest {
 protected:
  AgentHotplugOffTest() : AgentHotplugTest(kGateOff) {}
};

TEST_F(AgentHotplugOffTest, PodsGoOnAndRestartWithTheirFirstCpus) {
  const Json shares = agent_->Pod("shares");
  const CpuSet before = Allowed("shares");
  const uint32_t cpu = LastOf(own_);
  SetOnline(cpu, false);
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(agent_->Log(), "has changed"); }));
  EXPECT_EQ(agent_.Capacity()["cpu"], "8");
  EXPECT_EQ(NodeEvents("NodeCapacityChanged"), 0u);
  // The runtime takes away what went.
  EXPECT_TRUE(Becomes("own", Without(own_, cpu)));
  agent_.Restart(node_.runtime(), "own");
  EXPECT_TRUE(Becomes("own", Without(own_, cpu))) << "a new container of the old CPUs";
  // All of its CPUs are gone now.
  for (const uint32_t each : own_.ToVector()) SetOnline(each, false);
  agent_.Restart(node_.runtime(), "own");
  EXPECT_TRUE(Becomes("own", All()));
  // The shared CPUs change, and those that went are among them.
  const uint32_t shared = LastOf(before);
  SetOnline(shared, false);
  Apply("more", "limits: {cpu: 2, memory: 16Mi}");
  ASSERT_TRUE(agent_->Await("more", IsReady)) << agent_->Log();
  for (const uint32_t each : own_.ToVector()) SetOnline(each, true);
  SetOnline(shared, true);
  EXPECT_TRUE(Becomes("own", own_));
  EXPECT_TRUE(Eventually([&] { return Allowed("more").Size() == 2; }));
  EXPECT_TRUE(Becomes("shares", before.Difference(Allowed("more"))));
  agent_.ExpectUntouched("shares", shares);
}

// Kubelet refuses a checkpoint that doesn't fit, too.
TEST_F(AgentHotplugOffTest, TheNextAgentRefusesPodsThatDoNotFitAnyMore) {
  const Json own = agent_->Pod("own");
  SetOnline(LastOf(own_), false);
  ASSERT_TRUE(Becomes("own", Without(own_, LastOf(own_))));
  const auto exit = agent_->Stop();
  ASSERT_TRUE(exit.ok()) << exit.status();
  const absl::Status refused = agent_->Start();
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.message()), HasSubstr("default/own"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("NodeResourceHotPlug"));
  SetOnline(LastOf(own_), true);
  agent_.Begin(config_);
  agent_.ExpectUntouched("own", own);
  EXPECT_TRUE(Becomes("own", own_));
}

}  // namespace
}  // namespace plimsoll::testing
