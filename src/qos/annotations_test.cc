#include "qos/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace plimsoll::qos {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Annotations kPod = {
    {"rdt.resources.beta.kubernetes.io/container.web", "a"},
    {"rdt.resources.alpha.kubernetes.io/container.web", "b"},
    {"rdt.resources.beta.kubernetes.io/pod", "c"},
    {"rdt.resources.alpha.kubernetes.io/default", "d"},
    {"rdt.class.plimsoll.dev/container.web", "e"},
    {"rdt.class.plimsoll.dev/default", "f"},
};
const AnnotationPolicy kAll = {{"rdt", {"container", "default", "sandbox"}}};

TEST(AnnotatedContainerClasses, TheFirstKeyInOrderIsTaken) {
  Annotations container = {{"io.kubernetes.cri.rdt-class", "first"}};
  const auto found = AnnotatedContainerClasses(container, kPod, "web", kAll);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->at("rdt").name, "first");
  EXPECT_EQ(found->at("rdt").source, ClassSource::kContainerAnnotation);
  // Each key decides once those before it are gone.
  Annotations pod = kPod;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    const auto next = AnnotatedContainerClasses({}, pod, "web", kAll);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ(next->at("rdt").name, name);
    EXPECT_EQ(next->at("rdt").source, ClassSource::kPodAnnotation);
    std::erase_if(pod, [&](const auto& one) { return one.second == name; });
  }
  EXPECT_THAT(*AnnotatedContainerClasses({}, pod, "web", kAll), IsEmpty());
}

TEST(AnnotatedContainerClasses, OtherContainersKeysAreTheirs) {
  const Annotations pod = {{"blockio.resources.beta.kubernetes.io/container.web", "slow"},
                           {"oom.class.plimsoll.dev/container.web", "low"}};
  EXPECT_THAT(*AnnotatedContainerClasses({}, pod, "db", {}), IsEmpty());
  EXPECT_THAT(*AnnotatedContainerClasses({}, pod, "eb", {}), IsEmpty());
}

TEST(AnnotatedContainerClasses, AnEmptyValueAsksForNothing) {
  const Annotations pod = {{"rdt.resources.beta.kubernetes.io/container.web", ""},
                           {"rdt.resources.beta.kubernetes.io/pod", "gold"}};
  EXPECT_THAT(*AnnotatedContainerClasses({}, pod, "web", {}), IsEmpty());
  EXPECT_EQ(AnnotatedContainerClasses({}, pod, "db", {})->at("rdt").name, "gold");
}

TEST(AnnotatedContainerClasses, OurKeysNeedPermission) {
  const Annotations pod = {{"oom.class.plimsoll.dev/default", "low"}};
  const absl::Status refused =
      AnnotatedContainerClasses({}, pod, "web", {{"oom", {"container"}}}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("annotation oom.class.plimsoll.dev/default: the configuration of this node "
                        "does not permit it (classes.oom.annotations would have to list "
                        "\"default\")"));
  EXPECT_TRUE(AnnotatedContainerClasses({}, pod, "web", {{"oom", {"default"}}}).ok());
}

TEST(AnnotatedContainerClasses, WhoseKeyWasRefusedIsTold) {
  const Annotations pod = {{"oom.class.plimsoll.dev/default", "low"},
                           {"rdt.class.plimsoll.dev/sandbox", "gold"}};
  std::string refused;
  EXPECT_FALSE(AnnotatedContainerClasses({}, pod, "web", {}, &refused).ok());
  EXPECT_EQ(refused, "oom");
  EXPECT_FALSE(AnnotatedPodClasses(pod, {}, &refused).ok());
  EXPECT_EQ(refused, "rdt");
}

TEST(AnnotatedPodClasses, ReadsTheSandboxsKeyAlone) {
  Annotations pod = kPod;
  EXPECT_THAT(*AnnotatedPodClasses(pod, kAll), IsEmpty());
  pod["blockio.class.plimsoll.dev/sandbox"] = "slow";
  EXPECT_TRUE(absl::IsFailedPrecondition(AnnotatedPodClasses(pod, kAll).status()));
  EXPECT_EQ(AnnotatedPodClasses(pod, {{"blockio", {"sandbox"}}})->at("blockio").name, "slow");
}

}  // namespace
}  // namespace plimsoll::qos
