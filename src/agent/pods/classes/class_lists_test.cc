#include "agent/pods/classes/class_lists.h"

#include <gtest/gtest.h>

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

TEST(ClassLists, AreOfTheNodesStatusAsTheProposalNamesThem) {
  Json node = {{"kind", "Node"}, {"status", {{"capacity", {{"cpu", "2"}}}}}};
  AddClassLists({.pod = {{"pod-qos", {{{"BestEffort", 0}}, "", true}}},
                 .container = {{"rdt", {{{"gold", 2}, {"silver", 0}}, "silver", false}}}},
                node);
  EXPECT_EQ(node["status"]["capacity"]["cpu"], "2");
  EXPECT_EQ(node["status"]["podClassResources"],
            Json::parse(R"([{"name": "pod-qos", "classes": ["BestEffort"], "immutable": true}])"));
  EXPECT_EQ(node["status"]["containerClassResources"],
            Json::parse(R"([{"name": "rdt", "classes": ["gold", "silver"], "immutable": false,
                             "default": "silver", "capacity": {"gold": 2}}])"));
}

TEST(ClassLists, ARuntimeWithoutTypesAddsNothing) {
  Json node = {{"status", {{"capacity", Json::object()}}}};
  const Json before = node;
  AddClassLists({}, node);
  EXPECT_EQ(node, before);
}

}  // namespace
}  // namespace plimsoll::agent
