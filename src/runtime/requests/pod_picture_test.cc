#include "runtime/requests/pod_picture.h"

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
  EXPECT_EQ(ToJson(picture),
            R"({"picture":"absent","total":{"requests":{},"limits":{}},"missing":[)"
            R"("containers that are not made yet","types of the containers",)"
            R"("requests and limits"]})");
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
            R"("type":"container","kubernetes_resources":{"limits":{"cpu":"1"}}}],)"
            R"("sources":{"total":"message","containers":[{"name":"setup","type":"message",)"
            R"("kubernetes_resources":"message","mounts":"message","devices":"message",)"
            R"("cdi_devices":"message"},{"name":"web","type":"message",)"
            R"("kubernetes_resources":"message","mounts":"message","devices":"message",)"
            R"("cdi_devices":"message"}]}})");
}

TEST(PodPictureTest, LaterValuesCount) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("web", Type::kContainer, "1"),
                                  Announced("log", Type::kContainer, "1")};
  EXPECT_EQ(CpuOf(MakePicture(pod, {There("web", "4")})), "5");
  EXPECT_EQ(CpuOf(MakePicture(pod, {There("web")})), "2");
}

TEST(PodPictureTest, TheLatestWordAboutAFieldHolds) {
  SandboxSpec pod;
  AnnouncedContainer web = Announced("web", Type::kContainer, "1");
  web.mounts = {{.container_path = "/a"}};
  web.devices = {{"/dev/a", "/dev/a", "rw"}};
  web.cdi_devices = {"v.com/gpu=a"};
  pod.pod_resources.containers = {web};
  ContainerSpec made = There("web", "4");
  made.devices = {{"/dev/b", "/dev/b", "rw"}};
  made.said = {.made = 1, .resources = 1};
  // The container as made: fewer mounts and CDI devices, another device.
  AnnouncedContainer now = MakePicture(pod, {made}).now.containers.at(0);
  EXPECT_EQ(now.kubernetes_resources, made.kubernetes_resources);
  EXPECT_EQ(now.devices, made.devices);
  EXPECT_TRUE(now.mounts.empty());
  EXPECT_TRUE(now.cdi_devices.empty());
  EXPECT_EQ(now.type, Type::kContainer);
  // An update of the pod that names resources and mounts.
  AnnounceAnew({.containers = {{.name = "web",
                                .type = Type::kContainer,
                                .kubernetes_resources = {.limits = {{"cpu", "2"}}},
                                .mounts = {{.container_path = "/b"}}}}},
               2, &pod);
  EXPECT_EQ(WrittenNow(pod, made).limits.at("cpu"), "2");
  EXPECT_EQ(CpuOf(MakePicture(pod, {made})), "2");
  now = MakePicture(pod, {made}).now.containers.at(0);
  EXPECT_EQ(now.mounts.at(0).container_path, "/b");
  EXPECT_EQ(now.devices, made.devices) << "nothing was said of them";
  EXPECT_EQ(pod.pod_resources.containers.at(0).devices, web.devices);
  EXPECT_EQ(pod.pod_resources.containers.at(0).cdi_devices, web.cdi_devices);
  // An update of the container.
  made.said.resources = 3;
  EXPECT_EQ(CpuOf(MakePicture(pod, {made})), "4");
  // An update that removes everything.
  made.kubernetes_resources = {};
  EXPECT_EQ(CpuOf(MakePicture(pod, {made})), "none");
  made.said.resources = 0;
  EXPECT_EQ(CpuOf(MakePicture(pod, {made})), "2") << "of a client that sends none at all";
}

TEST(PodPictureTest, WhatIsNotNamedIsAnnouncedNoMore) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("web", Type::kContainer, "1"),
                                  Announced("log", Type::kContainer, "1")};
  AnnounceAnew({.containers = {Announced("log", Type::kSidecar, "2")}}, 7, &pod);
  EXPECT_EQ(pod.pod_resources.containers.size(), 1u);
  EXPECT_EQ(pod.announced.size(), 1u);
  EXPECT_EQ(pod.announced.at("log").resources, 7u);
  EXPECT_EQ(pod.announced.at("log").mounts, 0u);
  EXPECT_EQ(CpuOf(MakePicture(pod, {})), "2");
  ContainerSpec made = There("web", "1");
  made.said = {.made = 1, .resources = 1};
  EXPECT_EQ(CpuOf(MakePicture(pod, {made})), "3") << "but it is there";
  AnnounceAnew({}, 8, &pod);
  EXPECT_TRUE(pod.pod_resources.empty());
  EXPECT_TRUE(pod.announced.empty());
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
                             R"("limits":{"cpu":"2250m","hugepages-1Gi":"1Gi","memory":"1Gi"}},)"
                             R"("sources":{"total":"linux"},"missing":[)"
                             R"("containers that are not made yet","types of the containers",)"
                             R"("requests and limits"]})");
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
