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

TEST(ContainerClassesFrom, TheFirstKeyInOrderIsTaken) {
  Annotations container = {{"io.kubernetes.cri.rdt-class", "first"}};
  const auto found = ContainerClassesFrom(container, kPod, "web", kAll);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->at("rdt").name, "first");
  EXPECT_EQ(found->at("rdt").source, ClassSource::kContainerAnnotation);
  // Each key decides once those before it are gone.
  Annotations pod = kPod;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    const auto next = ContainerClassesFrom({}, pod, "web", kAll);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ(next->at("rdt").name, name);
    EXPECT_EQ(next->at("rdt").source, ClassSource::kPodAnnotation);
    std::erase_if(pod, [&](const auto& one) { return one.second == name; });
  }
  EXPECT_THAT(*ContainerClassesFrom({}, pod, "web", kAll), IsEmpty());
}

TEST(ContainerClassesFrom, OtherContainersKeysAreTheirs) {
  const Annotations pod = {{"blockio.resources.beta.kubernetes.io/container.web", "slow"},
                           {"oom.class.plimsoll.dev/container.web", "low"}};
  EXPECT_THAT(*ContainerClassesFrom({}, pod, "db", {}), IsEmpty());
  EXPECT_THAT(*ContainerClassesFrom({}, pod, "eb", {}), IsEmpty());
}

TEST(ContainerClassesFrom, AnEmptyValueAsksForNothing) {
  const Annotations pod = {{"rdt.resources.beta.kubernetes.io/container.web", ""},
                           {"rdt.resources.beta.kubernetes.io/pod", "gold"}};
  EXPECT_THAT(*ContainerClassesFrom({}, pod, "web", {}), IsEmpty());
  EXPECT_EQ(ContainerClassesFrom({}, pod, "db", {})->at("rdt").name, "gold");
}

TEST(ContainerClassesFrom, OurKeysNeedPermission) {
  const Annotations pod = {{"oom.class.plimsoll.dev/default", "low"}};
  const absl::Status refused =
      ContainerClassesFrom({}, pod, "web", {{"oom", {"container"}}}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("annotation oom.class.plimsoll.dev/default: the configuration of this node "
                        "does not permit it (classes.oom.annotations would have to list "
                        "\"default\")"));
  EXPECT_TRUE(ContainerClassesFrom({}, pod, "web", {{"oom", {"default"}}}).ok());
}

TEST(ContainerClassesFrom, WhoseKeyWasRefusedIsTold) {
  const Annotations pod = {{"oom.class.plimsoll.dev/default", "low"},
                           {"rdt.class.plimsoll.dev/sandbox", "gold"}};
  std::string refused;
  EXPECT_FALSE(ContainerClassesFrom({}, pod, "web", {}, &refused).ok());
  EXPECT_EQ(refused, "oom");
  EXPECT_FALSE(PodClassesFrom(pod, {}, &refused).ok());
  EXPECT_EQ(refused, "rdt");
}

TEST(PodClassesFrom, ReadsTheSandboxsKeyAlone) {
  Annotations pod = kPod;
  EXPECT_THAT(*PodClassesFrom(pod, kAll), IsEmpty());
  pod["blockio.class.plimsoll.dev/sandbox"] = "slow";
  EXPECT_TRUE(absl::IsFailedPrecondition(PodClassesFrom(pod, kAll).status()));
  EXPECT_EQ(PodClassesFrom(pod, {{"blockio", {"sandbox"}}})->at("blockio").name, "slow");
}

}  // namespace
}  // namespace plimsoll::qos
