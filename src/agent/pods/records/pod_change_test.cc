#include "agent/pods/records/pod_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

Json Web() {
  return Json::parse(R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "web", "labels": {"a": "b"}},
    "spec": {"containers": [{"name": "main", "image": "i", "command": ["x"],
                             "resources": {"requests": {"cpu": "100m"},
                                           "limits": {"example.com/gpu": "1"}}}],
             "initContainers": [{"name": "setup", "image": "i"},
                                {"name": "side", "image": "i", "restartPolicy": "Always"}]}})");
}

Json With(const char* path, const Json& value) {
  Json pod = Web();
  pod[Json::json_pointer(path)] = value;
  return pod;
}

TEST(PodChangeTest, TheSamePodIsNoChange) {
  EXPECT_FALSE(ChangeOf(Web(), Web()).any);
  EXPECT_FALSE(ChangeOf(Web(), With("/status", {{"phase", "Running"}})).any);
  EXPECT_FALSE(ChangeOf(Web(), With("/metadata/uid", "x")).any);
}

TEST(PodChangeTest, CpuAndMemoryChangeWhileAPodLives) {
  for (const char* path :
       {"/spec/containers/0/resources/requests/cpu", "/spec/containers/0/resources/requests/memory",
        "/spec/containers/0/resources/limits/cpu", "/spec/resources/limits/cpu",
        "/spec/initContainers/1/resources/requests/memory"}) {
    EXPECT_TRUE(ChangeOf(Web(), With(path, "1")).in_place()) << path;
    EXPECT_TRUE(ChangeOf(With(path, "1"), Web()).in_place()) << path;
  }
}

TEST(PodChangeTest, ClassesChangeWithoutAmounts) {
  for (const char* path : {"/spec/containers/0/resources/classes",
                           "/spec/initContainers/1/resources/classes", "/spec/resources/classes"}) {
    const PodChange change = ChangeOf(Web(), With(path, {{"rdt", "gold"}}));
    EXPECT_TRUE(change.in_place()) << path;
    EXPECT_TRUE(change.classes) << path;
    EXPECT_FALSE(change.amounts) << path;
  }
  const PodChange amounts = ChangeOf(Web(), With("/spec/resources/limits/cpu", "1"));
  EXPECT_TRUE(amounts.amounts);
  EXPECT_FALSE(amounts.classes);
  Json both = With("/spec/resources/limits/cpu", "1");
  both["spec"]["resources"]["classes"]["rdt"] = "gold";
  EXPECT_TRUE(ChangeOf(Web(), both).amounts);
  EXPECT_TRUE(ChangeOf(Web(), both).classes);
  EXPECT_EQ(
      ChangeOf(Web(), With("/spec/initContainers/0/resources/classes", {{"rdt", "gold"}})).fixed,
      "/spec/initContainers/0/resources");
}

TEST(PodChangeTest, EverythingElseStaysAndIsNamed) {
  for (const char* path :
       {"/spec/containers/0/resources/limits/example.com~1gpu", "/spec/containers/0/command/0",
        "/spec/initContainers/0/resources", "/spec/containers/0/image", "/metadata/labels/a",
        "/metadata/annotations", "/spec/restartPolicy"}) {
    const Json value = std::string(path).ends_with("annotations") ? Json{{"a", "b"}}
                       : std::string(path).ends_with("resources")
                           ? Json{{"requests", {{"cpu", "1"}}}}
                           : Json("2");
    const PodChange change = ChangeOf(Web(), With(path, value));
    EXPECT_TRUE(change.any) << path;
    EXPECT_FALSE(change.in_place()) << path;
    const std::string told = std::string(path).substr(std::string(path).find('/', 1));
    EXPECT_THAT(change.fixed, HasSubstr(std::string(path).starts_with("/metadata") ? told : path));
  }
}

TEST(PodChangeTest, AChangeOfBothKindsNamesTheFixedField) {
  Json pod = With("/spec/containers/0/resources/requests/cpu", "1");
  pod["spec"]["containers"][0]["image"] = "j";
  const PodChange change = ChangeOf(Web(), pod);
  EXPECT_EQ(change.fixed, "/spec/containers/0/image");
  const absl::Status forbidden = ForbiddenChange({"default", "web"}, change);
  EXPECT_EQ(forbidden.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(forbidden.message()),
              HasSubstr("differs in /spec/containers/0/image: spec: Forbidden: pod updates may not "
                        "change fields other than cpu and memory"));
}

TEST(PodChangeTest, MembersThatAreNullAreNoMistake) {
  Json pod = With("/spec/initContainers/0/restartPolicy", nullptr);
  pod["spec"]["containers"][0]["resources"] = nullptr;
  Json next = pod;
  next["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "1"}}}};
  EXPECT_TRUE(ChangeOf(pod, next).in_place());
  next["spec"]["containers"][0]["resources"] = {{"requests", nullptr}, {"limits", Json::object()}};
  EXPECT_TRUE(ChangeOf(pod, next).in_place());
}

TEST(PodChangeTest, LabelsAreOfTheMetadata) {
  const absl::Status forbidden =
      ForbiddenChange({"default", "web"}, ChangeOf(Web(), With("/metadata/labels/a", "c")));
  EXPECT_THAT(std::string(forbidden.message()), HasSubstr("/labels/a: metadata: Forbidden"));
}

}  // namespace
}  // namespace plimsoll::agent
