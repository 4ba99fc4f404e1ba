#include "pod_runner/manifest/classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "pod_runner/cri_requests/to_cri.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A pod with containers a, whose classes are given, and b.
std::string PodText(const std::string& annotations, const std::string& pod_classes,
                    const std::string& classes) {
  return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {", annotations,
                      "}}, spec: {resources: {classes: {", pod_classes,
                      "}}, containers: [{name: a, image: i, resources: {classes: {", classes,
                      "}}}, {name: b, image: i}]}}");
}

Manifest Parse(const std::string& text) {
  const auto pods = ParseManifests(text, "f");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods.ok() ? pods->front() : Manifest();
}

std::string ErrorsOf(const std::string& text) {
  return std::string(ParseManifests(text, "f").status().message());
}

TEST(ClassNames, FollowTheProposalsRule) {
  const std::string goods[] = {"a", "0", "gold", "A-b_c.D", std::string(63, 'x')};
  for (const std::string& good : goods) {
    EXPECT_TRUE(IsClassName(good)) << good;
    EXPECT_TRUE(IsClassTypeName(good)) << good;
    EXPECT_TRUE(IsClassTypeName("example.com/" + good)) << good;
    EXPECT_FALSE(IsClassName("example.com/" + good)) << good;
  }
  const std::string bads[] = {"", "-a", "a-", ".a", "a b", "ä", std::string(64, 'x')};
  for (const std::string& bad : bads) {
    EXPECT_FALSE(IsClassName(bad)) << bad;
    EXPECT_FALSE(IsClassTypeName(bad)) << bad;
    EXPECT_FALSE(IsClassTypeName("example.com/" + bad)) << bad;
  }
  EXPECT_FALSE(IsClassTypeName("/rdt"));
  EXPECT_FALSE(IsClassTypeName("Example.com/rdt"));
  EXPECT_FALSE(IsClassTypeName("a/b/c"));
}

TEST(ManifestClasses, AreReadAtBothLevelsApart) {
  const Manifest pod = Parse(PodText("", "tier: low", "rdt: gold, example.com/x: system.default"));
  EXPECT_THAT(pod.classes, ElementsAre(Pair("tier", "low")));
  EXPECT_THAT(pod.containers[0].classes,
              ElementsAre(Pair("example.com/x", "system.default"), Pair("rdt", "gold")));
  EXPECT_THAT(ContainerClasses(pod, pod.containers[1]), IsEmpty())
      << "a pod's class is no default of its containers";
  EXPECT_TRUE(HasClassFields(pod));
  EXPECT_FALSE(pod.resources.has_value()) << "classes alone size no group";
  EXPECT_FALSE(HasClassFields(Parse(PodText("rdt.class.plimsoll.dev/default: gold", "", ""))));
}

TEST(ManifestClasses, MistakesAreTold) {
  EXPECT_THAT(
      ErrorsOf(PodText("", "", "rdt: -gold")),
      HasSubstr("spec.containers[0].resources.classes.rdt: class \"-gold\" must be 1 to 63"));
  EXPECT_THAT(ErrorsOf(PodText("", "", "r/d/t: gold")), HasSubstr("class type \"r/d/t\" must be"));
  EXPECT_THAT(ErrorsOf(PodText("", "", "rdt: \"\"")), HasSubstr("class \"\" must be"));
  EXPECT_THAT(ErrorsOf(PodText("", "", "rdt: 1")), HasSubstr("classes.rdt"));
  EXPECT_THAT(ErrorsOf(PodText("", "", "rdt: gold, rdt: silver")), HasSubstr("is there twice"));
  EXPECT_THAT(ErrorsOf(PodText("", "pod-qos: Guaranteed", "")),
              HasSubstr("pod-qos follows from requests and limits"));
}

TEST(ManifestClasses, AnAnnotationThatSaysOtherwiseIsAnError) {
  const std::string contradicting[] = {"rdt.resources.alpha.kubernetes.io/container.a: silver",
                                       "rdt.resources.beta.kubernetes.io/container.a: silver",
                                       "rdt.class.plimsoll.dev/container.a: silver",
                                       "rdt.class.plimsoll.dev/container.a: \"\""};
  for (const std::string& annotation : contradicting) {
    EXPECT_THAT(ErrorsOf(PodText(annotation, "", "rdt: gold")),
                HasSubstr("but resources.classes[rdt] of container a is \"gold\""))
        << annotation;
  }
  EXPECT_THAT(ErrorsOf(PodText("tier.class.plimsoll.dev/sandbox: high", "tier: low", "")),
              HasSubstr("is \"high\", but spec.resources.classes[tier] is \"low\""));
  EXPECT_EQ(ErrorsOf(PodText("rdt.class.plimsoll.dev/container.a: gold", "", "rdt: gold")), "");
  EXPECT_EQ(
      ErrorsOf(PodText("rdt.class.plimsoll.dev/container.a: \"\"", "", "rdt: system.default")), "");
}

TEST(ManifestClasses, AFieldReplacesTheAnnotationForAllContainers) {
  const Manifest pod =
      Parse(PodText("rdt.resources.alpha.kubernetes.io/default: silver, "
                    "oom.class.plimsoll.dev/default: first",
                    "", "rdt: gold"));
  EXPECT_THAT(ContainerClasses(pod, pod.containers[0]),
              ElementsAre(Pair("oom", "first"), Pair("rdt", "gold")));
  EXPECT_THAT(ContainerClasses(pod, pod.containers[1]),
              ElementsAre(Pair("oom", "first"), Pair("rdt", "silver")));
}

TEST(ManifestClasses, AreMessagesOfTheCri) {
  PodContext context;
  context.pod_class_types = {"pod-qos"};
  const auto configs = ToCri(
      Parse(PodText("oom.class.plimsoll.dev/default: first, x.class.plimsoll.dev/sandbox: y",
                    "tier: low, other: system.default", "rdt: gold, blockio: system.default")),
      context);
  ASSERT_TRUE(configs.ok()) << configs.status();
  EXPECT_THAT(
      configs->sandbox.class_resources().class_(),
      UnorderedElementsAre(Pair("tier", "low"), Pair("x", "y"), Pair("pod-qos", "BestEffort")));
  EXPECT_THAT(configs->containers[0].class_resources().classes(),
              UnorderedElementsAre(Pair("rdt", "gold"), Pair("oom", "first")));
  EXPECT_FALSE(configs->containers[1].has_class_resources()) << "the runtime reads its annotations";
}

}  // namespace
}  // namespace plimsoll::pod
