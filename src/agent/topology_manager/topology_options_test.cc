#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "agent/topology_manager/topology_manager.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(absl::string_view policy, absl::string_view scope,
                    const std::map<std::string, std::string>& options) {
  const auto parsed = ParseTopologyOptions(policy, scope, options);
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(parsed.status().message());
}

TEST(TopologyOptionsTest, EmptyTextsAreKubeletsDefaults) {
  const auto parsed = ParseTopologyOptions("", "", {});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, TopologyOptions());
  EXPECT_EQ(parsed->policy, TopologyPolicy::kNone);
  EXPECT_EQ(parsed->scope, TopologyScope::kContainer);
  EXPECT_EQ(parsed->max_nodes, 8);
}

TEST(TopologyOptionsTest, ReadsEachPolicyAndScope) {
  for (const TopologyPolicy policy :
       {TopologyPolicy::kNone, TopologyPolicy::kBestEffort, TopologyPolicy::kRestricted,
        TopologyPolicy::kSingleNumaNode}) {
    const auto parsed = ParseTopologyOptions(TopologyPolicyName(policy), "pod", {});
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->policy, policy);
    EXPECT_EQ(parsed->scope, TopologyScope::kPod);
  }
  EXPECT_STREQ(TopologyPolicyName(TopologyPolicy::kSingleNumaNode), "single-numa-node");
  EXPECT_EQ(ParseTopologyOptions("none", "container", {})->scope, TopologyScope::kContainer);
}

TEST(TopologyOptionsTest, ReadsOptions) {
  const auto parsed = ParseTopologyOptions(
      "restricted", "container",
      {{"prefer-closest-numa-nodes", "T"}, {"max-allowable-numa-nodes", "16"}});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(parsed->prefer_closest);
  EXPECT_EQ(parsed->max_nodes, 16);
  EXPECT_FALSE(
      ParseTopologyOptions("none", "", {{"prefer-closest-numa-nodes", "False"}})->prefer_closest);
  EXPECT_EQ(
      ParseTopologyOptions("none", "", {{"max-allowable-numa-nodes", "99999999999"}})->max_nodes,
      std::numeric_limits<int>::max());
}

TEST(TopologyOptionsTest, RefusesUnknownNames) {
  EXPECT_THAT(ErrorOf("best-efort", "pod", {}),
              HasSubstr("topologyManagerPolicy: \"best-efort\" is none of none, best-effort, "
                        "restricted, single-numa-node; did you mean \"best-effort\"?"));
  EXPECT_EQ(ErrorOf("none", "node", {}),
            "topologyManagerScope: \"node\" is none of container, pod");
  EXPECT_THAT(ErrorOf("none", "pod", {{"prefer-closest-numa-node", "true"}}),
              HasSubstr("topologyManagerPolicyOptions: \"prefer-closest-numa-node\" is none of "
                        "prefer-closest-numa-nodes, max-allowable-numa-nodes; did you mean"));
}

TEST(TopologyOptionsTest, RefusesValuesThatAreNone) {
  EXPECT_EQ(ErrorOf("none", "pod", {{"prefer-closest-numa-nodes", "yes"}}),
            "topologyManagerPolicyOptions: prefer-closest-numa-nodes: \"yes\" is no boolean: true "
            "or false");
  for (const char* value : {"7", "-9", "", "nine", "1e3", " 9", "9999999999999999999999"}) {
    EXPECT_THAT(ErrorOf("none", "pod", {{"max-allowable-numa-nodes", value}}),
                HasSubstr("is no number from 8 on"))
        << value;
  }
}

}  // namespace
}  // namespace plimsoll::agent
