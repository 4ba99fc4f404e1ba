// The static CPU policy of plimsoll-agent over a real plimsolld on this machine: the first usable
// CPU is reserved, the others can be exclusive. What the kernel says of the processes counts.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "harness/cpus.h"
#include "harness/kernel.h"
#include "harness/node_agent.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// Two of the usable CPUs, whatever the machine has, and the larger of them can be exclusive.
struct TwoCpus {
  TwoCpus() {
    const std::vector<int> usable = UsableCpus();
    if (usable.size() < 2) return;
    reserved = absl::StrCat(usable[0]);
    exclusive = absl::StrCat(usable[1]);
    both = absl::StrCat(usable[0], usable[1] == usable[0] + 1 ? "-" : ",", usable[1]);
    Put({usable[0], usable[1]});
  }
  void Put(const std::vector<int>& cpus) {
    std::string text =
        "zones:\n- {name: board, type: NUMANode, attributes: {id: 0}, resources: [{name: memory, "
        "capacity: 4Gi}]}\n";
    for (const int cpu : cpus) {
      absl::StrAppend(&text, "- {name: core-", cpu,
                      ", type: Core, parent: board, attributes: ", "{cpu-ids: \"", cpu,
                      "\"}, resources: [{name: cpu, capacity: 1}]}\n");
    }
    ASSERT_TRUE(topology.root().ReplaceFile("t.yaml", text).ok());
  }
  TestDir topology;
  std::string reserved, exclusive, both;
};

class AgentManagersTest : protected TwoCpus, public NodeAgentTest {
 protected:
  explicit AgentManagersTest(const std::string& config = "")
      : NodeAgentTest(
            absl::StrCat("cgroupsPerQOS: false\ncpuManagerPolicy: static\n"
                         "cpuManagerReconcilePeriod: 1s\nreservedSystemCPUs: \"",
                         reserved, "\"\n", config),
            absl::StrCat("nodeResources: {source: {file: ", topology.path(), "/t.yaml}}\n")) {}
  void SetUp() override {
    if (exclusive.empty()) GTEST_SKIP() << "needs two CPUs";
    NodeTest::SetUp();
    Begin();
  }
  void Apply(const std::string& name, const std::string& resources) {
    NodeAgentTest::Apply(absl::StrCat(
        "{apiVersion: v1, kind: Pod, metadata: {name: ", name, "}, spec: {containers: [{name: ",
        "main, image: busybox, imagePullPolicy: Never, resources: ", resources,
        ", command: [sh, -c, '", kUntilTerm, "']}]}}"));
  }
  bool AwaitReady(const std::string& name) {
    return agent_.Await(name, [](const Json& pod) {
      return pod.value("/status/containerStatuses/0/ready"_json_pointer, false);
    });
  }
  void Run(const std::string& name, const std::string& resources) {
    Apply(name, resources);
    ASSERT_TRUE(AwaitReady(name)) << agent_.Log();
  }
  void RunOwn(const std::string& name) { Run(name, "{limits: {cpu: 1, memory: 64Mi}}"); }
  // Empty before the pod has a container.
  std::string IdOf(const std::string& pod) {
    const Json object = agent_.Pod(pod);
    if (!object.is_object()) return "";
    return CriId(object.value("/status/containerStatuses/0"_json_pointer, Json::object()));
  }
  std::string CpusOf(const std::string& pod) {
    const std::string id = IdOf(pod);
    if (id.empty()) return "no container";
    return ExecOutput(id, "grep Cpus_allowed_list /proc/1/status | cut -f2 | tr -d \"\\n\"");
  }
  // The kind of CPUs on the page of allocations: "exclusive", "shared".
  std::string Told(const std::string& kind) {
    const Json page = Json::parse(agent_.Page("/allocations"), nullptr, false);
    return page.is_object() && page.contains("cpus") ? page["cpus"].value(kind, "") : page.dump();
  }
  bool AwaitCpus(const std::string& pod, const std::string& cpus) {
    return Eventually([&] { return CpusOf(pod) == cpus; });
  }
};

TEST_F(AgentManagersTest, SharedContainersMakeWayForExclusiveCpusAndComeBack) {
  Run("shared", "{}");
  EXPECT_TRUE(AwaitCpus("shared", both)) << CpusOf("shared");
  const std::string id = IdOf("shared");
  RunOwn("own");
  EXPECT_EQ(CpusOf("own"), exclusive);
  EXPECT_TRUE(AwaitCpus("shared", reserved)) << CpusOf("shared");
  Run("late", "{}");
  EXPECT_EQ(CpusOf("late"), reserved);
  Apply("second", "{limits: {cpu: 1, memory: 64Mi}}");
  ASSERT_TRUE(agent_.AwaitPhase("second", "Failed"));
  EXPECT_EQ(agent_.Pod("second")["status"]["reason"], "UnexpectedAdmissionError");
  EXPECT_EQ(Told("exclusive"), exclusive);
  EXPECT_EQ(Told("shared"), reserved);
  Remove("own");
  EXPECT_TRUE(AwaitCpus("shared", both)) << CpusOf("shared");
  EXPECT_TRUE(AwaitCpus("late", both));
  EXPECT_EQ(IdOf("shared"), id) << "it was moved, not restarted";
}

TEST_F(AgentManagersTest, AllocationsOutliveRestartsOfContainersAndAgents) {
  Run("shared", "{}");
  RunOwn("own");
  const std::string before = IdOf("own");
  ASSERT_TRUE(StopContainer(before, 0).ok());
  ASSERT_TRUE(Eventually([&] { return !IdOf("own").empty() && IdOf("own") != before; }));
  ASSERT_TRUE(AwaitReady("own"));
  EXPECT_EQ(CpusOf("own"), exclusive);
  const std::string shared = IdOf("shared");
  agent_.Kill();
  // While no agent lives: the container ends.
  ASSERT_TRUE(StopContainer(shared, 0).ok());
  Begin();
  ASSERT_TRUE(AwaitReady("own"));
  EXPECT_EQ(CpusOf("own"), exclusive);
  ASSERT_TRUE(agent_.Await("shared", [](const Json& pod) {
    return pod.value("/status/containerStatuses/0/restartCount"_json_pointer, 0) == 1 &&
           pod.value("/status/containerStatuses/0/ready"_json_pointer, false);
  })) << agent_.Log();
  EXPECT_EQ(CpusOf("shared"), reserved);
}

// The agent is killed a little later each time, so that each step of the pod's start is cut off.
TEST_F(AgentManagersTest, AKillAtAnyStepChangesNoAllocation) {
  for (int i = 0; i < 6; ++i) {
    const std::string name = absl::StrCat("own-", i);
    Apply(name, "{limits: {cpu: 1, memory: 64Mi}}");
    const int sightings = i;
    int seen = 0;
    Eventually([&] { return seen++ >= sightings || agent_.Phase(name) == "Running"; });
    Restart();
    ASSERT_TRUE(AwaitReady(name)) << agent_.Log();
    EXPECT_EQ(CpusOf(name), exclusive);
    EXPECT_EQ(Told("exclusive"), exclusive);
    Remove(name);
  }
}

TEST_F(AgentManagersTest, SomebodyElsesCpusetIsPutRight) {
  Run("shared", "{}");
  ASSERT_TRUE(AwaitCpus("shared", both));
  runtime::v1::LinuxContainerResources other;
  other.set_cpuset_cpus(exclusive);
  ASSERT_TRUE(TryUpdate(IdOf("shared"), other).ok());
  EXPECT_TRUE(AwaitCpus("shared", both)) << CpusOf("shared");
}

TEST_F(AgentManagersTest, GrantsFollowCpusThatGoAndComeBack) {
  Run("shared", "{}");
  RunOwn("own");
  const std::string id = IdOf("own");
  Put({std::stoi(reserved)});
  EXPECT_TRUE(AwaitCpus("own", reserved)) << "on the shared ones" << agent_.Log();
  EXPECT_TRUE(Eventually([this] { return !agent_.Event("own", "CPUsChanged").is_null(); }));
  EXPECT_TRUE(AwaitCpus("shared", reserved));
  Restart();
  ASSERT_TRUE(AwaitReady("own"));
  ASSERT_TRUE(AwaitReady("shared"));
  Put({std::stoi(reserved), std::stoi(exclusive)});
  EXPECT_TRUE(AwaitCpus("own", exclusive)) << "its number is remembered" << agent_.Log();
  EXPECT_TRUE(AwaitCpus("shared", reserved));
  EXPECT_EQ(IdOf("own"), id);
}

TEST_F(AgentManagersTest, CpusOfAGuaranteedPodAreNotResized) {
  RunOwn("own");
  const auto resized = agent_.client().Resize(
      "default", "own", Json::parse(R"({"spec": {"containers": [{"name": "main", "resources":
          {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}}]}})"));
  ASSERT_TRUE(resized.ok()) << resized.status();
  EXPECT_THAT(agent_.Event("own", "ResizeInfeasible").value("message", ""),
              HasSubstr("CPU Manager policy \"static\""));
  EXPECT_EQ(CpusOf("own"), exclusive);
}

}  // namespace
}  // namespace plimsoll::testing
