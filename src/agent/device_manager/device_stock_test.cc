#include "agent/device_manager/device_stock.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "agent/topology_manager/hints_for_test.h"
#include "gmock/gmock.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr char kResource[] = "example.com/gpu";

NodeMask Nodes(const std::vector<uint32_t>& nodes) {
  NodeMask mask;
  for (const uint32_t node : nodes) mask.Add(node);
  return mask;
}

Device At(const std::string& id, const std::vector<uint32_t>& nodes, bool healthy = true) {
  return {.id = id, .healthy = healthy, .nodes = Nodes(nodes)};
}
Device Anywhere(const std::string& id, bool healthy = true) {
  return {.id = id, .healthy = healthy, .nodes = std::nullopt};
}

struct Case {
  DeviceResource resource;
  DeviceRequest request;
  // Calls of the plugin, as text; its answer.
  std::vector<std::string> asked;
  absl::StatusOr<std::vector<std::string>> answer = std::vector<std::string>{};

  Case(std::vector<Device> devices, int64_t count) {
    resource.devices = std::move(devices);
    request = {
        .resource = kResource, .count = count, .devices = nullptr, .held = {}, .reusable = {}};
  }
  absl::StatusOr<std::vector<std::string>> Choose(std::optional<NodeMask> nodes = std::nullopt) {
    request.devices = &resource;
    return ChooseDevices(request, nodes,
                         [this](const std::string& name, const std::vector<std::string>& available,
                                const std::vector<std::string>& must_include, int64_t count) {
                           const auto join = [](const std::vector<std::string>& ids) {
                             return std::accumulate(ids.begin(), ids.end(), std::string());
                           };
                           asked.push_back(absl::StrCat(name, " of ", join(available), " with ",
                                                        join(must_include), " ", count));
                           return answer;
                         });
  }
  std::optional<std::vector<Hint>> Hints(NodeMask nodes) {
    request.devices = &resource;
    return DeviceHints(request, nodes);
  }
};

TEST(DeviceHintsTest, DevicesWithoutPlacesGiveNone) {
  EXPECT_EQ(Case({Anywhere("a"), Anywhere("b")}, 1).Hints(Nodes({0, 1})), std::nullopt);
  DeviceRequest unknown{
      .resource = kResource, .count = 1, .devices = nullptr, .held = {}, .reusable = {}};
  EXPECT_EQ(DeviceHints(unknown, Nodes({0})), std::nullopt);
}

TEST(DeviceHintsTest, TheFewestNodesThatCouldEverHoldTheRequestArePreferred) {
  Case two({At("a", {0}), At("b", {0}), At("c", {1}), At("d", {1})}, 2);
  EXPECT_THAT(two.Hints(Nodes({0, 1})),
              Optional(ElementsAre(Hint{Nodes({0}), true}, Hint{Nodes({1}), true},
                                   Hint{Nodes({0, 1}), false})));
  // One of node 0's is in use: the pair of nodes still isn't preferred.
  two.request.held = {"a"};
  EXPECT_THAT(two.Hints(Nodes({0, 1})),
              Optional(ElementsAre(Hint{Nodes({1}), true}, Hint{Nodes({0, 1}), false})));
  two.request.held = {"a", "c"};
  EXPECT_THAT(two.Hints(Nodes({0, 1})), Optional(ElementsAre(Hint{Nodes({0, 1}), false})));
}

TEST(DeviceHintsTest, UnhealthyDevicesCountForThePreferenceAlone) {
  Case two({At("a", {0}), At("b", {0}, false), At("c", {1})}, 2);
  EXPECT_THAT(two.Hints(Nodes({0, 1})), Optional(ElementsAre(Hint{Nodes({0, 1}), false})));
}

TEST(DeviceHintsTest, TooFewFreeDevicesFitNowhere) {
  Case two({At("a", {0}), At("b", {1})}, 3);
  EXPECT_THAT(two.Hints(Nodes({0, 1})), Optional(IsEmpty()));
  two.request.count = 2;
  two.request.held = {"b"};
  EXPECT_THAT(two.Hints(Nodes({0, 1})), Optional(IsEmpty()));
}

TEST(DeviceHintsTest, OnlyNodesWithDevicesAreTried) {
  Case one({At("a", {2}), At("b", {5})}, 1);
  EXPECT_THAT(one.Hints(Nodes({0, 1, 2, 3, 4, 5})),
              Optional(ElementsAre(Hint{Nodes({2}), true}, Hint{Nodes({5}), true},
                                   Hint{Nodes({2, 5}), false})));
}

TEST(DeviceHintsTest, NodesThatTheMachineLacksAreDropped) {
  Case one({At("a", {1}), At("b", {40})}, 1);
  EXPECT_THAT(one.Hints(Nodes({0, 1})), Optional(ElementsAre(Hint{Nodes({1}), true})));
  // All are unknown: the machine's nodes are tried, and none has a device.
  Case unknown({At("a", {40})}, 1);
  EXPECT_THAT(unknown.Hints(Nodes({0, 1})), Optional(IsEmpty()));
}

TEST(DeviceHintsTest, ADeviceOfTwoNodesCountsAtEach) {
  Case one({At("a", {0, 1})}, 1);
  EXPECT_THAT(one.Hints(Nodes({0, 1})),
              Optional(ElementsAre(Hint{Nodes({0}), true}, Hint{Nodes({1}), true},
                                   Hint{Nodes({0, 1}), false})));
}

TEST(DeviceHintsTest, ReusableDevicesHaveToBeInThePlace) {
  Case two({At("a", {0}), At("b", {0}), At("c", {1}), Anywhere("d")}, 1);
  two.request.held = {"c"};
  two.request.reusable = {"c", "d"};
  EXPECT_THAT(two.Hints(Nodes({0, 1})),
              Optional(ElementsAre(Hint{Nodes({1}), true}, Hint{Nodes({0, 1}), false})));
}

TEST(DeviceHintsTest, ARequestOfNoneFitsEverywhere) {
  EXPECT_THAT(Case({At("a", {0})}, 0).Hints(Nodes({0})),
              Optional(ElementsAre(Hint{Nodes({0}), true})));
}

// Against a plain count for each set of nodes; devices of several nodes among them.
TEST(DeviceHintsTest, AreTheSetsThatCanHoldTheRequest) {
  std::mt19937_64 random(17);
  size_t preferred = 0;
  size_t others = 0;
  for (int round = 0; round < 500; ++round) {
    const NodeMask machine = NodeMask::FromBits(1 + random() % 31);
    Case each({}, static_cast<int64_t>(random() % 6));
    for (uint64_t i = 0; i < 1 + random() % 9; ++i) {
      Device& device = each.resource.devices.emplace_back(Anywhere(absl::StrCat(i)));
      device.healthy = random() % 6 != 0;
      if (random() % 6 != 0) device.nodes = NodeMask::FromBits(1 + random() % 63) & machine;
      if (random() % 4 == 0) each.request.held.insert(device.id);
      if (random() % 9 == 0 && device.healthy) each.request.reusable.insert(device.id);
    }
    for (const std::string& id : each.request.reusable) each.request.held.erase(id);
    const auto hints = each.Hints(machine);
    if (!hints) continue;
    const auto count_at = [&](NodeMask mask, const auto& counts) {
      return std::count_if(
          each.resource.devices.begin(), each.resource.devices.end(), [&](const Device& device) {
            return device.nodes && !(*device.nodes & mask).Empty() && counts(device);
          });
    };
    const auto is_reusable = [&](const Device& device) {
      return each.request.reusable.contains(device.id);
    };
    const auto is_usable = [&](const Device& device) {
      return is_reusable(device) || (device.healthy && !each.request.held.contains(device.id));
    };
    std::vector<Hint> expected;
    for (const Hint& hint : *hints) {
      EXPECT_GE(count_at(*hint.nodes, is_usable), each.request.count) << round;
      EXPECT_EQ(count_at(*hint.nodes, is_reusable), count_at(machine, is_reusable)) << round;
      if (hint.preferred) expected.push_back(hint);
    }
    preferred += expected.size();
    others += hints->size() - expected.size();
    EXPECT_EQ(DeviceHints(each.request, machine, HintChoice::kPreferred), expected) << round;
    const auto ranges = DeviceHints(each.request, machine, HintChoice::kRanges);
    ASSERT_TRUE(ranges.has_value());
    EXPECT_EQ(SetsOf(*ranges), SetsOf(*hints)) << round;
  }
  EXPECT_GT(preferred, 300u);
  EXPECT_GT(others, 300u);
}

TEST(DeviceHintsTest, NodesBeyondCountingGiveNone) {
  std::vector<Device> devices;
  NodeMask nodes;
  for (uint32_t i = 0; i < 21; ++i) {
    devices.push_back(At(absl::StrCat("d", i), {i}));
    nodes.Add(i);
  }
  EXPECT_EQ(Case(devices, 1).Hints(nodes), std::nullopt);
}

TEST(ChooseDevicesTest, TakesFreeHealthyOnesInTheirOrder) {
  Case two({Anywhere("b"), Anywhere("x", false), Anywhere("a"), Anywhere("c")}, 2);
  EXPECT_THAT(*two.Choose(), ElementsAre("b", "a"));
  two.request.held = {"a"};
  EXPECT_THAT(*two.Choose(), ElementsAre("b", "c"));
  EXPECT_THAT(two.asked, IsEmpty()) << "the plugin has no preference";
}

TEST(ChooseDevicesTest, AlignedOnesComeFirstThenOtherNodesThenThoseWithout) {
  Case four({Anywhere("w"), At("x", {1}), At("y", {0}), At("z", {0, 1})}, 2);
  EXPECT_THAT(*four.Choose(Nodes({0})), ElementsAre("y", "z"));
  four.request.count = 3;
  EXPECT_THAT(*four.Choose(Nodes({0})), ElementsAre("y", "z", "x"));
  four.request.count = 4;
  EXPECT_THAT(*four.Choose(Nodes({0})), ElementsAre("y", "z", "x", "w"));
  four.request.count = 2;
  EXPECT_THAT(*four.Choose(std::nullopt), ElementsAre("w", "x")) << "any place";
}

TEST(ChooseDevicesTest, ReusableOnesComeBeforeAll) {
  Case two({At("a", {0}), At("b", {1}), At("c", {1})}, 2);
  two.request.held = {"c"};
  two.request.reusable = {"c"};
  EXPECT_THAT(*two.Choose(Nodes({0})), ElementsAre("c", "a"));
  two.request.count = 1;
  EXPECT_THAT(*two.Choose(Nodes({0})), ElementsAre("c"));
  two.resource.devices[2].healthy = false;
  EXPECT_THAT(*two.Choose(Nodes({0})), ElementsAre("a")) << "c became unhealthy";
}

TEST(ChooseDevicesTest, ThePluginChoosesAmongMoreAlignedOnesThanNeeded) {
  Case two({At("a", {0}), At("b", {0}), At("c", {0}), At("d", {1})}, 2);
  two.resource.has_preference = true;
  two.answer = std::vector<std::string>{"d", "c", "c", "nonsense", "b"};
  EXPECT_THAT(*two.Choose(Nodes({0})), ElementsAre("c", "b"));
  EXPECT_THAT(two.asked, ElementsAre("example.com/gpu of abc with  2"));
}

TEST(ChooseDevicesTest, AShortPreferenceIsFilledUp) {
  Case two({At("a", {0}), At("b", {0}), At("c", {0})}, 2);
  two.resource.has_preference = true;
  two.answer = std::vector<std::string>{"c"};
  EXPECT_THAT(*two.Choose(Nodes({0})), ElementsAre("c", "a"));
  two.answer = std::vector<std::string>{};
  EXPECT_THAT(*two.Choose(Nodes({0})), ElementsAre("a", "b"));
}

TEST(ChooseDevicesTest, AlignedOnesThatDoNotSufficeAreTakenBeforeThePluginIsAsked) {
  Case three({At("a", {0}), At("b", {1}), At("c", {1}), Anywhere("d")}, 2);
  three.resource.has_preference = true;
  three.answer = std::vector<std::string>{"d"};
  EXPECT_THAT(*three.Choose(Nodes({0})), ElementsAre("a", "d"));
  EXPECT_THAT(three.asked, ElementsAre("example.com/gpu of aabcd with a 2"));
  three.asked.clear();
  three.request.count = 1;
  EXPECT_THAT(*three.Choose(Nodes({0})), ElementsAre("a"));
  EXPECT_THAT(three.asked, IsEmpty()) << "there was nothing to choose";
}

TEST(ChooseDevicesTest, WithoutAPlaceThePluginChoosesAmongAll) {
  Case two({At("a", {0}), At("b", {1}), Anywhere("c")}, 2);
  two.resource.has_preference = true;
  two.answer = std::vector<std::string>{"c", "b"};
  EXPECT_THAT(*two.Choose(std::nullopt), ElementsAre("c", "b"));
  EXPECT_THAT(two.asked, ElementsAre("example.com/gpu of abc with  2"));
}

TEST(ChooseDevicesTest, ReusableOnesAreIncludedInWhatThePluginIsAsked) {
  Case three({At("a", {0}), At("b", {0}), At("c", {0}), At("r", {0})}, 2);
  three.resource.has_preference = true;
  three.request.reusable = {"r"};
  three.answer = std::vector<std::string>{"r", "b"};
  EXPECT_THAT(*three.Choose(Nodes({0})), ElementsAre("r", "b"));
  EXPECT_THAT(three.asked, ElementsAre("example.com/gpu of rabc with r 2"));
}

TEST(ChooseDevicesTest, APluginThatFailsFailsTheChoice) {
  for (const std::optional<NodeMask> nodes :
       {std::optional(Nodes({0})), std::optional<NodeMask>()}) {
    Case one({At("a", {0}), At("b", {0})}, 1);
    one.resource.has_preference = true;
    one.answer = absl::DeadlineExceededError("too late");
    const absl::Status status = one.Choose(nodes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_EQ(status.message(),
              "device plugin GetPreferredAllocation rpc failed with err: too late");
  }
}

TEST(ChooseDevicesTest, NobodyIsAskedWithoutAPlugin) {
  Case one({At("a", {0}), At("b", {0})}, 1);
  one.resource.has_preference = true;
  one.request.devices = &one.resource;
  EXPECT_THAT(*ChooseDevices(one.request, Nodes({0}), nullptr), ElementsAre("a"));
}

TEST(ChooseDevicesTest, TooFewAreKubeletsErrors) {
  Case two({Anywhere("a"), Anywhere("b"), Anywhere("c", false)}, 3);
  EXPECT_EQ(two.Choose().status(),
            absl::ResourceExhaustedError("requested number of devices unavailable for "
                                         "example.com/gpu. Requested: 3, Available: 2"));
  two.request.reusable = {"a"};
  EXPECT_EQ(two.Choose().status(),
            absl::ResourceExhaustedError("requested number of devices unavailable for "
                                         "example.com/gpu. Requested: 2, Available: 1"));
  Case sick({Anywhere("a", false)}, 0);
  EXPECT_EQ(sick.Choose().status(),
            absl::ResourceExhaustedError("no healthy devices present; cannot allocate unhealthy "
                                         "devices example.com/gpu"));
  DeviceRequest unknown{
      .resource = kResource, .count = 1, .devices = nullptr, .held = {}, .reusable = {}};
  EXPECT_EQ(ChooseDevices(unknown, std::nullopt, nullptr).status(),
            absl::ResourceExhaustedError("cannot allocate unregistered device example.com/gpu"));
}

TEST(ChooseDevicesTest, ARequestOfNoneGetsNone) {
  EXPECT_THAT(*Case({Anywhere("a")}, 0).Choose(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::agent
