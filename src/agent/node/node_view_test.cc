#include "agent/node/node_view.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/node/node_view_fixture_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(NodeViewTest, TheFirstTopologyMakesTheNode) {
  options_.first_topology_limit = absl::Seconds(30);
  options_.system_reserved["memory"] = *resources::Quantity::Parse("1Gi");
  streams_->Tell(WithMemory("8Gi"));
  StartView();
  view_->SetExtended({{"example.com/gpu", resources::Quantity::FromInt(2)}},
                     {{"example.com/gpu", resources::Quantity::FromInt(1)}});
  EXPECT_TRUE(view_->AwaitFirst());
  const NodeState state = view_->State();
  EXPECT_TRUE(state.ready);
  EXPECT_EQ(state.reason, kNodeReadyReason);
  EXPECT_EQ(state.source, TopologySource::kRuntime);
  EXPECT_EQ(state.capacity.at("cpu").Canonical(), "4");
  EXPECT_EQ(state.capacity.at("memory").Canonical(), "8Gi");
  EXPECT_EQ(state.allocatable.at("memory").Canonical(), "7Gi");
  EXPECT_EQ(state.capacity.at("example.com/gpu").Value(), 2);
  EXPECT_EQ(state.allocatable.at("example.com/gpu").Value(), 1);
  EXPECT_EQ(state.maps->nodes.at(0).cpus.ToString(), "0-3");
  EXPECT_EQ(view_->response_count(), 1u);
  const nlohmann::json node = view_->Object();
  EXPECT_EQ(node["metadata"]["name"], "edge");
  EXPECT_EQ(node["metadata"]["labels"]["zone.plimsoll.dev/tier"], "fast");
  EXPECT_EQ(node["status"]["nodeInfo"]["bootID"], "B");
  EXPECT_EQ(node["status"]["nodeInfo"]["containerRuntimeVersion"], "fake://1");
  EXPECT_EQ(node["status"]["conditions"][0]["status"], "True");
  EXPECT_TRUE(WaitUntil([&] { return changes_ >= 3; }));
  EXPECT_THAT(Events(), ElementsAre("Normal NodeReady Node edge status is now: NodeReady"));
  EXPECT_TRUE(HasLogged("the runtime's topology makes the node: cpu 4"));
}

TEST_F(NodeViewTest, AStartWaitsForALimitedTime) {
  StartView();
  EXPECT_EQ(view_->State().reason, kTopologyPending);
  EXPECT_FALSE(view_->AwaitFirst());
  EXPECT_EQ(view_->State().reason, kTopologyPending);
  EXPECT_EQ(view_->State().message, "no topology from the runtime within 20ms");
  EXPECT_THAT(view_->State().capacity, IsEmpty());
  EXPECT_EQ(view_->State().maps, nullptr);
  EXPECT_THAT(Events(),
              ElementsAre("Warning TopologyPending no topology from the runtime within 20ms"));
  streams_->Tell(WithMemory("8Gi"));
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_EQ(Memory(), "8Gi");
}

TEST_F(NodeViewTest, AStopEndsTheWaitAndIsNoVerdict) {
  options_.first_topology_limit = absl::Hours(1);
  StartView();
  int asked = 0;
  EXPECT_FALSE(view_->AwaitFirst([&] { return ++asked == 2; }));
  EXPECT_EQ(view_->State().message, "waiting for the first topology");
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_EQ(CountOf("waiting up to 1h for the first topology"), 1);
}

TEST_F(NodeViewTest, TheReasonForNoneIsTold) {
  streams_->SetVersion(absl::UnavailableError("nobody listens"));
  StartView();
  EXPECT_TRUE(HasLogged("nobody listens"));
  EXPECT_THAT(view_->State().message,
              HasSubstr("waiting for the runtime's first topology: nobody listens"));
  EXPECT_FALSE(view_->AwaitFirst());
  EXPECT_THAT(view_->State().message, HasSubstr("within 20ms: nobody listens"));
  EXPECT_EQ(view_->State().stream_error, "nobody listens");
  streams_->SetVersion("fake://2");
  streams_->Tell(WithMemory("8Gi"));
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_EQ(view_->State().stream_error, "");
  EXPECT_EQ(CountOf("no topology from the runtime: nobody listens"), 1) << "asked many times";
}

TEST_F(NodeViewTest, AnUnusableOneIsToldAndTheNextGoodOneEndsIt) {
  StartView();
  streams_->Tell(NoClientCanRead());
  EXPECT_TRUE(Is(kTopologyUnusable));
  EXPECT_FALSE(view_->AwaitFirst()) << "at once";
  EXPECT_THAT(view_->State().message,
              HasSubstr("the runtime's topology can't be used: zone \"east\" is a NUMA node"));
  EXPECT_TRUE(HasEvents(1));
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("Warning TopologyUnusable the runtime's topology")));
  EXPECT_TRUE(HasLogged("node edge is not ready: the runtime's topology can't be used"));
  EXPECT_EQ(view_->Object()["status"]["conditions"][0]["reason"], kTopologyUnusable);
  streams_->Tell(absl::InvalidArgumentError("zone \"z\": no quantity"));
  EXPECT_TRUE(
      WaitUntil([&] { return view_->State().message.find("no quantity") != std::string::npos; }));
  streams_->Tell(WithMemory("8Gi"));
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_EQ(Memory(), "8Gi");
}

TEST_F(NodeViewTest, AnUnusableOneAfterAGoodOneKeepsTheNumbers) {
  streams_->Tell(WithMemory("8Gi"));
  StartView();
  EXPECT_TRUE(Is(kNodeReadyReason));
  clock_.seconds_ += 60;
  streams_->Tell(NoClientCanRead());
  EXPECT_TRUE(Is(kTopologyUnusable));
  EXPECT_FALSE(view_->State().ready);
  EXPECT_EQ(Memory(), "8Gi");
  EXPECT_EQ(view_->State().maps->cpu_count, 4);
  EXPECT_EQ(view_->Object()["status"]["conditions"][0]["lastTransitionTime"],
            "2001-09-09T01:47:40Z");
  EXPECT_TRUE(HasEvents(3));
  EXPECT_THAT(Events(), Contains("Normal NodeNotReady Node edge status is now: NodeNotReady"));
  // The end of a stream changes nothing about this.
  streams_->End(absl::UnavailableError("gone"));
  EXPECT_TRUE(HasLogged("no topology from the runtime: gone; the node keeps its numbers"));
  EXPECT_EQ(view_->State().reason, kTopologyUnusable);
  streams_->Tell(WithMemory("4Gi"));
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_EQ(Memory(), "4Gi");
}

TEST_F(NodeViewTest, ALostStreamLeavesTheLastTopology) {
  streams_->Tell(WithMemory("8Gi"));
  StartView();
  EXPECT_TRUE(Is(kNodeReadyReason));
  for (int i = 0; i < 3; ++i) streams_->End(absl::UnavailableError("the daemon has ended"));
  streams_->End(absl::OkStatus());
  // A call that the runtime had, and has no more.
  streams_->End(absl::UnimplementedError("unknown method"));
  EXPECT_TRUE(WaitUntil([&] { return streams_->asked() >= 6; }));
  EXPECT_TRUE(HasLogged("unknown method"));
  EXPECT_EQ(CountOf("the daemon has ended"), 1);
  EXPECT_EQ(CountOf("the runtime ended the stream"), 1);
  EXPECT_TRUE(view_->State().ready);
  EXPECT_EQ(view_->State().stream_error, "unknown method");
  streams_->Tell(WithMemory("8Gi"));
  EXPECT_TRUE(HasLogged("the runtime reports its topology again"));
  EXPECT_EQ(view_->State().stream_error, "");
  EXPECT_EQ(CountOf("has changed"), 0);
  EXPECT_EQ(view_->State().source, TopologySource::kRuntime);
}

TEST_F(NodeViewTest, WithoutTheCallTheMachinesOwnIsUsed) {
  local_failures_ = 2;
  streams_->End(absl::UnimplementedError("unknown method"));
  StartView();
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_EQ(Memory(), "2Gi");
  EXPECT_EQ(view_->State().source, TopologySource::kLocal);
  EXPECT_TRUE(HasLogged("has no GetDynamicRuntimeConfig (unknown method)"));
  EXPECT_EQ(view_->response_count(), 0u);
  EXPECT_EQ(streams_->asked(), 1) << "once";
}

// A runtime that doesn't serve the CRI yet answers no call.
TEST_F(NodeViewTest, ARuntimeThatKnowsNoCallAtAllIsAskedAgain) {
  streams_->SetVersion(absl::UnimplementedError("unknown service"));
  StartView();
  EXPECT_TRUE(HasLogged("unknown service"));
  EXPECT_EQ(view_->State().source, TopologySource::kNone);
  streams_->SetVersion("fake://1");
  streams_->Tell(WithMemory("8Gi"));
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_EQ(view_->State().source, TopologySource::kRuntime);
}

TEST_F(NodeViewTest, InModeCriTheCallIsNeeded) {
  options_.discovery = DiscoveryMode::kCri;
  streams_->End(absl::UnimplementedError("unknown method"));
  StartView();
  EXPECT_TRUE(Is(kTopologyUnsupported));
  EXPECT_FALSE(view_->AwaitFirst());
  EXPECT_THAT(view_->State().message, HasSubstr("resourceDiscovery: cri"));
  EXPECT_EQ(view_->State().source, TopologySource::kNone);
  // The runtime was updated.
  streams_->Tell(WithMemory("8Gi"));
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_EQ(view_->State().source, TopologySource::kRuntime);
}

TEST_F(NodeViewTest, WithTheGateOffOrInModeLocalTheRuntimeIsNotAsked) {
  for (const bool gate : {false, true}) {
    options_.discovery_from_cri = gate;
    options_.discovery = gate ? DiscoveryMode::kLocal : DiscoveryMode::kAuto;
    StartView();
    EXPECT_TRUE(Is(kNodeReadyReason));
    EXPECT_EQ(Memory(), "2Gi");
    EXPECT_TRUE(WaitUntil([&] {
      return view_->Object()["status"]["nodeInfo"]["containerRuntimeVersion"] == "fake://1";
    }));
    view_.reset();
  }
  EXPECT_EQ(streams_->asked(), 0);
}

TEST_F(NodeViewTest, TheRuntimesOtherTroublesMakeItNotReadyToo) {
  StartView();
  view_->SetRuntimeTrouble("the network is not ready");
  EXPECT_EQ(view_->State().reason, kTopologyPending) << "there are no numbers yet";
  streams_->Tell(WithMemory("8Gi"));
  EXPECT_TRUE(Is(kNodeNotReadyReason));
  EXPECT_EQ(view_->State().message, "the network is not ready");
  EXPECT_EQ(Memory(), "8Gi");
  EXPECT_FALSE(view_->AwaitFirst());
  EXPECT_TRUE(HasEvents(1));
  EXPECT_THAT(Events(), ElementsAre("Warning KubeletNotReady the network is not ready"));
  streams_->Tell(NoClientCanRead());
  EXPECT_TRUE(Is(kTopologyUnusable));
  streams_->Tell(WithMemory("8Gi"));
  EXPECT_TRUE(Is(kNodeNotReadyReason));
  view_->SetRuntimeTrouble("");
  EXPECT_EQ(view_->State().reason, kNodeReadyReason);
}

// Such a node would have less than nothing for pods.
TEST_F(NodeViewTest, WhatIsTooSmallForTheReservedIsUnusable) {
  options_.kube_reserved["memory"] = *resources::Quantity::Parse("5Gi");
  streams_->Tell(WithMemory("4Gi"));
  StartView();
  EXPECT_TRUE(Is(kTopologyUnusable));
  EXPECT_THAT(view_->State().message,
              HasSubstr("memory: reserved are kubeReserved 5Gi, of a capacity of 4Gi"));
  streams_->Tell(WithMemory("8Gi"));
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_EQ(view_->State().allocatable.at("memory").Canonical(), "3Gi");
}

TEST_F(NodeViewTest, AMachineThatIsTooSmallIsReadAgain) {
  options_.discovery = DiscoveryMode::kLocal;
  options_.kube_reserved["memory"] = *resources::Quantity::Parse("5Gi");
  StartView();
  EXPECT_TRUE(Is(kTopologyUnusable));
  EXPECT_THAT(view_->State().message,
              HasSubstr("the machine's own topology can't be used: memory"));
  is_local_large_ = true;
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_EQ(Memory(), "8Gi");
}

TEST_F(NodeViewTest, AStaticCpuPolicyNeedsAllNumbers) {
  options_.cpu_ids_required = true;
  streams_->Tell(
      ParseNode("zones: [{name: c, resources: [{name: cpu, capacity: 2}, {name: memory, "
                "capacity: 1Gi}]}]"));
  StartView();
  EXPECT_TRUE(Is(kTopologyUnusable));
  EXPECT_THAT(view_->State().message,
              HasSubstr("zone \"c\" has CPUs and no attribute \"cpu-ids\""));
}

TEST_F(NodeViewTest, TheHostsNameStandsInForAMissingOne) {
  options_.name = "";
  NodeView::Parts parts = {.host = dir_.root(), .runtime = std::make_unique<FakeRuntime>(streams_)};
  EXPECT_THAT(NodeView::Start(options_, std::move(parts)).status().message(),
              HasSubstr("configure nodeName"));
  ASSERT_TRUE(dir_.root().MakeDirs("proc/sys/kernel").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("proc/sys/kernel/hostname", "Box\n").ok());
  StartView();
  EXPECT_EQ(view_->name(), "box");
}

// Whoever stops the agent does not wait for the runtime.
TEST_F(NodeViewTest, TheEndWaitsForNoOne) {
  for (const bool silent : {false, true}) {
    if (!silent) streams_->SetVersion(absl::UnavailableError("nobody listens"));
    StartView();
    const absl::Time begun = absl::Now();
    view_.reset();
    EXPECT_LT(absl::Now() - begun, absl::Seconds(10));
    streams_ = std::make_shared<FakeStreams>();
  }
}

}  // namespace
}  // namespace plimsoll::agent
