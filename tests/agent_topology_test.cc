// An agent over topologies of a file: what its pods have of them, and what it does with those that
// its managers can't use.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent_runs_fixture.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "harness/agent.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

// Two CPUs with their numbers, as a static CPU policy needs them.
constexpr char kGood[] =
    "zones:\n"
    "- {name: numa-0, type: NUMANode, resources: [{name: memory, capacity: 1Gi}]}\n"
    "- {name: core-0, type: Core, parent: numa-0, attributes: {cpu-ids: \"0\"}, resources: [{name: "
    "cpu, capacity: 1}]}\n"
    "- {name: core-1, type: Core, parent: numa-0, attributes: {cpu-ids: \"1\"}, resources: [{name: "
    "cpu, capacity: 1}]}\n";
constexpr char kWithoutIds[] =
    "zones:\n"
    "- {name: numa-0, type: NUMANode, resources: [{name: memory, capacity: 1Gi}, {name: cpu, "
    "capacity: 2}]}\n";
constexpr char kStaticCpus[] =
    "cgroupsPerQOS: false\ncpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\n";

// Constructed before the node whose configuration names it.
struct TopologyFile {
  void Put(const std::string& text) {
    ASSERT_TRUE(topology_directory.root().ReplaceFile("t.yaml", text).ok());
  }
  TestDir topology_directory;
};

class AgentTopologyTest : protected TopologyFile, public NodeTest {
 protected:
  AgentTopologyTest()
      : NodeTest(absl::StrCat("nodeResources: {source: {file: ", topology_directory.path(),
                              "/t.yaml}}\n")),
        agent_(node_.directory(), node_.address()) {
    Put(kWithoutIds);
  }
  void TearDown() override {
    agent_.Kill();
    NodeTest::TearDown();
  }
  bool ReadyBecomes(const std::string& status) {
    return Eventually([&] { return agent_.NodeReady()["status"] == status; });
  }
  static std::string Own(const std::string& name) {
    return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name,
                        "}, spec: {containers: [{name: main, image: busybox, imagePullPolicy: "
                        "Never, command: [sh, -c, '",
                        kUntilTerm, "'], resources: {limits: {cpu: 1, memory: 16Mi}}}]}}");
  }

  AgentRuns agent_;
};

TEST_F(AgentTopologyTest, NoPodIsTakenUntilAGoodOneCame) {
  agent_.Begin(kStaticCpus);
  const Json ready = agent_.NodeReady();
  EXPECT_EQ(ready["status"], "False");
  EXPECT_EQ(ready["reason"], "TopologyUnusable");
  EXPECT_THAT(ready["message"].get<std::string>(), HasSubstr("numa-0")) << "the zone is named";
  EXPECT_FALSE(agent_->client().Apply(Own("early")).ok());
  Put(kGood);
  ASSERT_TRUE(ReadyBecomes("True")) << agent_.NodeReady();
  agent_.Apply(Own("own"));
  ASSERT_TRUE(agent_->Await("own", IsReady)) << agent_->Log();
  EXPECT_EQ(Status(MainId(agent_->Pod("own"))).resources().linux().cpuset_cpus(), "1");
}

TEST_F(AgentTopologyTest, ALaterOneLeavesNumbersAndPods) {
  Put(kGood);
  agent_.Begin(kStaticCpus);
  // The daemon may report the earlier topology first.
  ASSERT_TRUE(ReadyBecomes("True")) << agent_.NodeReady();
  agent_.Apply(Own("own"));
  ASSERT_TRUE(agent_->Await("own", IsReady)) << agent_->Log();
  const Json own = agent_->Pod("own");
  Put(kWithoutIds);
  ASSERT_TRUE(ReadyBecomes("False")) << agent_->Log();
  EXPECT_EQ(agent_.NodeReady()["reason"], "TopologyUnusable");
  EXPECT_EQ(agent_.Capacity()["cpu"], "2");
  EXPECT_EQ(Status(MainId(own)).resources().linux().cpuset_cpus(), "1");
  agent_.Restart(node_.runtime(), "own");
  EXPECT_EQ(Status(MainId(agent_->Pod("own"))).resources().linux().cpuset_cpus(), "1")
      << "what it has, it keeps";
  const Json restarted = agent_->Pod("own");
  Put(kGood);
  ASSERT_TRUE(ReadyBecomes("True")) << agent_.NodeReady();
  // To the daemon this is no topology at all: what it told last stays.
  Put("zones: [");
  EXPECT_TRUE(Eventually([this] { return absl::StrContains(node_.Log(), "t.yaml"); }));
  EXPECT_EQ(agent_.NodeReady()["status"], "True");
  agent_.ExpectUntouched("own", restarted);
}

TEST_F(AgentTopologyTest, AllocationsAreShown) {
  Put(kGood);
  agent_.Begin(kStaticCpus);
  // The daemon may report the earlier topology first.
  ASSERT_TRUE(ReadyBecomes("True")) << agent_.NodeReady();
  agent_.Apply(Own("own"));
  ASSERT_TRUE(agent_->Await("own", IsReady)) << agent_->Log();
  const auto show = [&](const std::vector<std::string>& more) {
    std::vector<std::string> argv = {ProgramPath("plimsoll"), "--agent", agent_->socket(),
                                     "allocations"};
    argv.insert(argv.end(), more.begin(), more.end());
    const auto shown = RunProgram({.argv = argv});
    EXPECT_TRUE(shown.ok() && shown->exit.success()) << (shown.ok() ? shown->err : "");
    return shown.ok() ? shown->out : "";
  };
  const std::string text = show({});
  EXPECT_THAT(text, HasSubstr("CPU manager static"));
  EXPECT_THAT(text, HasSubstr("package 0  NUMA node 0  [0#] [1A]\nA  default/own main  1\n"));
  EXPECT_THAT(text, HasSubstr("default    own  main       1 "));
  const Json all = Json::parse(show({"-o", "json"}));
  EXPECT_EQ(all["cpus"], Json::parse(R"({"all": "0-1", "reserved": "0", "exclusive": "1",
                                         "shared": "0", "free": ""})"));
  EXPECT_EQ(all, Json::parse(agent_->Page("/allocations")));
  agent_.Delete("own");
  EXPECT_EQ(Json::parse(agent_->Page("/allocations"))["cpus"]["free"], "1");
}

TEST_F(AgentTopologyTest, PolicyNoneNeedsNoNumbers) {
  agent_.Begin("cgroupsPerQOS: false\n");
  EXPECT_EQ(agent_.NodeReady()["status"], "True");
  agent_.Apply(Own("own"));
  EXPECT_TRUE(agent_->Await("own", IsReady)) << agent_->Log();
}

}  // namespace
}  // namespace plimsoll::testing
