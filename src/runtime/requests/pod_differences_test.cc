#include "runtime/requests/pod_differences.h"

#include "gmock/gmock.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AnnouncedContainer AnnouncedPod() {
  AnnouncedContainer web = {.name = "web", .type = AnnouncedContainer::Type::kContainer};
  web.kubernetes_resources = {.requests = {{"cpu", "500m"}}, .limits = {{"memory", "1Gi"}}};
  web.mounts = {{.container_path = "/data", .host_path = "/srv", .readonly = true},
                {.container_path = "/dev/termination-log", .host_path = "/pods/1"}};
  web.devices = {{"/dev/fuse", "/dev/fuse", "rw"}};
  return web;
}

ContainerSpec Made() {
  ContainerSpec web = {.name = "web"};
  web.kubernetes_resources = {.requests = {{"cpu", "0.5"}}, .limits = {{"memory", "1024Mi"}}};
  web.mounts = {{.container_path = "/data/", .host_path = "/srv", .readonly = true},
                {.container_path = "/dev/termination-log", .host_path = "/pods/2"}};
  web.devices = {{"/dev/fuse", "/dev/fuse", "rw"}};
  return web;
}

TEST(PodDifferencesTest, TheSameByValueIsNoDifference) {
  EXPECT_THAT(DifferencesOf(Made(), AnnouncedPod()), IsEmpty());
}

TEST(PodDifferencesTest, AClientThatSendsNoResourcesDiffersInNone) {
  ContainerSpec made = Made();
  made.kubernetes_resources = {};
  EXPECT_THAT(DifferencesOf(made, AnnouncedPod()), IsEmpty());
}

TEST(PodDifferencesTest, EachIsNamedWithBothValues) {
  ContainerSpec made = Made();
  made.kubernetes_resources = {.requests = {{"cpu", "1"}, {"example.com/gpu", "1"}}};
  made.mounts[0].readonly = false;
  made.mounts[1].container_path = "/other";
  made.devices[0] = {"/dev/kvm", "/dev/kvm", "r"};
  EXPECT_THAT(DifferencesOf(made, AnnouncedPod()),
              ElementsAre("request of cpu is 1, announced was 500m",
                          "request of memory was announced and is not there",
                          "request of example.com/gpu was not announced",
                          "limit of memory was announced and is not there",
                          "mount at /data is writable, announced was read-only",
                          "mount at /dev/termination-log was announced and is not there",
                          "mount at /other was not announced",
                          "device at /dev/fuse was announced and is not there",
                          "device at /dev/kvm was not announced"));
}

TEST(PodDifferencesTest, WhomNobodyAnnouncedDiffersByWhatItAdds) {
  ContainerSpec debug = {.name = "debug"};
  EXPECT_THAT(DifferencesOf(debug, {}), IsEmpty());
  debug.devices = {{"/dev/kvm", "/dev/kvm", "rw"}};
  debug.cdi_devices = {"vendor.com/gpu=0"};
  EXPECT_THAT(DifferencesOf(debug, {}),
              ElementsAre("device at /dev/kvm was not announced",
                          "CDI device vendor.com/gpu=0 was not announced"));
}

TEST(PodDifferencesTest, ADeviceIsTheHostsAndWhatMayBeDoneWithIt) {
  ContainerSpec made = Made();
  made.devices[0].host_path = "/dev/kvm";
  EXPECT_THAT(DifferencesOf(made, AnnouncedPod()),
              ElementsAre("device at /dev/fuse is /dev/kvm (rw), announced was /dev/fuse (rw)"));
  made.devices = {{"/dev/fuse", "/dev/fuse", "rwm"}};
  EXPECT_THAT(DifferencesOf(made, AnnouncedPod()),
              ElementsAre("device at /dev/fuse is /dev/fuse (mrw), announced was /dev/fuse (rw)"));
  made.devices = {{"/dev//fuse", "/dev/fuse/", "wr"}};
  EXPECT_THAT(DifferencesOf(made, AnnouncedPod()), IsEmpty());
}

// The device is announced by hand, in an annotation.
TEST(PodDifferencesTest, WhatIsAsUsualOfADeviceMayBeLeftOut) {
  AnnouncedContainer announced = AnnouncedPod();
  announced.devices = {{.container_path = "/dev/fuse"}};
  EXPECT_THAT(DifferencesOf(Made(), announced), IsEmpty());
  ContainerSpec made = Made();
  made.devices[0].host_path = "/dev/kvm";
  EXPECT_THAT(DifferencesOf(made, announced),
              ElementsAre("device at /dev/fuse is /dev/kvm, announced was /dev/fuse"));
}

TEST(PodDifferencesTest, AnImageIsNoPathOfTheHost) {
  AnnouncedContainer announced = AnnouncedPod();
  announced.mounts = {{.container_path = "/data", .image = "registry.test/data:1"}};
  ContainerSpec made = Made();
  made.mounts = {{.container_path = "/data", .readonly = true, .image = "sha256:1"}};
  EXPECT_THAT(DifferencesOf(made, announced), IsEmpty());
  made.mounts = {{.container_path = "/data", .host_path = "/etc", .readonly = true}};
  EXPECT_THAT(DifferencesOf(made, announced),
              ElementsAre("mount at /data is read-only, announced was an image"));
}

TEST(PodDifferencesTest, ExpectedIsWhatThePodAnnouncedOrALaterUpdate) {
  SandboxSpec pod;
  pod.pod_resources.containers = {AnnouncedPod()};
  EXPECT_EQ(ExpectedOf(pod, "web", nullptr), AnnouncedPod());
  EXPECT_EQ(ExpectedOf(pod, "debug", nullptr), AnnouncedContainer());
  ContainerSpec last = {.name = "web"};
  last.kubernetes_resources.limits["cpu"] = "4";
  last.said = {.made = 1, .resources = 1};
  EXPECT_EQ(ExpectedOf(pod, "web", &last), AnnouncedPod()) << "it was made with other resources";
  last.said.resources = 2;
  EXPECT_EQ(ExpectedOf(pod, "web", &last).kubernetes_resources, last.kubernetes_resources);
  EXPECT_EQ(ExpectedOf(pod, "web", &last).devices, AnnouncedPod().devices);
  pod.announced["web"].resources = 3;
  EXPECT_EQ(ExpectedOf(pod, "web", &last), AnnouncedPod());
  // From an earlier build: it may have been updated.
  pod.announced.clear();
  last.said = {};
  EXPECT_EQ(ExpectedOf(pod, "web", &last).kubernetes_resources, last.kubernetes_resources);
}

}  // namespace
}  // namespace plimsoll::runtime
