#include "agent/node/node_options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using resources::Quantity;
using ::testing::HasSubstr;

std::string WhyNotOptions(const NodeOptions& options) {
  const absl::Status status = CheckNodeOptions(options);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(NodeOptionsTest, Modes) {
  EXPECT_EQ(*ParseDiscoveryMode("auto"), DiscoveryMode::kAuto);
  EXPECT_EQ(*ParseDiscoveryMode("cri"), DiscoveryMode::kCri);
  EXPECT_EQ(*ParseDiscoveryMode("local"), DiscoveryMode::kLocal);
  EXPECT_THAT(ParseDiscoveryMode("CRI").status().message(), HasSubstr("auto, cri and local"));
}

TEST(NodeOptionsTest, GoodOnes) {
  EXPECT_TRUE(CheckNodeOptions({}).ok());
  NodeOptions options = {.name = "node-1.example", .labels = {{"example.com/tier", "edge"}}};
  for (const char* resource : {"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "pid"}) {
    options.system_reserved[resource] = Quantity::FromInt(1);
  }
  EXPECT_EQ(CheckNodeOptions(options), absl::OkStatus());
}

TEST(NodeOptionsTest, MistakesNameTheOption) {
  EXPECT_THAT(WhyNotOptions({.name = "Node_1"}), HasSubstr("nodeName: \"Node_1\""));
  EXPECT_THAT(WhyNotOptions({.max_pods = 0}), HasSubstr("maxPods: 0"));
  EXPECT_THAT(WhyNotOptions({.labels = {{"a b", "c"}}}), HasSubstr("nodeLabels: \"a b\""));
  EXPECT_THAT(WhyNotOptions({.labels = {{"a", "b c"}}}), HasSubstr("nodeLabels: a: \"b c\""));
  EXPECT_THAT(WhyNotOptions({.system_reserved = {{"gpu", Quantity::FromInt(1)}}}),
              HasSubstr("systemReserved: \"gpu\" can't be reserved"));
  EXPECT_THAT(WhyNotOptions({.kube_reserved = {{"cpu", Quantity::FromInt(-1)}}}),
              HasSubstr("kubeReserved: cpu: -1 is below zero"));
  EXPECT_THAT(WhyNotOptions({.discovery = DiscoveryMode::kCri, .discovery_from_cri = false}),
              HasSubstr("KubeletResourceDiscoveryFromCRI"));
}

}  // namespace
}  // namespace plimsoll::agent
