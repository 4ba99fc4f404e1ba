// The node of plimsoll-agent (KEP-5224 "kubelet") on a plimsolld: it follows the daemon's topology.
#include "agent/node/node_view.h"

#include <signal.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "agent/node/runtime_topology.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using agent::NodeState;
using agent::NodeView;
using agent::TopologySource;

// Constructed before the node whose configuration names it.
struct GivenTopology {
  void Put(const std::string& memory) {
    ASSERT_TRUE(directory.root()
                    .ReplaceFile("t.yaml", absl::StrCat("zones:\n- {name: numa-0, type: NUMANode, ",
                                                        "attributes: {tier: slow}, resources: ",
                                                        "[{name: memory, capacity: ", memory,
                                                        "}, {name: cpu, capacity: 3}]}\n"))
                    .ok());
  }
  TestDir directory;
};

class AgentNodeTest : protected GivenTopology, public NodeTest {
 protected:
  // Without a configuration the daemon has the given topology.
  explicit AgentNodeTest(const std::string& config = "")
      : NodeTest(config.empty() ? absl::StrCat("nodeResources: {source: {file: ", directory.path(),
                                               "/t.yaml}}\n")
                                : config) {
    Put("8Gi");
    options_.name = "edge";
    options_.state_directory = directory.path();
    options_.first_topology_limit = Patience(absl::Seconds(60));
  }
  void TearDown() override {
    view_.reset();
    NodeTest::TearDown();
  }

  void StartView() {
    auto runtime = agent::OpenRuntimeTopology(node_.address());
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    auto view = NodeView::Start(options_, {.host = Host(),
                                           .runtime = *std::move(runtime),
                                           .hooks = {.on_log = [this](const std::string& line) {
                                             absl::MutexLock lock(&mutex_);
                                             absl::StrAppend(&log_, line, "\n");
                                           }}});
    ASSERT_TRUE(view.ok()) << view.status();
    view_ = *std::move(view);
  }
  bool IsReady() {
    return Eventually([this] { return view_->State().ready; });
  }
  std::string AgentLog() {
    absl::MutexLock lock(&mutex_);
    return log_;
  }
  bool HasLogged(const std::string& text) {
    return Eventually([&] { return absl::StrContains(AgentLog(), text); });
  }

  agent::NodeOptions options_;
  std::unique_ptr<NodeView> view_;

 private:
  absl::Mutex mutex_;
  std::string log_;
};

TEST_F(AgentNodeTest, TheDaemonsTopologyMakesTheNode) {
  StartView();
  ASSERT_TRUE(view_->AwaitFirst()) << view_->State().message;
  const nlohmann::json node = view_->Object();
  EXPECT_EQ(node["status"]["capacity"]["cpu"], "3");
  EXPECT_EQ(node["status"]["capacity"]["memory"], "8Gi");
  EXPECT_EQ(node["metadata"]["labels"]["zone.plimsoll.dev/tier"], "slow");
  const std::string version = node["status"]["nodeInfo"]["containerRuntimeVersion"];
  EXPECT_TRUE(absl::StartsWith(version, "plimsoll://")) << version;
  Put("4Gi");
  EXPECT_TRUE(HasLogged("has changed: memory 8Gi -> 4Gi")) << AgentLog();
  EXPECT_TRUE(
      Eventually([this] { return view_->Object()["status"]["capacity"]["memory"] == "4Gi"; }));
  EXPECT_EQ(view_->response_count(), 2u);
}

TEST_F(AgentNodeTest, WithoutHotPlugALaterOneIsOnlyLogged) {
  options_.hot_plug = false;
  StartView();
  ASSERT_TRUE(view_->AwaitFirst()) << view_->State().message;
  Put("4Gi");
  EXPECT_TRUE(HasLogged("has changed: memory 8Gi -> 4Gi")) << AgentLog();
  EXPECT_EQ(view_->Object()["status"]["capacity"]["memory"], "8Gi");
}

TEST_F(AgentNodeTest, TheNodeLivesThroughTheDaemonsKill) {
  StartView();
  ASSERT_TRUE(view_->AwaitFirst()) << view_->State().message;
  for (int kill = 0; kill < 2; ++kill) {
    node_.KillDaemon();
    EXPECT_TRUE(Eventually([this] { return !view_->State().stream_error.empty(); }));
    EXPECT_TRUE(view_->State().ready);
    EXPECT_EQ(view_->State().capacity.at("memory").Canonical(), "8Gi");
    ASSERT_TRUE(node_.StartDaemon().ok());
    EXPECT_TRUE(Eventually([this] { return view_->State().stream_error.empty(); }))
        << view_->State().stream_error;
  }
  EXPECT_GE(view_->response_count(), 3u);
  EXPECT_FALSE(absl::StrContains(AgentLog(), "has changed")) << AgentLog();
  Put("4Gi");
  EXPECT_TRUE(HasLogged("has changed")) << "the stream is the new daemon's\n" << AgentLog();
}

TEST_F(AgentNodeTest, ADaemonMayComeLater) {
  node_.KillDaemon();
  options_.first_topology_limit = absl::Milliseconds(300);
  StartView();
  EXPECT_FALSE(view_->AwaitFirst());
  EXPECT_EQ(view_->State().reason, agent::kTopologyPending);
  EXPECT_TRUE(Eventually([this] { return !view_->State().stream_error.empty(); }));
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(IsReady()) << view_->State().message;
}

TEST_F(AgentNodeTest, ASilentDaemonHoldsNothingUp) {
  ASSERT_EQ(kill(node_.daemon_pid(), SIGSTOP), 0);
  options_.first_topology_limit = absl::Milliseconds(300);
  StartView();
  EXPECT_FALSE(view_->AwaitFirst());
  const absl::Time begun = absl::Now();
  view_.reset();
  EXPECT_LT(absl::Now() - begun, Patience(absl::Seconds(10)));
  StartView();
  ASSERT_EQ(kill(node_.daemon_pid(), SIGCONT), 0);
  EXPECT_TRUE(IsReady()) << view_->State().message;
}

// The daemon has no topology that can be used: it reports none, and the node has none.
TEST_F(AgentNodeTest, ABadFileIsNoNode) {
  node_.KillDaemon();
  ASSERT_TRUE(directory.root().ReplaceFile("t.yaml", "zones: [{name: a, type: numa}]\n").ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  options_.first_topology_limit = absl::Milliseconds(300);
  StartView();
  EXPECT_FALSE(view_->AwaitFirst());
  EXPECT_EQ(view_->State().reason, agent::kTopologyPending);
  Put("2Gi");
  EXPECT_TRUE(IsReady()) << view_->State().message;
  EXPECT_EQ(view_->State().capacity.at("memory").Canonical(), "2Gi");
}

constexpr char kGateOff[] = "feature_gates: {KubeletResourceDiscoveryFromCRI: false}\n";

class AgentNodeGateOffTest : public AgentNodeTest {
 protected:
  AgentNodeGateOffTest() : AgentNodeTest(kGateOff) {}
};

TEST_F(AgentNodeGateOffTest, TheMachinesOwnTopologyMakesTheNode) {
  StartView();
  ASSERT_TRUE(view_->AwaitFirst()) << view_->State().message;
  const NodeState state = view_->State();
  EXPECT_EQ(state.source, TopologySource::kLocal);
  EXPECT_FALSE(state.maps->cpus.empty());
  EXPECT_EQ(state.capacity.at("cpu").Value(), static_cast<int64_t>(state.maps->cpus.size()));
  EXPECT_EQ(view_->response_count(), 0u);
  EXPECT_TRUE(absl::StrContains(AgentLog(), "the machine's own topology is used")) << AgentLog();
}

TEST_F(AgentNodeGateOffTest, InModeCriTheNodeWaitsForADaemonThatTells) {
  options_.discovery = agent::DiscoveryMode::kCri;
  StartView();
  EXPECT_FALSE(view_->AwaitFirst());
  EXPECT_EQ(view_->State().reason, agent::kTopologyUnsupported);
  node_.KillDaemon();
  const auto config = Host().Read(node_.config_path());
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_TRUE(
      Host().ReplaceFile(node_.config_path(), absl::StrReplaceAll(*config, {{kGateOff, ""}})).ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(IsReady()) << view_->State().message;
  EXPECT_EQ(view_->State().source, TopologySource::kRuntime);
}

}  // namespace
}  // namespace plimsoll::testing
