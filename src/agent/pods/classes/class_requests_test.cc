#include "agent/pods/classes/class_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

pod::Manifest Annotated(const std::string& annotations) {
  const auto pods = pod::ParseManifests(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {", annotations,
                   "}}, spec: {containers: [{name: a, image: i}, {name: b, image: i}]}}"),
      "p");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods->front();
}

class ClassRequestsTest : public testing::Test {
 protected:
  NodeClasses node_{.pod = {{"oom", {{{"high", 0}}, "", false}}},
                    .container = {{"rdt", {{{"gold", 2}, {"silver", 0}}, "silver", false}},
                                  {"custom", {{{"x", 0}}, "", true}}}};
};

TEST_F(ClassRequestsTest, TheProposalsAnnotationsAreRead) {
  const ClassRequests requests =
      RequestedClasses(Annotated("rdt.resources.alpha.kubernetes.io/default: silver, "
                                 "rdt.resources.alpha.kubernetes.io/container.a: gold"));
  EXPECT_THAT(requests.containers.at("a"), ElementsAre(Pair("rdt", "gold")));
  EXPECT_THAT(requests.containers.at("b"), ElementsAre(Pair("rdt", "silver")));
  EXPECT_THAT(requests.pod, IsEmpty());
}

TEST_F(ClassRequestsTest, NoSpellingPassesTheAdmission) {
  const char* const spellings[] = {"rdt.resources.beta.kubernetes.io/pod: none",
                                   "rdt.resources.beta.kubernetes.io/container.a: none",
                                   "blockio.resources.beta.kubernetes.io/pod: none",
                                   "custom.class.plimsoll.dev/container.a: none",
                                   "custom.class.plimsoll.dev/default: none",
                                   "oom.class.plimsoll.dev/sandbox: none",
                                   "unlisted.class.plimsoll.dev/sandbox: none",
                                   "unlisted.class.plimsoll.dev/default: none",
                                   "unlisted.class.plimsoll.dev/container.b: none"};
  for (const char* const spelling : spellings) {
    const auto rejection = ClassRejection(RequestedClasses(Annotated(spelling)), {}, node_);
    EXPECT_TRUE(rejection.has_value()) << spelling;
  }
}

// One annotation of a type that no runtime lists must not hide the others.
TEST_F(ClassRequestsTest, AnUnknownTypeHidesNoOther) {
  const ClassRequests requests =
      RequestedClasses(Annotated("nowhere.class.plimsoll.dev/default: x, "
                                 "rdt.resources.alpha.kubernetes.io/default: gold"));
  EXPECT_THAT(requests.containers.at("a"), ElementsAre(Pair("nowhere", "x"), Pair("rdt", "gold")));
  const auto rejection = ClassRejection(requests, {}, node_);
  ASSERT_TRUE(rejection.has_value());
  EXPECT_EQ(rejection->reason, "UnknownClassType");
}

TEST_F(ClassRequestsTest, FieldsCountAsAnnotationsDo) {
  const auto pods = pod::ParseManifests(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resources: {classes: {oom: low}},"
      " containers: [{name: a, image: i, resources: {classes: {rdt: gold}}}]}}",
      "p");
  ASSERT_TRUE(pods.ok()) << pods.status();
  const ClassRequests requests = RequestedClasses(pods->front());
  EXPECT_THAT(requests.pod, ElementsAre(Pair("oom", "low")));
  EXPECT_THAT(requests.containers.at("a"), ElementsAre(Pair("rdt", "gold")));
  const auto rejection = ClassRejection(requests, {}, node_);
  ASSERT_TRUE(rejection.has_value());
  EXPECT_THAT(rejection->message, HasSubstr("it asks for class low of type oom"));
  EXPECT_THAT(NoClasses(pods->front()).containers.at("a"), IsEmpty());
}

TEST_F(ClassRequestsTest, APodThatAsksForNothingIsAdmitted) {
  EXPECT_FALSE(ClassRejection(RequestedClasses(Annotated("")), {}, node_).has_value());
  EXPECT_FALSE(ClassRejection(RequestedClasses(Annotated(
                                  "rdt.resources.alpha.kubernetes.io/default: system.default")),
                              {}, node_)
                   .has_value());
}

TEST_F(ClassRequestsTest, ARejectionSaysWhatTheNodeHas) {
  const auto unknown_class = ClassRejection(
      RequestedClasses(Annotated("rdt.resources.alpha.kubernetes.io/container.b: bronze")), {},
      node_);
  ASSERT_TRUE(unknown_class.has_value());
  EXPECT_EQ(unknown_class->reason, "UnknownClass");
  EXPECT_THAT(unknown_class->message, HasSubstr("container b asks for class bronze of type rdt"));
  EXPECT_THAT(unknown_class->message, HasSubstr("its classes: gold, silver"));
  const auto unknown_type = ClassRejection(
      RequestedClasses(Annotated("blockio.resources.alpha.kubernetes.io/default: slow")), {},
      node_);
  ASSERT_TRUE(unknown_type.has_value());
  EXPECT_EQ(unknown_type->reason, "UnknownClassType");
  EXPECT_THAT(unknown_type->message, HasSubstr("its types: custom, rdt"));
  EXPECT_THAT(
      ClassRejection(RequestedClasses(Annotated("rdt.resources.alpha.kubernetes.io/default: gold")),
                     {}, {})
          ->message,
      HasSubstr("its types: none"));
}

TEST_F(ClassRequestsTest, CapacityCountsTheContainersOfThePodToo) {
  const ClassRequests both =
      RequestedClasses(Annotated("rdt.resources.alpha.kubernetes.io/default: gold"));
  EXPECT_FALSE(ClassRejection(both, {}, node_).has_value());
  NodeClassUse used;
  used.container["rdt"]["gold"] = 1;
  const auto rejection = ClassRejection(both, used, node_);
  ASSERT_TRUE(rejection.has_value());
  EXPECT_EQ(rejection->reason, "OutOfClass");
  EXPECT_THAT(rejection->message, HasSubstr("used: 2, capacity: 2"));
  NodeClassUse counted;
  counted.Add(both);
  EXPECT_EQ(counted.container["rdt"]["gold"], 2u);
}

}  // namespace
}  // namespace plimsoll::agent
