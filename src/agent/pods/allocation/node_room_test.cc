#include "agent/pods/allocation/node_room.h"

#include <gtest/gtest.h>

namespace plimsoll::agent {
namespace {

resources::ResourceList ListOf(const std::map<std::string, std::string>& amounts) {
  resources::ResourceList list;
  for (const auto& [name, text] : amounts) list[name] = *resources::Quantity::Parse(text);
  return list;
}

TEST(NodeRoomTest, RequestsFollowKubernetesRules) {
  const auto pods = pod::ParseManifests(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {"
      "initContainers: [{name: i, image: i, resources: {requests: {memory: 1Gi}}}],"
      "containers: [{name: a, image: i, resources: {requests: {cpu: 500m, memory: 100Mi}}},"
      "{name: b, image: i, resources: {limits: {cpu: 1}}}]}}",
      "p.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  const resources::ResourceList requests = RequestsOf(pods->front());
  EXPECT_EQ(requests.at("cpu").MilliValue(), 1500);
  EXPECT_EQ(requests.at("memory").Value(), 1 << 30);
  EXPECT_EQ(requests.at("pods").Value(), 1);
}

// A pod completed by an API server: no request of it is its containers', and not its own limit.
TEST(NodeRoomTest, APodsLimitIsNoRequestWhereContainersRequestLess) {
  const auto pods = pod::ParseManifests(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {"
      "resources: {limits: {cpu: 2, memory: 1Gi}},"
      "containers: [{name: a, image: i, resources: {requests: {cpu: 500m}}}]}}",
      "p.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  const resources::ResourceList requests = RequestsOf(pods->front());
  EXPECT_EQ(requests.at("cpu").MilliValue(), 500);
  EXPECT_EQ(requests.at("memory").Value(), 1 << 30);
}

TEST(NodeRoomTest, TheLastBitOfRoomMayBeTaken) {
  EXPECT_FALSE(
      RejectionOf(ListOf({{"cpu", "500m"}}), ListOf({{"cpu", "1500m"}}), ListOf({{"cpu", "2"}}))
          .has_value());
}

TEST(NodeRoomTest, ARejectionHasKubeletsWords) {
  const auto rejection =
      RejectionOf(ListOf({{"cpu", "501m"}, {"pods", "1"}}), ListOf({{"cpu", "1500m"}}),
                  ListOf({{"cpu", "2"}, {"pods", "1"}}));
  ASSERT_TRUE(rejection.has_value());
  EXPECT_EQ(rejection->reason, "OutOfcpu");
  EXPECT_EQ(rejection->message,
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 501, used: 1500, "
            "capacity: 2000");
}

TEST(NodeRoomTest, AResourceThatTheNodeLacksIsNoneOfIt) {
  EXPECT_EQ(RejectionOf(ListOf({{"example.com/gpu", "1"}}), {}, {})->reason,
            "OutOfexample.com/gpu");
  EXPECT_FALSE(RejectionOf(ListOf({{"example.com/gpu", "0"}}), {}, {}).has_value());
}

TEST(NodeRoomTest, SumsGrowByResource) {
  resources::ResourceList sum = ListOf({{"cpu", "1"}});
  Add(ListOf({{"cpu", "500m"}, {"memory", "1Mi"}}), sum);
  EXPECT_EQ(sum.at("cpu").MilliValue(), 1500);
  EXPECT_EQ(sum.at("memory").Value(), 1 << 20);
}

}  // namespace
}  // namespace plimsoll::agent
