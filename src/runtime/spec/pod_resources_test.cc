#include "runtime/spec/pod_resources.h"

#include "gmock/gmock.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;

AnnouncedContainer Named(const std::string& name, AnnouncedContainer::Type type) {
  return {.name = name, .type = type};
}

std::string Refusal(const PodResources& pod) {
  const absl::Status status = Validate(pod, "pod_resources");
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

PodResources With(const KubernetesResources& resources) {
  AnnouncedContainer web = Named("web", AnnouncedContainer::Type::kContainer);
  web.kubernetes_resources = resources;
  return {.containers = {Named("setup", AnnouncedContainer::Type::kInit), web}};
}

TEST(PodResourcesTest, WhatKubernetesAllowsIsValid) {
  EXPECT_TRUE(Validate(PodResources(), "pod_resources").ok());
  const absl::Status status = Validate(
      With({.requests = {{"cpu", "500m"}, {"memory", "1Gi"}, {"example.com/gpu", "1"}},
            .limits = {{"cpu", "0.5"}, {"example.com/gpu", "1"}, {"hugepages-2Mi", "4Mi"}}}),
      "pod_resources");
  EXPECT_TRUE(status.ok()) << status;
}

// KEP-4112: they inform, and no control file gets them.
TEST(PodResourcesTest, AmountsThatNoKernelHoldsAreValid) {
  PodResources pod = With({.limits = {{"cpu", "175921861"}, {"memory", "9223372036854775807"}}});
  pod.kubernetes_resources = {.requests = {{"cpu", "1e12"}}, .limits = {{"cpu", "1e12"}}};
  const absl::Status status = Validate(pod, "pod_resources");
  EXPECT_TRUE(status.ok()) << status;
}

TEST(PodResourcesTest, ErrorsNameContainerAndMember) {
  EXPECT_THAT(
      Refusal(With({.limits = {{"cpu", "much"}}})),
      HasSubstr("pod_resources.containers[1] (\"web\").kubernetes_resources: limits[cpu]: "));
  EXPECT_THAT(Refusal(With({.requests = {{"memory", "-1"}}})),
              HasSubstr("memory: the request -1 is "));
  EXPECT_THAT(Refusal(With({.requests = {{"cpu", "2"}}, .limits = {{"cpu", "1900m"}}})),
              HasSubstr("cpu: the request 2 is above the limit 1900m"));
  EXPECT_THAT(Refusal(With({.requests = {{"hugepages-2Mi", "2Mi"}}})), HasSubstr("hugepages-2Mi"));
  PodResources pod;
  pod.kubernetes_resources.limits["cpu"] = "";
  EXPECT_THAT(Refusal(pod), HasSubstr("pod_resources.kubernetes_resources: limits[cpu]: "));
}

TEST(PodResourcesTest, NamesAreThereAndUnique) {
  EXPECT_THAT(Refusal({.containers = {Named("", AnnouncedContainer::Type::kContainer)}}),
              HasSubstr("pod_resources.containers[0].name is empty"));
  EXPECT_THAT(Refusal({.containers = {Named("a", AnnouncedContainer::Type::kInit),
                                      Named("a", AnnouncedContainer::Type::kContainer)}}),
              HasSubstr("containers[1].name: \"a\" is there twice"));
}

TEST(PodResourcesTest, AllOfTypeZeroIsNoType) {
  const AnnouncedContainer init = Named("a", AnnouncedContainer::Type::kInit);
  EXPECT_FALSE(TypesAreUnknown({}));
  EXPECT_TRUE(TypesAreUnknown({.containers = {init}}));
  EXPECT_FALSE(
      TypesAreUnknown({.containers = {init, Named("b", AnnouncedContainer::Type::kSidecar)}}));
}

}  // namespace
}  // namespace plimsoll::runtime
