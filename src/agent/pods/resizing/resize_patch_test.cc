#include "agent/pods/resizing/resize_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

Json Object() {
  return Json::parse(R"({"metadata": {"name": "web"}, "spec": {"containers": [
      {"name": "a", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}},
      {"name": "b", "image": "i"}]}})");
}

std::string ErrorOf(const Json& patch) {
  const auto resized = ResizedObject(Object(), patch);
  EXPECT_EQ(resized.status().code(), absl::StatusCode::kInvalidArgument) << patch;
  return std::string(resized.status().message());
}

TEST(ResizePatchTest, NamedAmountsChangeAndTheRestStays) {
  const auto resized = ResizedObject(Object(), Json::parse(R"({"spec": {"containers": [
      {"name": "b", "resources": {"limits": {"cpu": "2"}}},
      {"name": "a", "resources": {"requests": {"cpu": "500m", "memory": null}}}],
      "resources": {"requests": {"cpu": "3"}}}})"));
  ASSERT_TRUE(resized.ok()) << resized.status();
  const Json& spec = (*resized)["spec"];
  EXPECT_EQ(spec["containers"][0]["resources"], Json::parse(R"({"requests": {"cpu": "500m"}})"));
  EXPECT_EQ(spec["containers"][0]["image"], "i");
  EXPECT_EQ(spec["containers"][1]["resources"], Json::parse(R"({"limits": {"cpu": "2"}})"));
  EXPECT_EQ(spec["resources"], Json::parse(R"({"requests": {"cpu": "3"}})"));
}

TEST(ResizePatchTest, OtherFieldsAreForbiddenAndNamed) {
  EXPECT_THAT(ErrorOf(Json::parse(R"({"spec": {"containers": [{"name": "a", "image": "j"}]}})")),
              HasSubstr("spec.containers.image: Forbidden"));
  EXPECT_THAT(ErrorOf(Json::parse(R"({"spec": {"hostNetwork": true}})")),
              HasSubstr("spec.hostNetwork: Forbidden"));
  EXPECT_THAT(ErrorOf(Json::parse(R"({"spec": {"containers": [{"name": "a",
                  "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})")),
              HasSubstr("spec.containers[a].resources.limits.nvidia.com/gpu: Forbidden"));
}

TEST(ResizePatchTest, MistakesAreNamed) {
  EXPECT_THAT(ErrorOf(Json::object()), HasSubstr("the patch has no spec"));
  EXPECT_THAT(ErrorOf(Json::parse(R"({"spec": {"containers": [{"name": "c"}]}})")),
              HasSubstr("no container c there; it has a, b"));
  EXPECT_THAT(ErrorOf(Json::parse(R"({"spec": {"containers": [{}]}})")),
              HasSubstr("name is missing"));
  EXPECT_THAT(ErrorOf(Json::parse(R"({"spec": {"containers": {}}})")), HasSubstr("must be a list"));
  EXPECT_THAT(ErrorOf(Json::parse(R"({"spec": {"initContainers": [{"name": "a"}]}})")),
              HasSubstr("it has none"));
  EXPECT_THAT(ErrorOf(Json::parse(R"({"spec": {"resources": {"limits": 1}}})")),
              HasSubstr("spec.resources.limits: must be an object"));
}

}  // namespace
}  // namespace plimsoll::agent
