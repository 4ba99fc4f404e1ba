#include "kube/publish/node_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/text/label_text.h"
#include "kube/publish/reports_for_test.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

PublishOptions AllFacts() {
  PublishOptions options;
  options.labels = LabelFacts();
  options.annotations = AnnotationFacts();
  return options;
}

PublishOptions OnlyLabels(std::vector<std::string> labels) {
  PublishOptions options;
  options.labels = std::move(labels);
  return options;
}

TEST(NodeFacts, NothingIsPublishedUnasked) {
  NodeReport report = ReportOf(HybridWithCxl());
  report.types = {RdtType()};
  EXPECT_EQ(FactsOf(report, {}), NodeFacts());
}

TEST(NodeFacts, LabelsOfAHybridMachineWithMemoryWithoutCpus) {
  NodeReport report = ReportOf(HybridWithCxl());
  report.types = {RdtType()};
  report.runtime_version = "0.1.0+git 5";
  const NodeFacts facts = FactsOf(report, AllFacts());
  EXPECT_THAT(facts.labels,
              UnorderedElementsAre(Pair("plimsoll.dev/class.rdt.gold", "true"),
                                   Pair("plimsoll.dev/class.rdt.bronze", "true"),
                                   Pair("plimsoll.dev/runtime-version", "0.1.0_git_5"),
                                   Pair("plimsoll.dev/topology.cpus", "4"),
                                   Pair("plimsoll.dev/topology.cores", "3"),
                                   Pair("plimsoll.dev/topology.core-type.performance", "2"),
                                   Pair("plimsoll.dev/topology.core-type.efficiency", "2"),
                                   Pair("plimsoll.dev/topology.packages", "1"),
                                   Pair("plimsoll.dev/topology.numa-nodes", "2"),
                                   Pair("plimsoll.dev/topology.memory-nodes", "1")));
  EXPECT_THAT(facts.left_out, IsEmpty());
}

TEST(NodeFacts, CountsOfOtherShapes) {
  const auto counts = [](const char* shape) {
    return FactsOf(ReportOf(TopologyOf(shape)),
                   OnlyLabels({"packages", "numa-nodes", "cache-groups", "memory-nodes"}))
        .labels;
  };
  EXPECT_THAT(counts(kSnc), UnorderedElementsAre(Pair("plimsoll.dev/topology.packages", "2"),
                                                 Pair("plimsoll.dev/topology.numa-nodes", "4")));
  EXPECT_THAT(counts(kCcx), UnorderedElementsAre(Pair("plimsoll.dev/topology.packages", "1"),
                                                 Pair("plimsoll.dev/topology.numa-nodes", "1"),
                                                 Pair("plimsoll.dev/topology.cache-groups", "2")));
}

TEST(NodeFacts, AnnotationsAreJson) {
  NodeReport report = ReportOf(HybridWithCxl());
  report.types = {RdtType()};
  report.types[0].immutable = true;
  const NodeFacts facts = FactsOf(report, AllFacts());
  EXPECT_EQ(json::parse(facts.annotations.at("plimsoll.dev/classes")), json::parse(R"([
    {"type": "rdt", "level": "container", "immutable": true, "default": "bronze", "classes": [
      {"name": "gold", "capacity": 2, "meaning": "L3 0=0xff0"},
      {"name": "bronze", "meaning": "L3 0=0xf"}]}])"));
  EXPECT_EQ(json::parse(facts.annotations.at("plimsoll.dev/topology")), json::parse(R"({
    "cpus": "0-3",
    "packages": [{"name": "package-0", "cpus": "0-3"}],
    "numaNodes": [{"name": "numa-0", "cpus": "0-3", "memory": "16Gi"},
                  {"name": "numa-1", "memory": "32Gi"}]})"));
}

TEST(NodeFacts, ATypeThatTheMachineCantHaveIsNotTold) {
  NodeReport report;
  report.types = {RdtType()};
  report.types[0].unavailable = "no resctrl file system";
  const NodeFacts facts = FactsOf(report, AllFacts());
  EXPECT_THAT(facts.labels, IsEmpty());
  EXPECT_THAT(facts.annotations, ElementsAre(Pair("plimsoll.dev/classes", "[]")));
}

TEST(NodeFacts, ClassesOfAnyNameHaveValidLabels) {
  NodeReport report;
  NodeClassType type{.name = "vendor.example/a-type-with-a-long-name", .level = qos::Level::kPod};
  for (const char* name : {"system/default", "Gold", "gold", "a b\n", ""}) {
    type.classes.push_back({.name = name});
  }
  type.classes.push_back({.name = std::string(200, 'x')});
  report.types = {type};
  const NodeFacts facts = FactsOf(report, OnlyLabels({"classes"}));
  EXPECT_EQ(facts.labels.size(), 6u);
  for (const auto& [key, value] : facts.labels) EXPECT_TRUE(IsLabelKey(key)) << key;
}

TEST(NodeFacts, ManyClassesAreCut) {
  NodeReport report;
  report.types = {{.name = "rdt"}};
  for (int i = 0; i < 400; ++i) {
    report.types[0].classes.push_back(
        {.name = absl::StrCat("c", i), .meaning = std::string(500, 'm')});
  }
  const NodeFacts facts = FactsOf(report, AllFacts());
  EXPECT_EQ(facts.labels.size(), kMostClassLabels);
  const std::string& text = facts.annotations.at("plimsoll.dev/classes");
  EXPECT_LE(text.size(), kLargestClasses);
  EXPECT_EQ(json::parse(text)[0]["classes"].size(), 400u);
  EXPECT_FALSE(json::parse(text)[0]["classes"][0].contains("meaning"));
  EXPECT_THAT(facts.left_out, ElementsAre(HasSubstr("200 of 400 classes have no label"),
                                          HasSubstr("plimsoll.dev/classes lacks meanings")));
  for (int i = 0; i < 4000; ++i) report.types[0].classes.push_back({.name = absl::StrCat("d", i)});
  EXPECT_EQ(FactsOf(report, AllFacts()).annotations.at("plimsoll.dev/classes"),
            R"([{"count":4400,"level":"container","type":"rdt"}])");
}

TEST(NodeFacts, ALargeTopologyIsCut) {
  const NodeFacts facts =
      FactsOf(ReportOf(TopologyOf("pack:8 numa:2 l3:40 core:2 pu:1")), AllFacts());
  const json text = json::parse(facts.annotations.at("plimsoll.dev/topology"));
  EXPECT_FALSE(text.contains("cacheGroups"));
  EXPECT_EQ(text["numaNodes"].size(), 16u);
  EXPECT_THAT(facts.left_out, ElementsAre(HasSubstr("plimsoll.dev/topology lacks cacheGroups")));
}

TEST(NodeFacts, ABrokenTopologyLeavesTheOtherFacts) {
  NodeReport report = ReportOf(HybridWithCxl());
  report.topology->zones[1].parent = "nowhere";
  report.types = {RdtType()};
  const NodeFacts facts = FactsOf(report, AllFacts());
  EXPECT_EQ(facts.labels.size(), 3u);
  EXPECT_THAT(facts.left_out, ElementsAre(HasSubstr("nowhere")));
}

TEST(NodeFacts, CoreTypesThatAreNoLabelsAreLeftOut) {
  NodeReport report = ReportOf(HybridWithCxl());
  report.topology->zones[3].attributes["core-type"] = "very fast";
  EXPECT_THAT(FactsOf(report, OnlyLabels({"core-types"})).labels,
              ElementsAre(Pair("plimsoll.dev/topology.core-type.efficiency", "2")));
}

}  // namespace
}  // namespace plimsoll::kube
