#include "runtime/requests/kubelet_picture.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Type = AnnouncedContainer::Type;

AnnouncedContainer Told(const std::string& name, Type type, const std::string& cpu) {
  AnnouncedContainer container = {.name = name, .type = type};
  container.kubernetes_resources.limits = {{"cpu", cpu}};
  return container;
}

// A pod with an init container of 3 CPUs and two containers of 1 CPU each.
SandboxSpec PodByKubelet() {
  SandboxSpec pod;
  PodFacts& facts = pod.facts.emplace();
  facts.has_spec = facts.has_grants = true;
  facts.resources.containers = {Told("setup", Type::kInit, "3"), Told("web", Type::kContainer, "1"),
                                Told("log", Type::kContainer, "1.0")};
  facts.grants = {{"web", {.devices = {{"vendor.com/gpu", {"GPU-1", "GPU-2"}}}}}, {"log", {}}};
  facts.grants["log"].cdi_devices = {"vendor.com/nic=0"};
  facts.missing = {"mounts: kubelet reports no host paths", "devices: ids alone",
                   "CDI devices: none"};
  return pod;
}

ContainerSpec Made(const std::string& name) {
  ContainerSpec spec = {.name = name};
  spec.mounts = {{.container_path = "/data", .host_path = "/srv"}};
  return spec;
}

std::string Amount(const resources::ResourceList& list, const std::string& resource) {
  const auto found = list.find(resource);
  return found == list.end() ? "none" : found->second.Canonical();
}

TEST(KubeletPictureTest, BeforeTheContainersItIsPartialAndSaysWhatIsMissing) {
  const PodPicture picture = MakePicture(PodByKubelet(), {});
  EXPECT_EQ(picture.is, PictureIs::kPartial);
  EXPECT_EQ(Amount(picture.total.requests, "cpu"), "3");
  EXPECT_EQ(picture.sources.total, SaidBy::kKubelet);
  EXPECT_THAT(picture.missing,
              ElementsAre("mounts of setup, web, log", "devices of setup, web, log",
                          "CDI devices of setup, web"));
  EXPECT_EQ(picture.why, PodByKubelet().facts->missing);
  EXPECT_EQ(picture.sources.containers.at("web").type, SaidBy::kKubelet);
  EXPECT_EQ(picture.sources.containers.at("web").kubernetes_resources, SaidBy::kKubelet);
  EXPECT_EQ(picture.sources.containers.at("web").mounts, std::nullopt);
  EXPECT_EQ(picture.sources.containers.at("log").cdi_devices, SaidBy::kKubelet);
  EXPECT_THAT(picture.now.containers.at(2).cdi_devices, ElementsAre("vendor.com/nic=0"));
}

TEST(KubeletPictureTest, WithAllContainersMadeItIsComplete) {
  ContainerSpec web = Made("web");
  web.cdi_devices = {"vendor.com/gpu=GPU-1"};
  const PodPicture picture = MakePicture(PodByKubelet(), {Made("setup"), web, Made("log")});
  EXPECT_EQ(picture.is, PictureIs::kComplete);
  EXPECT_THAT(picture.missing, IsEmpty());
  EXPECT_THAT(picture.why, IsEmpty());
  // Resources by kubelet, the rest by the container's own request.
  const AnnouncedContainer& now = picture.now.containers.at(1);
  EXPECT_EQ(now.kubernetes_resources.limits.at("cpu"), "1");
  EXPECT_EQ(now.mounts, web.mounts);
  EXPECT_EQ(now.cdi_devices, web.cdi_devices);
  const ContainerSources& sources = picture.sources.containers.at("web");
  EXPECT_EQ(sources.kubernetes_resources, SaidBy::kKubelet);
  EXPECT_EQ(sources.mounts, SaidBy::kMessage);
  EXPECT_EQ(sources.devices, SaidBy::kMessage);
  EXPECT_EQ(sources.cdi_devices, SaidBy::kMessage);
}

TEST(KubeletPictureTest, AContainersOwnWordIsNotKubelets) {
  ContainerSpec web = Made("web");
  web.kubernetes_resources.limits = {{"cpu", "5"}};
  const PodPicture picture = MakePicture(PodByKubelet(), {web});
  EXPECT_EQ(picture.sources.containers.at("web").kubernetes_resources, SaidBy::kMessage);
  EXPECT_EQ(Amount(picture.total.limits, "cpu"), "6");
}

TEST(KubeletPictureTest, OfTwoWordsLinuxsHolds) {
  SandboxSpec pod = PodByKubelet();
  pod.resources.cpu_quota_us = 350000;
  pod.resources.cpu_period_us = 100000;
  ContainerSpec web = Made("web");
  web.resources.cpu_quota_us = 50000;
  web.resources.cpu_period_us = 100000;
  const PodPicture picture = MakePicture(pod, {web});
  EXPECT_EQ(picture.now.containers.at(1).kubernetes_resources.limits.at("cpu"), "500m");
  EXPECT_THAT(picture.sources.containers.at("web").by_linux, ElementsAre("limits[cpu]"));
  EXPECT_EQ(Amount(picture.total.limits, "cpu"), "3500m");
  EXPECT_THAT(picture.sources.total_by_linux, ElementsAre("limits[cpu]"));
  EXPECT_EQ(ToldByKubelet(pod, "web")->limits.at("cpu"), "1") << "as told";
}

TEST(KubeletPictureTest, ThePodsOwnResourcesReplaceTheSum) {
  SandboxSpec pod = PodByKubelet();
  pod.facts->resources.kubernetes_resources.limits = {{"memory", "1Gi"}};
  pod.overhead.memory_limit_bytes = 64 << 20;
  const PodPicture picture = MakePicture(pod, {});
  EXPECT_EQ(Amount(picture.total.limits, "memory"), "1088Mi");
  EXPECT_EQ(Amount(picture.total.requests, "cpu"), "3");
}

// Kubelet 1.36 as it is.
TEST(KubeletPictureTest, WithoutTheSpecTheGrantsCount) {
  SandboxSpec pod = PodByKubelet();
  pod.facts->has_spec = false;
  pod.facts->resources = {};
  pod.facts->grants.at("web").exclusive_cpus = "2-3";
  pod.facts->grants.at("web").memory = {{"memory", {0, 1}, 1 << 30}};
  pod.resources.cpu_quota_us = 200000;
  pod.resources.cpu_period_us = 100000;
  const PodPicture picture = MakePicture(pod, {});
  EXPECT_EQ(picture.is, PictureIs::kPartial);
  EXPECT_EQ(picture.sources.total, SaidBy::kLinux);
  EXPECT_EQ(Amount(picture.total.limits, "cpu"), "2");
  EXPECT_EQ(Amount(picture.total.limits, "vendor.com/gpu"), "2");
  EXPECT_THAT(picture.missing,
              ElementsAre("containers that have no grants and are not made yet",
                          "types of the containers", "requests and limits", "mounts of log, web",
                          "devices of log, web", "CDI devices of log, web"));
  const auto json = nlohmann::json::parse(ToJson(picture));
  EXPECT_EQ(json["grants"][1].dump(),
            R"({"devices":[{"ids":["GPU-1","GPU-2"],"resource":"vendor.com/gpu"}],)"
            R"("exclusive_cpus":"2-3","memory":[{"bytes":1073741824,"numa_nodes":[0,1],)"
            R"("resource":"memory"}],"name":"web"})");
  // A container that was made shows what Linux has beside its devices.
  ContainerSpec web = Made("web");
  web.resources.memory_limit_bytes = 1 << 30;
  const PodPicture made = MakePicture(pod, {web});
  const AnnouncedContainer& now = made.now.containers.at(1);
  EXPECT_EQ(now.kubernetes_resources.limits.at("memory"), "1Gi");
  EXPECT_EQ(now.kubernetes_resources.limits.at("vendor.com/gpu"), "2");
  EXPECT_EQ(made.sources.containers.at("web").kubernetes_resources, SaidBy::kLinux);
}

TEST(KubeletPictureTest, OfAnEmptyAnswerNothingIsKnown) {
  SandboxSpec pod;
  pod.facts.emplace().has_grants = true;
  EXPECT_EQ(MakePicture(pod, {}).is, PictureIs::kAbsent);
}

TEST(KubeletPictureTest, DevicesThatNobodyHasAreKnown) {
  SandboxSpec pod = PodByKubelet();
  pod.facts->grants.clear();
  pod.facts->missing = {"mounts: kubelet reports no host paths"};
  EXPECT_THAT(MakePicture(pod, {}).missing, ElementsAre("mounts of setup, web, log"));
}

TEST(KubeletPictureTest, TypesThatCannotBeTrueAreNotBelieved) {
  SandboxSpec pod = PodByKubelet();
  for (AnnouncedContainer& each : pod.facts->resources.containers) each.type = Type::kInit;
  const PodPicture picture = MakePicture(pod, {Made("setup"), Made("web"), Made("log")});
  EXPECT_EQ(picture.is, PictureIs::kPartial);
  EXPECT_THAT(picture.missing, ElementsAre("types of the containers"));
  EXPECT_EQ(Amount(picture.total.limits, "cpu"), "5");
}

TEST(KubeletPictureTest, AnAnnouncementLeavesKubeletNoSay) {
  SandboxSpec pod = PodByKubelet();
  pod.pod_resources.containers = {Told("web", Type::kContainer, "7")};
  pod.announced_by = SaidBy::kAnnotation;
  const PodPicture picture = MakePicture(pod, {Made("web")});
  EXPECT_EQ(picture.is, PictureIs::kComplete);
  EXPECT_EQ(Amount(picture.total.limits, "cpu"), "7");
  EXPECT_EQ(picture.sources.total, SaidBy::kAnnotation);
  EXPECT_EQ(picture.sources.containers.at("web").type, SaidBy::kAnnotation);
  EXPECT_EQ(picture.sources.containers.at("web").mounts, SaidBy::kMessage);
  EXPECT_EQ(ToldByKubelet(pod, "web"), nullptr);
  AnnounceAnew({.containers = {Told("web", Type::kContainer, "8")}}, 3, &pod);
  EXPECT_EQ(MakePicture(pod, {}).sources.containers.at("web").kubernetes_resources,
            SaidBy::kMessage);
}

TEST(KubeletPictureTest, TheJsonNamesTheSources) {
  EXPECT_THAT(ToJson(MakePicture(PodByKubelet(), {Made("web")})),
              HasSubstr(R"("sources":{"total":"kubelet","containers":[)"
                        R"({"name":"setup","type":"kubelet","kubernetes_resources":"kubelet"},)"
                        R"({"name":"web","type":"kubelet","kubernetes_resources":"kubelet",)"
                        R"("mounts":"message","devices":"message","cdi_devices":"message"},)"));
}

}  // namespace
}  // namespace plimsoll::runtime
