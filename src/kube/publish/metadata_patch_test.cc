#include "kube/publish/metadata_patch.h"

#include <gtest/gtest.h>

namespace plimsoll::kube {
namespace {

using nlohmann::json;

NodeFacts SomeFacts() {
  NodeFacts facts;
  facts.labels = {{"plimsoll.dev/class.rdt.gold", "true"}, {"plimsoll.dev/topology.cpus", "4"}};
  facts.annotations = {{"plimsoll.dev/classes", "[]"}};
  return facts;
}

json Patched(json node, const NodeFacts& facts) {
  node.merge_patch(MetadataPatch(node, facts));
  return node;
}

const json& ForeignNode() {
  static const auto& node = *new json(json::parse(R"({"metadata": {
    "labels": {"kubernetes.io/os": "linux", "plimsoll.dev/team": "a"},
    "annotations": {"node.alpha.kubernetes.io/ttl": "0"}}})"));
  return node;
}

TEST(MetadataPatch, WritesWhatIsWantedAndNothingElse) {
  EXPECT_EQ(Patched(ForeignNode(), SomeFacts()),
            json::parse(R"({"metadata": {
    "labels": {"kubernetes.io/os": "linux", "plimsoll.dev/team": "a",
               "plimsoll.dev/class.rdt.gold": "true", "plimsoll.dev/topology.cpus": "4"},
    "annotations": {"node.alpha.kubernetes.io/ttl": "0", "plimsoll.dev/classes": "[]",
                    "plimsoll.dev/published": "{\"annotations\":[\"plimsoll.dev/classes\"],)"
                        R"(\"labels\":[\"plimsoll.dev/class.rdt.gold\",)"
                        R"(\"plimsoll.dev/topology.cpus\"]}"}}})"));
}

TEST(MetadataPatch, WritesNothingTwice) {
  EXPECT_TRUE(MetadataPatch(Patched(ForeignNode(), SomeFacts()), SomeFacts()).is_null());
  EXPECT_TRUE(MetadataPatch(ForeignNode(), {}).is_null());
  EXPECT_TRUE(MetadataPatch(json(), {}).is_null());
}

TEST(MetadataPatch, RemovesWhatIsNoLongerWanted) {
  const json node = Patched(ForeignNode(), SomeFacts());
  NodeFacts fewer = SomeFacts();
  fewer.labels.erase("plimsoll.dev/class.rdt.gold");
  const json patch = MetadataPatch(node, fewer);
  EXPECT_EQ(patch["metadata"]["labels"], json({{"plimsoll.dev/class.rdt.gold", nullptr}}));
  EXPECT_EQ(patch["metadata"]["annotations"].size(), 1u);  // the list
  EXPECT_EQ(Patched(node, {}), ForeignNode());
}

TEST(MetadataPatch, MendsWhatAnotherWriterChanged) {
  json node = Patched(ForeignNode(), SomeFacts());
  node["metadata"]["labels"]["plimsoll.dev/topology.cpus"] = "5";
  node["metadata"]["labels"].erase("plimsoll.dev/class.rdt.gold");
  EXPECT_EQ(MetadataPatch(node, SomeFacts()),
            json::parse(R"({"metadata": {"labels": {"plimsoll.dev/topology.cpus": "4",
                                                    "plimsoll.dev/class.rdt.gold": "true"}}})"));
}

// plimsolld can't read the machine just now: labels for selectors stay.
TEST(MetadataPatch, KeepsFactsOfATopologyThatIsUnknown) {
  const json node = Patched(ForeignNode(), SomeFacts());
  NodeFacts unknown;
  unknown.labels = {{"plimsoll.dev/class.rdt.gold", "true"}};
  unknown.annotations = {{"plimsoll.dev/classes", "[]"}};
  unknown.topology_is_unknown = true;
  EXPECT_TRUE(MetadataPatch(node, unknown).is_null());
  unknown.labels.clear();
  EXPECT_EQ(MetadataPatch(node, unknown)["metadata"]["labels"],
            json({{"plimsoll.dev/class.rdt.gold", nullptr}}));
}

// Nobody with the right to write annotations may make this program remove what isn't its own.
TEST(MetadataPatch, AForgedListRemovesNothingOfOthers) {
  json node = ForeignNode();
  for (const char* list :
       {R"({"labels": ["kubernetes.io/os", "plimsoll.dev/", 5, null, "plimsoll.dev"]})",
        R"({"labels": {"a": "kubernetes.io/os"}, "annotations": "node.alpha.kubernetes.io/ttl"})",
        R"([[[)", "", R"("kubernetes.io/os")", "\xff"}) {
    node["metadata"]["annotations"]["plimsoll.dev/published"] = list;
    EXPECT_EQ(Patched(node, {}), ForeignNode()) << list;
  }
}

TEST(MetadataPatch, TakesANodeOfAnyShape) {
  for (const char* text : {R"({"metadata": {"labels": 1, "annotations": [2]}})",
                           R"({"metadata": "x"})", R"([])", "null"}) {
    const json patch = MetadataPatch(json::parse(text), SomeFacts());
    EXPECT_EQ(patch["metadata"]["labels"].size(), 2u) << text;
  }
}

}  // namespace
}  // namespace plimsoll::kube
