#include "agent/device_manager/plugin_answers.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

::v1beta1::Device* Add(::v1beta1::ListAndWatchResponse& list, const std::string& id,
                       const std::string& health, const std::vector<int64_t>& nodes = {}) {
  ::v1beta1::Device* device = list.add_devices();
  device->set_id(id);
  device->set_health(health);
  for (const int64_t node : nodes) device->mutable_topology()->add_nodes()->set_id(node);
  return device;
}

TEST(DevicesFromTest, HealthAndNodes) {
  ::v1beta1::ListAndWatchResponse list;
  Add(list, "b", "Healthy", {0, 2});
  Add(list, "a", "Unhealthy");
  Add(list, "c", "healthy")->mutable_topology();
  Add(list, "d", "Healthy", {-1, 64, int64_t{1} << 40});
  const ListedDevices listed = DevicesFrom(list);
  EXPECT_EQ(listed.fault, "");
  EXPECT_THAT(
      listed.devices,
      ElementsAre(Device{"b", true, NodeMask::FromBits(5)}, Device{"a", false, std::nullopt},
                  Device{"c", false, std::nullopt}, Device{"d", true, NodeMask()}));
}

TEST(DevicesFromTest, OfOneIdTheLastCounts) {
  ::v1beta1::ListAndWatchResponse list;
  Add(list, "a", "Healthy");
  Add(list, "b", "Healthy");
  Add(list, "a", "Unhealthy");
  EXPECT_THAT(DevicesFrom(list).devices,
              ElementsAre(Device{"a", false, std::nullopt}, Device{"b", true, std::nullopt}));
}

TEST(DevicesFromTest, GarbageIsLeftOut) {
  ::v1beta1::ListAndWatchResponse list;
  for (const std::string& id : {std::string(), std::string(kMaxDeviceIdBytes + 1, 'x'),
                                std::string("a\nb"), std::string("a\0b", 3)}) {
    Add(list, id, "Healthy");
  }
  Add(list, std::string(kMaxDeviceIdBytes, 'x'), "Healthy");
  const ListedDevices listed = DevicesFrom(list);
  EXPECT_EQ(listed.devices.size(), 1u);
  EXPECT_THAT(listed.fault, HasSubstr("4 of its devices have no id"));
}

TEST(DevicesFromTest, ThereIsALimit) {
  ::v1beta1::ListAndWatchResponse list;
  for (size_t i = 0; i < kMaxDevices + 3; ++i) Add(list, absl::StrCat(i), "Healthy");
  Add(list, "0", "Unhealthy");
  const ListedDevices listed = DevicesFrom(list);
  EXPECT_EQ(listed.devices.size(), kMaxDevices);
  EXPECT_FALSE(listed.devices[0].healthy);
  EXPECT_EQ(listed.fault, "it has more than 65536 devices; 3 are left out");
}

::v1beta1::ContainerAllocateResponse Answer() {
  ::v1beta1::ContainerAllocateResponse answer;
  (*answer.mutable_envs())["GPU"] = "0";
  (*answer.mutable_annotations())["example.com/gpu"] = "x";
  ::v1beta1::Mount* mount = answer.add_mounts();
  mount->set_host_path("/usr/lib/gpu");
  mount->set_container_path("/gpu");
  mount->set_read_only(true);
  ::v1beta1::DeviceSpec* device = answer.add_devices();
  device->set_host_path("/dev/gpu0");
  device->set_container_path("/dev/gpu");
  device->set_permissions("rwm");
  answer.add_cdi_devices()->set_name("example.com/gpu=0");
  return answer;
}
absl::StatusOr<pod::GivenDevices> Given(const ::v1beta1::ContainerAllocateResponse& answer) {
  ::v1beta1::AllocateResponse response;
  *response.add_container_responses() = answer;
  return GivenFrom(response);
}

TEST(GivenFromTest, AllOfAnAnswer) {
  const auto given = Given(Answer());
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_THAT(given->env, ElementsAre(Pair("GPU", "0")));
  EXPECT_THAT(given->annotations, ElementsAre(Pair("example.com/gpu", "x")));
  EXPECT_THAT(given->mounts, ElementsAre(pod::DeviceMount{"/usr/lib/gpu", "/gpu", true}));
  EXPECT_THAT(given->nodes, ElementsAre(pod::HostDeviceNode{"/dev/gpu0", "/dev/gpu", "rwm"}));
  EXPECT_THAT(given->cdi_names, ElementsAre("example.com/gpu=0"));
  EXPECT_EQ(*Given({}), pod::GivenDevices{}) << "it needs nothing";
}

TEST(GivenFromTest, OfOnePathTheFirstCounts) {
  ::v1beta1::ContainerAllocateResponse answer = Answer();
  *answer.add_mounts() = answer.mounts(0);
  answer.mutable_mounts(1)->set_host_path("/other");
  *answer.add_devices() = answer.devices(0);
  answer.mutable_devices(1)->set_host_path("/dev/other");
  *answer.add_cdi_devices() = answer.cdi_devices(0);
  EXPECT_EQ(*Given(answer), *Given(Answer()));
}

TEST(GivenFromTest, WhatNoContainerCanGetIsRefused) {
  const std::vector<
      std::pair<std::function<void(::v1beta1::ContainerAllocateResponse&)>, std::string>>
      cases = {
          {[](auto& a) { a.mutable_mounts(0)->set_host_path("lib"); }, "host path of a mount"},
          {[](auto& a) { a.mutable_mounts(0)->set_container_path(""); },
           "container path of a mount"},
          {[](auto& a) { a.mutable_mounts(0)->set_container_path("/a/../b"); }, "without \"..\""},
          {[](auto& a) { a.mutable_mounts(0)->set_host_path(std::string("/a\0b", 4)); },
           "must be an absolute path"},
          {[](auto& a) { a.mutable_mounts(0)->set_host_path("/" + std::string(4095, 'x')); },
           "at most 4095 bytes"},
          {[](auto& a) { a.mutable_devices(0)->set_host_path("dev/x"); }, "host path of a device"},
          {[](auto& a) { a.mutable_devices(0)->set_container_path("x"); },
           "container path of a device"},
          {[](auto& a) { a.mutable_devices(0)->set_permissions(""); }, "must be of r, w and m"},
          {[](auto& a) { a.mutable_devices(0)->set_permissions("rx"); }, "permissions \"rx\""},
          {[](auto& a) { a.mutable_devices(0)->set_permissions("rwmr"); }, "permissions \"rwmr\""},
          {[](auto& a) { a.mutable_cdi_devices(0)->set_name("gpu0"); }, "gpu0"},
          {[](auto& a) { (*a.mutable_envs())["A=B"] = "x"; }, "environment variable"},
          {[](auto& a) { (*a.mutable_envs())[""] = "x"; }, "environment variable"},
          {[](auto& a) { (*a.mutable_envs())["A"] = std::string("a\0b", 3); }, "a NUL"},
          {[](auto& a) { (*a.mutable_annotations())[""] = "x"; }, "annotation"},
          {[](auto& a) { (*a.mutable_envs())["A"] = std::string(1024 * 1024, 'x'); },
           "at most 1048576"},
      };
  for (const auto& [change, part] : cases) {
    ::v1beta1::ContainerAllocateResponse answer = Answer();
    change(answer);
    const absl::Status status = Given(answer).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << part;
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
  EXPECT_EQ(GivenFrom({}).status(),
            absl::InvalidArgumentError("no containers return in allocation response"));
}

TEST(PreferredFromTest, TheFirstContainers) {
  EXPECT_THAT(PreferredFrom({}), IsEmpty());
  ::v1beta1::PreferredAllocationResponse answer;
  answer.add_container_responses()->add_deviceids("b");
  answer.add_container_responses()->add_deviceids("c");
  EXPECT_THAT(PreferredFrom(answer), ElementsAre("b"));
}

TEST(AddGivenTest, WhatIsThereStays) {
  pod::GivenDevices given = *Given(Answer());
  pod::GivenDevices more;
  more.env = {{"GPU", "1"}, {"NIC", "2"}};
  more.annotations = {{"example.com/gpu", "y"}, {"example.com/nic", "z"}};
  more.mounts = {{"/other", "/gpu", false}, {"/nic", "/nic", false}};
  more.nodes = {{"/dev/x", "/dev/gpu", "r"}, {"/dev/nic", "/dev/nic", "r"}};
  more.cdi_names = {"example.com/gpu=0", "example.com/nic=1"};
  AddGiven(more, given);
  EXPECT_THAT(given.env, ElementsAre(Pair("GPU", "0"), Pair("NIC", "2")));
  EXPECT_THAT(given.annotations,
              ElementsAre(Pair("example.com/gpu", "x"), Pair("example.com/nic", "z")));
  EXPECT_THAT(given.mounts, ElementsAre(pod::DeviceMount{"/usr/lib/gpu", "/gpu", true},
                                        pod::DeviceMount{"/nic", "/nic", false}));
  EXPECT_THAT(given.nodes, ElementsAre(pod::HostDeviceNode{"/dev/gpu0", "/dev/gpu", "rwm"},
                                       pod::HostDeviceNode{"/dev/nic", "/dev/nic", "r"}));
  EXPECT_THAT(given.cdi_names, ElementsAre("example.com/gpu=0", "example.com/nic=1"));
}

}  // namespace
}  // namespace plimsoll::agent
