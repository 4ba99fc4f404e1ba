#include "runtime/pod_differences.h"

#include "gmock/gmock.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PodResources Announced() {
  AnnouncedContainer web = {.name = "web", .type = AnnouncedContainer::Type::kContainer};
  web.kubernetes_resources = {.requests = {{"cpu", "500m"}}, .limits = {{"memory", "1Gi"}}};
  web.mounts = {{.container_path = "/data", .host_path = "/srv", .readonly = true},
                {.container_path = "/dev/termination-log", .host_path = "/pods/1"}};
  web.devices = {{"/dev/fuse", "/dev/fuse", "rw"}};
  return {.containers = {web}};
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
  EXPECT_THAT(DifferencesOf(Made(), Announced()), IsEmpty());
}

TEST(PodDifferencesTest, AClientThatSendsNoResourcesDiffersInNone) {
  ContainerSpec made = Made();
  made.kubernetes_resources = {};
  EXPECT_THAT(DifferencesOf(made, Announced()), IsEmpty());
}

TEST(PodDifferencesTest, EachIsNamedWithBothValues) {
  ContainerSpec made = Made();
  made.kubernetes_resources = {.requests = {{"cpu", "1"}, {"example.com/gpu", "1"}}};
  made.mounts[0].readonly = false;
  made.mounts[1].container_path = "/other";
  made.devices[0].container_path = "/dev/kvm";
  EXPECT_THAT(DifferencesOf(made, Announced()),
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
  EXPECT_THAT(DifferencesOf(debug, Announced()), IsEmpty());
  debug.devices = {{"/dev/kvm", "/dev/kvm", "rw"}};
  debug.cdi_devices = {"vendor.com/gpu=0"};
  EXPECT_THAT(DifferencesOf(debug, Announced()),
              ElementsAre("device at /dev/kvm was not announced",
                          "CDI device vendor.com/gpu=0 was not announced"));
}

}  // namespace
}  // namespace plimsoll::runtime
