// A node whose topology changes while it runs (gate NodeResourceHotPlug, KEP-3953).
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/node/node_view.h"
#include "agent/node/node_view_fixture_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class HotPlugTest : public NodeViewTest {
 protected:
  bool HasMemory(const std::string& memory) {
    return WaitUntil([&] { return Memory() == memory; });
  }
  bool HasEvent(const std::string& text) {
    return WaitUntil([&] {
      for (const std::string& event : Events()) {
        if (event.find(text) != std::string::npos) return true;
      }
      return false;
    });
  }
};

// Eight CPUs in two nodes, and other machine ids.
topology::Topology Larger() {
  return ParseNode(
      "zones:\n- {name: root, attributes: {tier: slow, boot-id: C}}\n- {name: n0, type: NUMANode, "
      "parent: root, resources: [{name: memory, capacity: 8Gi}]}\n- {name: n1, type: NUMANode, "
      "parent: root, resources: [{name: memory, capacity: 4Gi}, {name: hugepages-2Mi, capacity: "
      "4Mi}]}\n- {name: c, type: Core, parent: n0, attributes: {cpu-ids: 0-3}, resources: [{name: "
      "cpu, capacity: 4}]}\n- {name: d, type: Core, parent: n1, attributes: {cpu-ids: 4-7}, "
      "resources: [{name: cpu, capacity: 4}]}\n");
}

TEST_F(HotPlugTest, TheNodeFollowsItsTopology) {
  options_.kube_reserved["memory"] = *resources::Quantity::Parse("1Gi");
  streams_->Tell(WithMemory("8Gi"));
  StartView();
  EXPECT_TRUE(HasMemory("8Gi"));
  streams_->Tell(Larger());
  EXPECT_TRUE(HasMemory("12Gi"));
  const NodeState state = view_->State();
  EXPECT_TRUE(state.ready);
  EXPECT_EQ(state.capacity.at("cpu").Value(), 8);
  EXPECT_EQ(state.allocatable.at("memory").Canonical(), "11260Mi") << "without 1Gi and huge pages";
  EXPECT_EQ(state.capacity.at("hugepages-2Mi").Canonical(), "4Mi");
  EXPECT_EQ(state.maps->nodes.size(), 2u);
  const nlohmann::json node = view_->Object();
  EXPECT_EQ(node["metadata"]["labels"]["zone.plimsoll.dev/tier"], "slow");
  EXPECT_EQ(node["status"]["nodeInfo"]["bootID"], "C");
  EXPECT_TRUE(
      HasEvent("Normal NodeCapacityChanged the runtime's topology has changed: cpu 4 -> 8 "
               "(CPUs 4-7 came), memory 8Gi -> 12Gi"));
  EXPECT_TRUE(HasLogged("NUMA nodes 1 -> 2; the node has cpu 8"));
  streams_->Tell(WithMemory("8Gi"));
  EXPECT_TRUE(HasMemory("8Gi"));
  EXPECT_FALSE(view_->State().capacity.contains("hugepages-2Mi"));
  EXPECT_TRUE(HasEvent("(CPUs 4-7 went)"));
  EXPECT_THAT(Adoptions(), ElementsAre("first 8Gi", "12Gi", "8Gi"));
  EXPECT_TRUE(WaitUntil([&] { return changes_ >= 4; })) << "others look at the node again";
}

TEST_F(HotPlugTest, TheSameTopologyAgainChangesNothing) {
  for (int i = 0; i < 3; ++i) streams_->Tell(WithMemory("8Gi"));
  StartView();
  EXPECT_TRUE(WaitUntil([&] { return view_->response_count() == 3; }));
  streams_->Tell(WithMemory("4Gi"));
  EXPECT_TRUE(HasMemory("4Gi"));
  EXPECT_THAT(Adoptions(), ElementsAre("first 8Gi", "4Gi"));
  EXPECT_EQ(CountOf("has changed"), 1);
}

TEST_F(HotPlugTest, OneThatTheManagersRefuseIsUnusable) {
  streams_->Tell(WithMemory("8Gi"));
  StartView();
  EXPECT_TRUE(Is(kNodeReadyReason));
  AnswerAdoptions({absl::FailedPreconditionError("cpu manager: CPU 7 is reserved")});
  streams_->Tell(WithMemory("4Gi"));
  EXPECT_TRUE(Is(kTopologyUnusable));
  EXPECT_THAT(view_->State().message, HasSubstr("can't be used: cpu manager: CPU 7 is reserved"));
  EXPECT_EQ(Memory(), "8Gi") << "the last good one's";
  EXPECT_THAT(Events(), Not(Contains(HasSubstr("NodeCapacityChanged"))));
  streams_->Tell(WithMemory("6Gi"));
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_EQ(Memory(), "6Gi");
  EXPECT_TRUE(HasEvent("memory 8Gi -> 6Gi"));
}

// The managers could not put a pod's new grant on record: the runtime need not tell again.
TEST_F(HotPlugTest, APassingFailureIsTriedAgain) {
  streams_->Tell(WithMemory("8Gi"));
  StartView();
  EXPECT_TRUE(Is(kNodeReadyReason));
  AnswerAdoptions({absl::ResourceExhaustedError("disk full")});
  streams_->Tell(WithMemory("4Gi"));
  EXPECT_TRUE(Is(kTopologyUnusable));
  EXPECT_TRUE(WaitUntil([&] { return streams_->asked() == 2; })) << "a stream begins with it";
  EXPECT_EQ(view_->State().stream_error, "");
  streams_->Tell(WithMemory("4Gi"));
  EXPECT_TRUE(HasMemory("4Gi"));
  EXPECT_TRUE(Is(kNodeReadyReason));
}

TEST_F(HotPlugTest, OneThatIsTooSmallForTheReservedIsUnusable) {
  options_.system_reserved["memory"] = *resources::Quantity::Parse("5Gi");
  streams_->Tell(WithMemory("8Gi"));
  StartView();
  EXPECT_TRUE(Is(kNodeReadyReason));
  streams_->Tell(WithMemory("4Gi"));
  EXPECT_TRUE(Is(kTopologyUnusable));
  EXPECT_EQ(Memory(), "8Gi");
  EXPECT_THAT(Adoptions(), ElementsAre("first 8Gi")) << "the managers never see it";
  // The one before it is good still.
  streams_->Tell(WithMemory("8Gi"));
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_THAT(Adoptions(), ElementsAre("first 8Gi"));
}

TEST_F(HotPlugTest, CpusWithoutNumbersAreUnusableUnderAStaticPolicy) {
  options_.cpu_ids_required = true;
  streams_->Tell(WithMemory("8Gi"));
  StartView();
  EXPECT_TRUE(Is(kNodeReadyReason));
  streams_->Tell(ParseNode("zones: [{name: c, resources: [{name: cpu, capacity: 2}]}]"));
  EXPECT_TRUE(Is(kTopologyUnusable));
  EXPECT_EQ(view_->State().capacity.at("cpu").Value(), 4);
}

TEST_F(HotPlugTest, AStreamThatComesBackWithAnotherTopologyIsFollowed) {
  streams_->Tell(WithMemory("8Gi"));
  StartView();
  EXPECT_TRUE(Is(kNodeReadyReason));
  streams_->End(absl::UnavailableError("the daemon has ended"));
  EXPECT_TRUE(HasLogged("the daemon has ended; the node keeps its numbers"));
  streams_->Tell(WithMemory("4Gi"));
  EXPECT_TRUE(HasMemory("4Gi"));
  EXPECT_TRUE(HasEvent("NodeCapacityChanged"));
}

TEST_F(HotPlugTest, TheMachineIsWatchedWhereItsOwnTopologyIsUsed) {
  streams_->End(absl::UnimplementedError("unknown method"));
  StartView();
  EXPECT_TRUE(HasMemory("2Gi"));
  EXPECT_TRUE(IsWatched());
  is_local_large_ = true;
  ChangeMachine();
  EXPECT_TRUE(HasMemory("8Gi"));
  EXPECT_TRUE(
      HasEvent("Normal NodeCapacityChanged the machine's own topology has changed: memory "
               "2Gi -> 8Gi"));
  local_failures_ = 1;
  is_local_large_ = false;
  ChangeMachine();
  EXPECT_TRUE(HasMemory("2Gi")) << "it is read again after a failure";
  EXPECT_TRUE(Is(kNodeReadyReason));
  view_.reset();
  EXPECT_FALSE(IsWatched());
}

TEST_F(HotPlugTest, ExtendedResourcesComeAndGoWithTheirDevices) {
  streams_->Tell(WithMemory("8Gi"));
  StartView();
  EXPECT_TRUE(Is(kNodeReadyReason));
  const int before = changes_;
  view_->SetExtended({{"example.com/gpu", resources::Quantity::FromInt(3)}},
                     {{"example.com/gpu", resources::Quantity::FromInt(2)}});
  EXPECT_EQ(changes_, before + 1);
  EXPECT_EQ(view_->Object()["status"]["capacity"]["example.com/gpu"], "3");
  EXPECT_EQ(view_->Object()["status"]["allocatable"]["example.com/gpu"], "2");
  view_->SetExtended({}, {});
  EXPECT_EQ(changes_, before + 2);
  EXPECT_EQ(view_->Object()["status"]["capacity"]["example.com/gpu"], "0");
  EXPECT_EQ(view_->Object()["status"]["allocatable"]["example.com/gpu"], "0");
  view_->SetExtended({}, {});
  EXPECT_EQ(changes_, before + 2) << "nothing is new";
}

TEST_F(HotPlugTest, ANodeWithoutATopologyHasNoDevicesEither) {
  StartView();
  view_->SetExtended({{"example.com/gpu", resources::Quantity::FromInt(3)}}, {});
  EXPECT_TRUE(view_->State().capacity.empty());
}

class NodeViewGateOffTest : public NodeViewTest {
 protected:
  NodeViewGateOffTest() { options_.hot_plug = false; }
};

TEST_F(NodeViewGateOffTest, AGoodOneAfterAnUnusableOneEndsItWithTheFirstNumbers) {
  streams_->Tell(WithMemory("8Gi"));
  streams_->Tell(NoClientCanRead());
  streams_->Tell(WithMemory("4Gi"));
  StartView();
  EXPECT_TRUE(HasLogged("memory 8Gi -> 4Gi; the node keeps the numbers that it began with"));
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_EQ(Memory(), "8Gi");
}

TEST_F(NodeViewGateOffTest, LaterChangesAreOnlyLogged) {
  streams_->Tell(WithMemory("8Gi"));
  streams_->Tell(WithMemory("4Gi"));
  streams_->Tell(WithMemory("4Gi"));
  streams_->Tell(WithMemory("6Gi"));
  StartView();
  EXPECT_TRUE(HasLogged("memory 4Gi -> 6Gi"));
  EXPECT_EQ(CountOf("the runtime's topology has changed: memory 8Gi -> 4Gi; the node keeps"), 1);
  EXPECT_EQ(CountOf("has changed"), 2);
  EXPECT_EQ(Memory(), "8Gi");
  EXPECT_EQ(view_->response_count(), 4u);
  EXPECT_EQ(Events().size(), 1u);
  EXPECT_THAT(Adoptions(), ElementsAre("first 8Gi"));
}

TEST_F(NodeViewGateOffTest, TheMachineIsReadOnce) {
  options_.discovery = DiscoveryMode::kLocal;
  StartView();
  EXPECT_TRUE(Is(kNodeReadyReason));
  EXPECT_FALSE(IsWatched());
}

}  // namespace
}  // namespace plimsoll::agent
