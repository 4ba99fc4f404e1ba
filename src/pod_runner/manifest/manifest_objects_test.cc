#include "pod_runner/manifest/manifest_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace plimsoll::pod {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kPod[] =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n"
    "    image: i\n    args: ['1', 'true']\n    resources: {limits: {cpu: 1.50, memory: 1e6}}\n"
    "status: {phase: Running}\n";

void ExpectPod(const Manifest& pod) {
  const ContainerManifest& container = pod.containers.front();
  EXPECT_EQ(container.args, (std::vector<std::string>{"1", "true"}));
  EXPECT_EQ(container.resources.limits.at("cpu").text(), "1.50");
  EXPECT_EQ(container.resources.limits.at("memory").text(), "1e6");
}

TEST(PodObjectsTest, APodComesWithItsObject) {
  const auto pods = ParsePodObjects(std::string(kPod) + "---\n---\n", "f");
  ASSERT_TRUE(pods.ok()) << pods.status();
  ASSERT_EQ(pods->size(), 1u);
  ExpectPod(pods->front().manifest);
  const nlohmann::json& object = pods->front().object;
  EXPECT_EQ(object["spec"]["containers"][0]["resources"]["limits"]["cpu"], "1.50");
  EXPECT_FALSE(object.contains("status")) << "is the agent's to write";
}

TEST(PodObjectsTest, APodReadsTheSameFromItsObject) {
  const nlohmann::json object = ParsePodObjects(kPod, "f")->front().object;
  const auto pod = PodOnRecord(object, "pod p");
  ASSERT_TRUE(pod.ok()) << pod.status();
  ExpectPod(pod->manifest);
  EXPECT_EQ(pod->object, object);
  const auto manifest = ManifestOnRecord(object, "pod p");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ExpectPod(*manifest);
}

TEST(PodObjectsTest, NumbersOfOddSpellingReadTheSameFromTheirObject) {
  const auto pods = ParsePodObjects(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
      "  securityContext: {runAsUser: +5}\n"
      "  volumes: [{name: v, secret: {secretName: s, defaultMode: 0400}}]\n"
      "  containers: [{name: a, image: i, securityContext: {runAsUser: 0080}}]\n",
      "f");
  ASSERT_TRUE(pods.ok()) << pods.status();
  const auto again = ManifestOnRecord(pods->front().object, "pod p");
  ASSERT_TRUE(again.ok()) << again.status();
  for (const Manifest& pod : {pods->front().manifest, *again}) {
    EXPECT_EQ(pod.security.run_as_user, 5);
    EXPECT_EQ(pod.containers.front().security.run_as_user, 80);
    EXPECT_EQ(pod.volumes.front().files->default_mode, 0400);
  }
}

TEST(PodObjectsTest, AFaultOnRecordIsAtItsFieldAndNoLine) {
  nlohmann::json object = ParsePodObjects(kPod, "f")->front().object;
  object["spec"]["containers"][0]["imagee"] = object["spec"]["containers"][0]["image"];
  EXPECT_THAT(std::string(ManifestOnRecord(object, "pod p").status().message()),
              StartsWith("pod p: spec.containers[0]: unknown field \"imagee\""));
  EXPECT_THAT(std::string(ManifestOnRecord("text", "pod p").status().message()),
              StartsWith("pod p: "));
}

TEST(PodObjectsTest, WhatIsMissingOnRecordIsAFault) {
  const nlohmann::json whole = ParsePodObjects(kPod, "f")->front().object;
  for (const char* path :
       {"/kind", "/metadata/name", "/spec/containers/0/image", "/spec/containers/0/name"}) {
    const nlohmann::json::json_pointer pointer(path);
    nlohmann::json object = whole;
    object[pointer.parent_pointer()].erase(pointer.back());
    EXPECT_THAT(std::string(ManifestOnRecord(object, "pod p").status().message()),
                HasSubstr(absl::StrCat("\"", pointer.back(), "\" is missing")))
        << path;
  }
}

// Aliases nest deeper than brackets do, here 1500 levels in a field that is ignored.
TEST(PodObjectsTest, NoPodIsTakenThatItsRecordCouldNotGiveBack) {
  const std::string open(300, '['), close(300, ']');
  std::string fields = absl::StrCat("&a0 ", open, close);
  for (int i = 1; i < 5; ++i) {
    absl::StrAppend(&fields, ", &a", i, " ", open, "*a", i - 1, close);
  }
  const std::string text = absl::StrReplaceAll(
      kPod, {{"{name: p}", absl::StrCat("{name: p, managedFields: [", fields, "]}")}});
  ASSERT_TRUE(ParseManifests(text, "f").ok()) << "run keeps no object";
  EXPECT_THAT(std::string(ParsePodObjects(text, "f").status().message()),
              HasSubstr("nested deeper than 1000 levels"));
}

TEST(PodObjectsTest, TheBoundsOfATextHoldOnRecord) {
  nlohmann::json object = ParsePodObjects(kPod, "f")->front().object;
  for (int i = 0; i <= 2000; ++i) object["metadata"]["labels"][std::to_string(i)] = "x";
  const absl::Status status = PodOnRecord(object, "pod p").status();
  EXPECT_EQ(status,
            absl::InvalidArgumentError("pod p: too large: a mapping of more than 2000 keys"));
}

TEST(PodObjectsTest, AliasesThatGrowAreRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string item = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += item + (k < 9 ? ", " : "]\n");
  }
  const absl::Status status = ParsePodObjects(text, "f.yaml").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("more than 100000 values, aliases followed"));
}

// Such a value has no end: the conversion went down until the stack was full.
TEST(PodObjectsTest, AnAliasOfWhatItIsPartOfIsRefused) {
  for (const char* text : {"a: &a {x: *a}", "a: &a [[*a]]", "&a [b: [*a]]"}) {
    EXPECT_THAT(std::string(ParsePodObjects(text, "f").status().message()),
                HasSubstr("an alias of what it is part of"))
        << text;
  }
}

TEST(PodObjectsTest, WhatIsNoYamlIsRefused) {
  EXPECT_EQ(ParsePodObjects("a: [", "f").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParsePodObjects("? [a]\n: b", "f").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plimsoll::pod
