#include "agent/pods/classes/class_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// A pod with classes of its own, and of its container a.
pod::Manifest WithFields(const std::string& of_pod, const std::string& of_container,
                         const std::string& annotations = "") {
  const auto pods = pod::ParseManifests(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {", annotations,
                   "}}, spec: {resources: {classes: {", of_pod,
                   "}}, containers: [{name: a, image: i, resources: {classes: {", of_container,
                   "}}}]}}"),
      "p");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods->front();
}

class ClassChangeTest : public testing::Test {
 protected:
  // The error of a change of the container's classes; empty: it can be made.
  std::string ErrorOf(const std::string& before, const std::string& after) {
    const absl::Status status =
        CheckClassChange(WithFields("", before), WithFields("", after), node_);
    EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
    return std::string(status.message());
  }
  static ObservedPod Observed(const qos::ClassNames& of_pod, const qos::ClassNames& of_container) {
    ObservedPod observed;
    observed.sandboxes.push_back({.id = "s", .ready = true, .ips = {}, .classes = of_pod});
    ObservedContainer container;
    container.id = "c";
    container.name = "a";
    container.sandbox_id = "s";
    container.state = ObservedState::kRunning;
    container.classes = of_container;
    observed.containers.push_back(container);
    return observed;
  }

  NodeClasses node_{.pod = {{"tier", {{{"low", 0}, {"high", 0}}, "high", false}},
                            {"fixed", {{{"x", 0}, {"y", 0}}, "x", true}}},
                    .container = {{"rdt", {{{"gold", 2}, {"silver", 0}}, "silver", false}},
                                  {"oom", {{{"first", 0}, {"last", 0}}, "", false}},
                                  {"still", {{{"x", 0}, {"y", 0}}, "", true}}}};
};

TEST_F(ClassChangeTest, AMutableTypeChanges) {
  EXPECT_EQ(ErrorOf("rdt: gold", "rdt: silver"), "");
  EXPECT_EQ(ErrorOf("", "rdt: gold, oom: first"), "") << "a type may be added";
  EXPECT_EQ(ErrorOf("rdt: gold", "rdt: system.default"), "");
  EXPECT_TRUE(ClassFieldsDiffer(WithFields("", "rdt: gold"), WithFields("", "")));
  EXPECT_TRUE(ClassFieldsDiffer(WithFields("tier: low", ""), WithFields("tier: high", "")));
  EXPECT_FALSE(ClassFieldsDiffer(WithFields("tier: low", ""), WithFields("tier: low", "")));
}

TEST_F(ClassChangeTest, ARefusalNamesTypeAndClass) {
  EXPECT_EQ(ErrorOf("still: x", "still: y"),
            "container a: resources.classes[still]: Forbidden: the type is immutable: a living pod "
            "keeps class x and can't have class y; delete the pod first");
  EXPECT_THAT(ErrorOf("", "still: y"), HasSubstr("keeps its default class and can't have class y"));
  EXPECT_EQ(ErrorOf("still: x", "still: x"), "");
  EXPECT_THAT(ErrorOf("rdt: gold", ""),
              HasSubstr("can't take class gold back: system.default asks for"));
  EXPECT_THAT(ErrorOf("", "gpu: fast"), HasSubstr("[gpu]: Forbidden: the runtime lists no such"));
  EXPECT_THAT(ErrorOf("oom: first", "oom: system.default"),
              HasSubstr("has no default class, and a living pod can't leave class first"));
  EXPECT_EQ(ErrorOf("", "oom: system.default"), "") << "it has no class now";
  const absl::Status of_pod =
      CheckClassChange(WithFields("fixed: x", ""), WithFields("fixed: y", ""), node_);
  EXPECT_THAT(std::string(of_pod.message()), HasSubstr("spec.resources.classes[fixed]: Forbidden"));
}

TEST_F(ClassChangeTest, AFieldMayRepeatWhatAnAnnotationAskedFor) {
  const std::string annotation = "still.class.plimsoll.dev/default: x";
  EXPECT_TRUE(CheckClassChange(WithFields("", "", annotation),
                               WithFields("", "still: x", annotation), node_)
                  .ok());
}

TEST_F(ClassChangeTest, OneCallBringsAllTypesOfAContainerIntoForce) {
  const auto updates = ClassUpdates(WithFields("tier: low", "rdt: gold, oom: last"),
                                    Observed({{"tier", "high"}}, {{"rdt", "silver"}}), node_);
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_EQ(updates[0].id, "s");
  EXPECT_EQ(updates[0].container, "");
  EXPECT_THAT(updates[0].classes, ElementsAre(Pair("tier", "low")));
  EXPECT_EQ(updates[1].id, "c");
  EXPECT_EQ(updates[1].container, "a");
  EXPECT_THAT(updates[1].classes, ElementsAre(Pair("oom", "last"), Pair("rdt", "gold")));
  EXPECT_EQ(ClassesText(updates[1].classes), "oom=last, rdt=gold");
}

TEST_F(ClassChangeTest, WhatIsInForceNeedsNoCall) {
  const auto count = [&](const pod::Manifest& pod, const ObservedPod& observed) {
    return ClassUpdates(pod, observed, node_).size();
  };
  EXPECT_EQ(count(WithFields("", "rdt: gold"), Observed({}, {{"rdt", "gold"}})), 0u);
  EXPECT_EQ(count(WithFields("", "rdt: system.default"), Observed({}, {{"rdt", "silver"}})), 0u);
  EXPECT_EQ(count(WithFields("", "still: y"), Observed({}, {{"still", "x"}})), 0u) << "immutable";
  EXPECT_EQ(count(WithFields("", "gpu: fast"), Observed({}, {})), 0u) << "not listed";
  EXPECT_EQ(count(WithFields("", "", "rdt.class.plimsoll.dev/default: gold"),
                  Observed({}, {{"rdt", "silver"}})),
            0u)
      << "an annotation counts at a container's start";
  ObservedPod silent = Observed({}, {});
  silent.containers[0].classes.reset();
  EXPECT_EQ(count(WithFields("", "rdt: gold"), silent), 0u) << "the runtime reports none";
  ObservedPod ended = Observed({}, {});
  ended.containers[0].state = ObservedState::kExited;
  EXPECT_EQ(count(WithFields("", "rdt: gold"), ended), 0u);
  ended.sandboxes[0].ready = false;
  EXPECT_EQ(count(WithFields("tier: low", ""), ended), 0u);
}

TEST_F(ClassChangeTest, TheDefaultIsAskedForByAnEmptyClass) {
  const auto updates =
      ClassUpdates(WithFields("", "rdt: system.default"), Observed({}, {{"rdt", "gold"}}), node_);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_THAT(updates[0].classes, ElementsAre(Pair("rdt", "")));
  EXPECT_EQ(ClassesText(updates[0].classes), "rdt=default");
}

}  // namespace
}  // namespace plimsoll::agent
