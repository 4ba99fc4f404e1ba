#include "runtime/pod_picture.h"

#include <string>

#include "gmock/gmock.h"

namespace plimsoll::runtime {
namespace {

using Type = AnnouncedContainer::Type;

AnnouncedContainer Announced(const std::string& name, Type type, const std::string& cpu) {
  AnnouncedContainer container = {.name = name, .type = type};
  container.kubernetes_resources.limits["cpu"] = cpu;
  return container;
}

ContainerSpec There(const std::string& name, const std::string& cpu = "") {
  ContainerSpec spec = {.name = name};
  if (!cpu.empty()) spec.kubernetes_resources.limits["cpu"] = cpu;
  return spec;
}

std::string CpuOf(const PodPicture& picture) {
  const auto found = picture.total.requests.find("cpu");
  return found == picture.total.requests.end() ? "none" : found->second.Canonical();
}

TEST(PodPictureTest, OfNothingIsAbsent) {
  const PodPicture picture = MakePicture({}, {});
  EXPECT_EQ(picture.is, PictureIs::kAbsent);
  EXPECT_EQ(ToJson(picture), R"({"picture":"absent","total":{"requests":{},"limits":{}}})");
}

TEST(PodPictureTest, AnnouncedContainersMakeItComplete) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("setup", Type::kInit, "3000m"),
                                  Announced("web", Type::kContainer, "1")};
  pod.overhead.memory_limit_bytes = 64 << 20;
  EXPECT_EQ(ToJson(MakePicture(pod, {})),
            R"({"picture":"complete","total":{"requests":{"cpu":"3","memory":"64Mi"},)"
            R"("limits":{"cpu":"3"}},"containers":[{"name":"setup","type":"init_container",)"
            R"("kubernetes_resources":{"limits":{"cpu":"3000m"}}},{"name":"web",)"
            R"("type":"container","kubernetes_resources":{"limits":{"cpu":"1"}}}]})");
}

TEST(PodPictureTest, LaterValuesCount) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("web", Type::kContainer, "1"),
                                  Announced("log", Type::kContainer, "1")};
  EXPECT_EQ(CpuOf(MakePicture(pod, {There("web", "4")})), "5");
  EXPECT_EQ(CpuOf(MakePicture(pod, {There("web")})), "2");
}

TEST(PodPictureTest, TypesThatCannotBeTrueAreAddedUpAndMakeItPartial) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("a", Type::kInit, "1"),
                                  Announced("b", Type::kInit, "2")};
  const PodPicture picture = MakePicture(pod, {});
  EXPECT_EQ(picture.is, PictureIs::kPartial);
  EXPECT_EQ(CpuOf(picture), "3");
}

TEST(PodPictureTest, AContainerThatWasNotAnnouncedIsAdded) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("web", Type::kContainer, "1")};
  ContainerSpec debug = There("debug", "500m");
  debug.mounts = {{.container_path = "/data", .host_path = "/srv"}};
  const PodPicture picture = MakePicture(pod, {debug, There("web", "1")});
  EXPECT_EQ(picture.is, PictureIs::kComplete);
  EXPECT_EQ(CpuOf(picture), "1500m");
  EXPECT_EQ(picture.now.containers.back().name, "debug");
  EXPECT_EQ(picture.now.containers.back().mounts.at(0).host_path, "/srv");
}

TEST(PodPictureTest, APodThatAnnouncesNothingIsKnownByItsOwnSettings) {
  SandboxSpec pod;
  pod.resources = {.cpu_shares = 1024,
                   .cpu_quota_us = 200000,
                   .cpu_period_us = 100000,
                   .memory_limit_bytes = 1 << 30,
                   .hugetlb_limits = {{"1GB", 1 << 30}, {"2MB", 0}}};
  pod.overhead.cpu_shares = 256;
  const PodPicture picture = MakePicture(pod, {});
  EXPECT_EQ(picture.is, PictureIs::kPartial);
  EXPECT_EQ(ToJson(picture), R"({"picture":"partial","total":{)"
                             R"("requests":{"cpu":"1250m","hugepages-1Gi":"1Gi","memory":"1Gi"},)"
                             R"("limits":{"cpu":"2250m","hugepages-1Gi":"1Gi","memory":"1Gi"}}})");
}

TEST(PodPictureTest, ElseByItsContainersOneByOne) {
  ContainerSpec by_settings = There("a");
  by_settings.resources = {.cpu_shares = 512, .memory_limit_bytes = -1};
  const PodPicture picture = MakePicture({}, {by_settings, There("b", "1")});
  EXPECT_EQ(picture.is, PictureIs::kPartial);
  EXPECT_EQ(CpuOf(picture), "1500m");
  EXPECT_EQ(picture.total.limits.count("memory"), 0u);
}

}  // namespace
}  // namespace plimsoll::runtime
