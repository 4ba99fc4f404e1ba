#include "agent/pods/manifest_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod_runner/manifest.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

TEST(ManifestObjectsTest, TypesAreThoseOfTheCoreSchema) {
  const auto objects = ManifestObjects(
      "a: 1\nb: '1'\nc: true\nd: 0.5\ne: 1e3\nf: null\ng: text\nh: [1, x]\n---\n---\nk: 2\n", "f");
  ASSERT_TRUE(objects.ok()) << objects.status();
  ASSERT_EQ(objects->size(), 2u);
  EXPECT_EQ(objects->front(),
            nlohmann::json::parse(R"({"a":1,"b":"1","c":true,"d":"0.5","e":"1e3","f":null,
                                      "g":"text","h":[1,"x"]})"));
}

TEST(ManifestObjectsTest, APodReadsTheSameFromItsObject) {
  constexpr char kPod[] =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n"
      "    image: i\n    args: ['1', 'true']\n    resources: {limits: {cpu: 1.50, memory: 1e6}}\n";
  const auto object = ManifestObjects(kPod, "f");
  ASSERT_TRUE(object.ok()) << object.status();
  const auto pods = pod::ParseManifests(object->front().dump(), "f");
  ASSERT_TRUE(pods.ok()) << pods.status();
  const pod::ContainerManifest& container = pods->front().containers.front();
  EXPECT_EQ(container.args, (std::vector<std::string>{"1", "true"}));
  EXPECT_EQ(container.resources.limits.at("cpu").text(), "1.50");
  EXPECT_EQ(container.resources.limits.at("memory").text(), "1e6");
}

TEST(ManifestObjectsTest, AliasesThatGrowAreRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string item = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += item + (k < 9 ? ", " : "]\n");
  }
  const absl::Status status = ManifestObjects(text, "f.yaml").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("more than 100000 values, aliases followed"));
}

// Such a value has no end: the conversion went down until the stack was full.
TEST(ManifestObjectsTest, AnAliasOfWhatItIsPartOfIsRefused) {
  for (const char* text : {"a: &a {x: *a}", "a: &a [[*a]]", "&a [b: [*a]]"}) {
    EXPECT_THAT(std::string(ManifestObjects(text, "f").status().message()),
                HasSubstr("an alias of what it is part of"))
        << text;
  }
}

TEST(ManifestObjectsTest, WhatIsNoYamlIsRefused) {
  EXPECT_EQ(ManifestObjects("a: [", "f").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ManifestObjects("? [a]\n: b", "f").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plimsoll::agent
