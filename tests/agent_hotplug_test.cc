// A node whose topology changes while plimsoll-agent runs (KEP-5224 "kubelet", KEP-3953): the
// daemon reports another one, and node, groups and pods follow.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "harness/cpus.h"
#include "harness/kernel.h"
#include "harness/node_agent.h"
#include "harness/topology_stream.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr int64_t kGi = int64_t{1} << 30;

// Constructed before the node whose configuration names it.
struct ChangingTopology {
  // One NUMA node with that many of the usable CPUs, each a core.
  void Put(const std::string& memory, size_t cpus) {
    std::string text = absl::StrCat(
        "zones:\n- {name: board, type: NUMANode, attributes: {id: 0}, resources: [{name: memory, "
        "capacity: ",
        memory, "}]}\n");
    for (size_t i = 0; i < cpus; ++i) {
      absl::StrAppend(&text, "- {name: core-", i,
                      ", type: Core, parent: board, attributes: ", "{cpu-ids: \"", UsableCpus()[i],
                      "\"}, resources: [{name: cpu, capacity: 1}]}\n");
    }
    PutText(text);
  }
  void PutText(const std::string& text) {
    ASSERT_TRUE(topology.root().ReplaceFile("t.yaml", text).ok());
  }
  TestDir topology;
};

class AgentHotPlugTest : protected ChangingTopology, public NodeAgentTest {
 protected:
  // Without a configuration the daemon has the changing topology. "@" in the agent's stands for the
  // test's control group.
  explicit AgentHotPlugTest(const std::string& config = "", const std::string& daemon_config = "")
      : NodeAgentTest(
            absl::StrCat("cgroupDriver: cgroupfs\ncgroupRoot: ", Root(), "\n",
                         absl::StrReplaceAll(config, {{"@", Root()}})),
            daemon_config.empty()
                ? absl::StrCat("nodeResources: {source: {file: ", topology.path(), "/t.yaml}}\n")
                : daemon_config) {
    Put("4Gi", 1);
  }
  void SetUp() override {
    if (UsableCpus().size() < 2) GTEST_SKIP() << "needs two CPUs";
    const auto made = Cgroups().Create(root_);
    ASSERT_TRUE(made.ok()) << made.status();
    NodeTest::SetUp();
  }
  void TearDown() override {
    if (UsableCpus().size() < 2) return;
    NodeAgentTest::TearDown();
    EXPECT_TRUE(Cgroups().Remove(root_).ok());
  }
  void Apply(const std::string& name, const std::string& resources) {
    NodeAgentTest::Apply(absl::StrCat(
        "{apiVersion: v1, kind: Pod, metadata: {name: ", name, "}, spec: {containers: [{name: ",
        "main, image: busybox, imagePullPolicy: Never, resources: ", resources,
        ", command: [sh, -c, '", kUntilTerm, "']}]}}"));
  }
  void Run(const std::string& name, const std::string& resources) {
    Apply(name, resources);
    ASSERT_TRUE(agent_.Await(name, [](const Json& pod) {
      return pod["status"]["containerStatuses"][0].value("ready", false);
    }));
  }
  std::string Capacity(const std::string& resource, const std::string& list = "capacity") {
    const auto node = agent_.client().Node();
    return node.ok() ? (*node)["status"][list].value(resource, "") : "";
  }
  bool HasCapacity(const std::string& cpu, const std::string& memory) {
    return Eventually([&] { return Capacity("cpu") == cpu && Capacity("memory") == memory; });
  }
  Json Ready() {
    const auto node = agent_.client().Node();
    return node.ok() ? (*node)["status"]["conditions"][0] : Json();
  }
  bool IsNotReady(const std::string& reason) {
    return Eventually([&] {
      const Json ready = Ready();
      return ready.is_object() && ready["status"] == "False" && ready["reason"] == reason;
    });
  }
  bool IsReady() {
    return Eventually([&] {
      const Json ready = Ready();
      return ready.is_object() && ready["status"] == "True";
    });
  }
  // An event may come after the change that it reports.
  bool HasNodeEvent(const std::string& reason, const std::string& part = "") {
    return Eventually([&] {
      const std::string message = NodeEvent(reason);
      return !message.empty() && absl::StrContains(message, part);
    });
  }
  // The newest event of the node with this reason; empty: none.
  std::string NodeEvent(const std::string& reason) {
    const auto events = agent_.client().Events("", "");
    std::string message;
    for (const Json& each : events.ok() ? *events : std::vector<Json>()) {
      if (each["reason"] == reason && each["involvedObject"]["kind"] == "Node") {
        message = each["message"];
      }
    }
    return message;
  }
  // Waits until the daemon reports so many CPUs. An agent that starts takes the first topology.
  void AwaitTold(size_t cpus) {
    TopologyStream stream(node_);
    cri::ResourceTopology topology;
    int64_t cores = 0;
    do {
      ASSERT_TRUE(stream.Next(&topology));
      cores = std::count_if(topology.zones().begin(), topology.zones().end(),
                            [](const auto& zone) { return zone.type() == "Core"; });
    } while (cores != static_cast<int64_t>(cpus));
  }
  std::string IdOf(const std::string& pod) {
    return CriId(agent_.Pod(pod)["status"]["containerStatuses"][0]);
  }
  std::string CpusOf(const std::string& pod) {
    return ExecOutput(IdOf(pod), "grep Cpus_allowed_list /proc/1/status | cut -f2 | tr -d \"\\n\"");
  }
  linux::CgroupSettings Kubepods() {
    return Cgroups().Read(root_ + "/kubepods").value_or(linux::CgroupSettings());
  }
  int64_t UsedByPods() {
    const auto stats = Cgroups().Stats(root_ + "/kubepods");
    return stats.ok() ? static_cast<int64_t>(stats->memory_working_set_bytes) : 0;
  }
  bool KubepodsHave(int64_t memory_bytes, absl::Duration within = absl::Seconds(20)) {
    return Eventually([&] { return Kubepods().memory_limit_bytes == memory_bytes; }, within);
  }

  static std::string Root() { return absl::StrCat("/plimsoll-hotplug-test-", getpid()); }

  const std::string root_ = Root();
};

class ReservingTest : public AgentHotPlugTest {
 protected:
  explicit ReservingTest(const std::string& more = "")
      : AgentHotPlugTest(
            absl::StrCat("systemReserved: {memory: 1Gi, cpu: 100m, pid: '1000'}\n", more)) {}
};

TEST_F(ReservingTest, NodeAndGroupsFollowAndPodsRunOn) {
  Begin();
  ASSERT_TRUE(HasCapacity("1", "4Gi")) << agent_.Log();
  Run("web", "{requests: {cpu: 100m}}");
  const std::string id = IdOf("web");
  EXPECT_TRUE(KubepodsHave(3 * kGi)) << Kubepods().memory_limit_bytes.value_or(-1);
  EXPECT_GT(Kubepods().pids_limit.value_or(1), 1);
  const uint64_t shares = Kubepods().cpu_shares.value_or(0);

  Put("8Gi", 2);
  ASSERT_TRUE(HasCapacity("2", "8Gi")) << agent_.Log();
  EXPECT_EQ(Capacity("memory", "allocatable"), "7Gi");
  EXPECT_EQ(Capacity("cpu", "allocatable"), "1900m");
  EXPECT_TRUE(HasNodeEvent("NodeCapacityChanged", "cpu 1 -> 2")) << agent_.Log();
  EXPECT_TRUE(KubepodsHave(7 * kGi)) << agent_.Log();
  EXPECT_TRUE(Eventually([&] { return Kubepods().cpu_shares.value_or(0) > shares; }));
  // There is room for it now.
  Run("more", "{requests: {cpu: 1500m}}");

  Put("4Gi", 1);
  ASSERT_TRUE(HasCapacity("1", "4Gi")) << agent_.Log();
  EXPECT_TRUE(HasNodeEvent("NodeCapacityChanged", "memory 8Gi -> 4Gi")) << agent_.Log();
  EXPECT_TRUE(KubepodsHave(3 * kGi));
  Apply("late", "{requests: {cpu: 500m}}");
  EXPECT_TRUE(agent_.AwaitPhase("late", "Failed")) << "new ones are rejected";
  EXPECT_EQ(agent_.Pod("late")["status"].value("reason", ""), "OutOfcpu");
  EXPECT_EQ(agent_.Phase("more"), "Running") << "pods that no longer fit stay";
  EXPECT_EQ(IdOf("web"), id);
  EXPECT_EQ(agent_.Pod("web")["status"]["containerStatuses"][0]["restartCount"], 0);
  EXPECT_TRUE(HasNodeEvent("NodeAllocatableEnforced"));
}

// The pod holds 200 MiB; all pods may have 176 MiB then.
TEST_F(ReservingTest, ALimitThatPodsExceedIsToldAndTriedAgain) {
  Begin();
  ASSERT_TRUE(HasCapacity("1", "4Gi"));
  const auto applied = agent_.client().Apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: large}, spec: {terminationGracePeriodSeconds: "
      "0, volumes: [{name: m, emptyDir: {medium: Memory}}], containers: [{name: main, image: "
      "busybox, imagePullPolicy: Never, volumeMounts: [{name: m, mountPath: /m}], command: [sh, "
      "-c, 'dd if=/dev/zero of=/m/held bs=1M count=200; sleep 1000']}]}}");
  ASSERT_TRUE(applied.ok()) << applied.status();
  ASSERT_TRUE(agent_.AwaitPhase("large", "Running"));
  ASSERT_TRUE(Eventually([&] { return UsedByPods() >= 200 << 20; })) << UsedByPods();
  Put("1200Mi", 1);
  ASSERT_TRUE(HasCapacity("1", "1200Mi")) << agent_.Log();
  EXPECT_TRUE(HasNodeEvent("FailedNodeAllocatableEnforcement")) << agent_.Log();
  EXPECT_TRUE(KubepodsHave(3 * kGi)) << "the old limit stays";
  EXPECT_EQ(agent_.Phase("large"), "Running");
  ASSERT_TRUE(agent_.client().Delete("default", "large", 0).ok());
  ASSERT_TRUE(agent_.AwaitGone("large"));
  Run("small", "{requests: {cpu: 10m}}");
  // The kernel may free the volume a moment after its end; the agent tries again each minute.
  EXPECT_TRUE(KubepodsHave(int64_t{176} << 20, absl::Seconds(75))) << agent_.Log();
}

class HotPlugGateOffTest : public AgentHotPlugTest {
 protected:
  HotPlugGateOffTest() : AgentHotPlugTest("featureGates: {NodeResourceHotPlug: false}\n") {}
};

TEST_F(HotPlugGateOffTest, ChangesAreOnlyLogged) {
  Begin();
  ASSERT_TRUE(HasCapacity("1", "4Gi")) << agent_.Log();
  Put("8Gi", 2);
  EXPECT_TRUE(Eventually([&] {
    return agent_.Log().find("the node keeps the numbers that it began with") != std::string::npos;
  })) << agent_.Log();
  EXPECT_EQ(Capacity("memory"), "4Gi");
  EXPECT_EQ(NodeEvent("NodeCapacityChanged"), "");
  // The next agent begins with the topology as it is.
  agent_.Kill();
  Begin();
  EXPECT_TRUE(HasCapacity("2", "8Gi"));
}

TEST_F(ReservingTest, ATopologyThatIsTooSmallIsUnusableAtTheStartAndLater) {
  Put("512Mi", 1);
  Begin();
  EXPECT_TRUE(IsNotReady("TopologyUnusable")) << agent_.Log();
  EXPECT_THAT(Ready().value("message", ""), HasSubstr("memory: reserved are systemReserved 1Gi"));
  Put("4Gi", 1);
  ASSERT_TRUE(IsReady()) << agent_.Log();
  Run("web", "{requests: {cpu: 100m}}");
  Put("256Mi", 1);
  EXPECT_TRUE(IsNotReady("TopologyUnusable")) << agent_.Log();
  EXPECT_TRUE(HasNodeEvent("TopologyUnusable"));
  EXPECT_EQ(Capacity("memory"), "4Gi") << "the last good one's";
  EXPECT_FALSE(agent_.client().Apply(PodManifest("new", kUntilTerm)).ok()) << "new pods wait";
  EXPECT_EQ(agent_.Phase("web"), "Running");
  Put("8Gi", 2);
  ASSERT_TRUE(IsReady()) << agent_.Log();
  EXPECT_TRUE(HasCapacity("2", "8Gi"));
}

TEST_F(ReservingTest, AStreamThatBreaksAndComesBackWithAnotherTopologyIsFollowed) {
  Begin();
  ASSERT_TRUE(HasCapacity("1", "4Gi"));
  Run("web", "{requests: {cpu: 100m}}");
  const std::string id = IdOf("web");
  node_.KillDaemon();
  Put("8Gi", 2);
  EXPECT_EQ(Capacity("memory"), "4Gi");
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(HasCapacity("2", "8Gi")) << agent_.Log();
  EXPECT_TRUE(KubepodsHave(7 * kGi));
  EXPECT_EQ(IdOf("web"), id);
}

// The system keeps the first usable CPU.
class StaticCpusTest : public AgentHotPlugTest {
 protected:
  explicit StaticCpusTest(const std::string& more = "")
      : AgentHotPlugTest(absl::StrCat("cpuManagerPolicy: static\nreservedSystemCPUs: \"",
                                      UsableCpus()[0], "\"\n", more)) {
    Put("4Gi", 2);
  }
  std::string first() const { return absl::StrCat(UsableCpus()[0]); }
  std::string second() const { return absl::StrCat(UsableCpus()[1]); }
  bool RunsOn(const std::string& pod, const std::string& cpus) {
    return Eventually([&] { return CpusOf(pod) == cpus; });
  }
};

constexpr char kGuaranteed[] = "{limits: {cpu: '1', memory: 64Mi}}";

TEST_F(StaticCpusTest, ManagersAreMadeAnewAroundRunningPods) {
  Begin();
  ASSERT_TRUE(IsReady()) << agent_.Log();
  Run("pinned", kGuaranteed);
  const std::string id = IdOf("pinned");
  EXPECT_TRUE(RunsOn("pinned", second())) << CpusOf("pinned");
  Put("4Gi", 1);
  ASSERT_TRUE(HasCapacity("1", "4Gi")) << agent_.Log();
  EXPECT_TRUE(RunsOn("pinned", first())) << CpusOf("pinned");
  Put("4Gi", 2);
  ASSERT_TRUE(HasCapacity("2", "4Gi")) << agent_.Log();
  EXPECT_TRUE(RunsOn("pinned", second())) << CpusOf("pinned");
  EXPECT_EQ(IdOf("pinned"), id);
}

TEST_F(StaticCpusTest, ATopologyWithoutNumbersOfCpusIsUnusable) {
  Begin();
  ASSERT_TRUE(IsReady()) << agent_.Log();
  PutText(
      "zones: [{name: a, type: NUMANode, attributes: {id: 0}, resources: [{name: cpu, capacity: "
      "2}, {name: memory, capacity: 4Gi}]}]\n");
  EXPECT_TRUE(IsNotReady("TopologyUnusable")) << agent_.Log();
  EXPECT_THAT(Ready().value("message", ""), HasSubstr("cpu-ids"));
  Put("4Gi", 2);
  EXPECT_TRUE(IsReady()) << agent_.Log();
}

// The machine has the first CPU, and the topology leaves it to the system.
TEST_F(StaticCpusTest, ReservedCpusOutsideOfTheTopologyAreTheSystems) {
  PutText(absl::StrReplaceAll(
      "zones: [{name: a, type: NUMANode, attributes: {id: 0}, resources: [{name: memory, capacity: "
      "4Gi}]}, {name: b, type: Core, parent: a, attributes: {cpu-ids: \"@\"}, resources: [{name: "
      "cpu, capacity: 1}]}]\n",
      {{"@", second()}}));
  Begin();
  EXPECT_TRUE(IsReady()) << agent_.Log();
  EXPECT_TRUE(HasCapacity("1", "4Gi"));
  EXPECT_EQ(Capacity("cpu", "allocatable"), "1") << "no CPU of the node's is reserved";
  Run("web", "{requests: {cpu: 100m}}");
  EXPECT_TRUE(RunsOn("web", second())) << CpusOf("web");
}

// The daemon keeps a CPU, and the agent reserves none.
class DaemonReservesTest : public AgentHotPlugTest {
 protected:
  DaemonReservesTest()
      : AgentHotPlugTest(
            "cpuManagerPolicy: static\n",
            absl::StrCat("nodeResources: {cpus: {reserved: \"", UsableCpus()[0], "\"}}\n")) {}
};

TEST_F(DaemonReservesTest, TheStaticPolicyNeedsNoFurtherReservedCpus) {
  Begin();
  ASSERT_TRUE(IsReady()) << agent_.Log();
  EXPECT_EQ(Capacity("cpu", "allocatable"), Capacity("cpu"));
  Run("web", "{requests: {cpu: 100m}}");
}

class MissingCpuTest : public AgentHotPlugTest {
 protected:
  MissingCpuTest() : AgentHotPlugTest("cpuManagerPolicy: static\nreservedSystemCPUs: \"4095\"\n") {
    Put("4Gi", 2);
  }
};

TEST_F(MissingCpuTest, ReservedCpusThatAreMissingMakeItUnusable) {
  Begin();
  EXPECT_TRUE(IsNotReady("TopologyUnusable")) << agent_.Log();
  EXPECT_THAT(Ready().value("message", ""), HasSubstr("reservedSystemCPUs"));
}

class StaticCpusGateOffTest : public StaticCpusTest {
 protected:
  StaticCpusGateOffTest() : StaticCpusTest("featureGates: {NodeResourceHotPlug: false}\n") {}
};

TEST_F(StaticCpusGateOffTest, AnAgentWhoseGrantsDoNotFitRefusesToStart) {
  Begin();
  ASSERT_TRUE(IsReady()) << agent_.Log();
  Run("pinned", kGuaranteed);
  const std::string id = IdOf("pinned");
  agent_.Kill();
  Put("4Gi", 1);
  ASSERT_NO_FATAL_FAILURE(AwaitTold(1));
  const absl::Status started = agent_.Start();
  EXPECT_FALSE(started.ok());
  EXPECT_THAT(std::string(started.message()), HasSubstr("NodeResourceHotPlug"));
  EXPECT_THAT(std::string(started.message()), HasSubstr("default/pinned"));
  Put("4Gi", 2);
  ASSERT_NO_FATAL_FAILURE(AwaitTold(2));
  Begin();
  ASSERT_TRUE(IsReady()) << agent_.Log();
  EXPECT_TRUE(Eventually([&] { return IdOf("pinned") == id; })) << "it looks at the pod first";
}

// The daemon cuts its partition from the machine as it is; each usable CPU is in it at first.
class AgentPartitionTest : public AgentHotPlugTest {
 protected:
  AgentPartitionTest()
      : AgentHotPlugTest(absl::StrCat("cpuManagerPolicy: static\nreservedSystemCPUs: \"",
                                      UsableCpus().back(), "\"\n"),
                         kWhole) {}
  void Reload(const std::string& from, const std::string& to) {
    const std::string path = node_.config_path().substr(1);
    const std::string text = *Host().Read(path);
    const std::string changed = absl::StrReplaceAll(text, {{from, to}});
    ASSERT_NE(text, changed);
    ASSERT_TRUE(Host().ReplaceFile(path, changed).ok());
    ASSERT_EQ(kill(node_.daemon_pid(), SIGHUP), 0);
  }
  static constexpr char kWhole[] = "nodeResources: {cpus: {}}\n";
};

TEST_F(AgentPartitionTest, OnlyCpusOfThePartitionAreGiven) {
  Begin();
  ASSERT_TRUE(IsReady()) << agent_.Log();
  const size_t all = UsableCpus().size();
  Run("pinned", "{limits: {cpu: '1', memory: 64Mi}}");
  int own = -1;
  ASSERT_TRUE(Eventually([&] { return absl::SimpleAtoi(CpusOf("pinned"), &own); }))
      << CpusOf("pinned") << " is not one CPU";
  EXPECT_NE(own, UsableCpus().back()) << "reserved";
  const std::string smaller = absl::StrCat("nodeResources: {cpus: {reserved: \"", own, "\"}}\n");
  Reload(kWhole, smaller);
  EXPECT_TRUE(Eventually([&] { return Capacity("cpu") == absl::StrCat(all - 1); })) << agent_.Log();
  int other = -1;
  EXPECT_TRUE(Eventually([&] {
    return absl::SimpleAtoi(CpusOf("pinned"), &other) && other != own;
  })) << CpusOf("pinned");
  // Only the reserved one of two CPUs is left.
  EXPECT_EQ(other == UsableCpus().back(), all == 2) << other;
  Reload(smaller, kWhole);
  EXPECT_TRUE(Eventually([&] { return Capacity("cpu") == absl::StrCat(all); })) << agent_.Log();
  const std::string then = absl::StrCat(all == 2 ? own : other);
  EXPECT_TRUE(Eventually([&] { return CpusOf("pinned") == then; }))
      << CpusOf("pinned") << " and not " << then << ": it leaves a reserved CPU, and keeps another";
}

class ReservedGroupTest : public AgentHotPlugTest {
 protected:
  ReservedGroupTest()
      : AgentHotPlugTest(
            "systemReserved: {memory: 256Mi, cpu: 200m}\nsystemReservedCgroup: @/system\n"
            "enforceNodeAllocatable: [pods, system-reserved]\n") {}
};

TEST_F(ReservedGroupTest, TheSystemsGroupGetsWhatIsReserved) {
  const absl::Status refused = agent_.Start();
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.message()), HasSubstr("/system doesn't exist"));
  ASSERT_TRUE(Cgroups().Create(root_ + "/system").ok());
  Begin();
  EXPECT_TRUE(Eventually([&] {
    const auto now = Cgroups().Read(root_ + "/system");
    return now.ok() && now->memory_limit_bytes == 256 << 20;
  })) << agent_.Log();
}

}  // namespace
}  // namespace plimsoll::testing
