#include "agent/device_manager/configured_devices.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/device_manager/resource_name.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;

NodeDevice AtPath(const std::string& path) {
  return {.cdi_name = "", .node = {path, path, "rw"}, .numa_node = std::nullopt};
}
NodeDevice OfCdi(const std::string& name) {
  return {.cdi_name = name, .node = {}, .numa_node = std::nullopt};
}

TEST(ConfiguredDevicesTest, TheirStockIsHealthyAndInTheirOrder) {
  const TestDir dir;
  NodeDevice placed = OfCdi("example.com/gpu=1");
  placed.numa_node = 1;
  const DeviceStock stock =
      StockOf({{"example.com/gpu", {placed, OfCdi("example.com/gpu=0")}}, {"example.com/none", {}}},
              dir.root());
  EXPECT_THAT(stock.at("example.com/gpu").devices,
              ElementsAre(Device{"example.com/gpu=1", true, NodeMask::Of(1)},
                          Device{"example.com/gpu=0", true, std::nullopt}));
  EXPECT_TRUE(stock.at("example.com/gpu").is_served);
  EXPECT_FALSE(stock.at("example.com/gpu").has_preference);
  EXPECT_TRUE(stock.at("example.com/none").devices.empty());
}

TEST(ConfiguredDevicesTest, SysfsTellsTheNodeOfADevice) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("dev").ok());
  const auto make = [&](const std::string& name, mode_t type, unsigned number) {
    return mknod((dir.path() + "/dev/" + name).c_str(), type | 0600, makedev(242, number)) == 0;
  };
  if (!make("near", S_IFCHR, 0)) GTEST_SKIP() << "this user can't make device nodes";
  ASSERT_TRUE(make("disk", S_IFBLK, 1) && make("none", S_IFCHR, 2) && make("bare", S_IFCHR, 3));
  const auto tell = [&](const std::string& device, const std::string& text) {
    const std::string directory = "sys/dev/" + device + "/device";
    ASSERT_TRUE(dir.root().MakeDirs(directory + "/device").ok());
    ASSERT_TRUE(dir.root()
                    .ReplaceFile(directory + text.substr(0, text.find(' ')),
                                 text.substr(text.find(' ') + 1))
                    .ok());
  };
  tell("char/242:0", "/numa_node 1\n");
  tell("block/242:1", "/device/numa_node 0\n");
  tell("char/242:2", "/numa_node -1\n");
  const DeviceStock stock =
      StockOf({{"example.com/x",
                {AtPath("/dev/near"), AtPath("/dev/disk"), AtPath("/dev/none"), AtPath("/dev/bare"),
                 AtPath("/dev/missing"), AtPath("/sys")}}},
              dir.root());
  EXPECT_THAT(
      stock.at("example.com/x").devices,
      ElementsAre(Device{"/dev/near", true, NodeMask::Of(1)},
                  Device{"/dev/disk", true, NodeMask::Of(0)},
                  Device{"/dev/none", true, std::nullopt}, Device{"/dev/bare", true, std::nullopt},
                  Device{"/dev/missing", true, std::nullopt}, Device{"/sys", true, std::nullopt}));
}

TEST(ConfiguredDevicesTest, TheAgentAnswersForThem) {
  const NodeDevices devices = {
      {"example.com/x", {AtPath("/dev/a"), OfCdi("example.com/x=1"), OfCdi("example.com/x=2")}}};
  const auto given = GivenOf(devices, "example.com/x", {"example.com/x=2", "/dev/a"});
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_THAT(given->cdi_names, ElementsAre("example.com/x=2"));
  EXPECT_THAT(given->nodes, ElementsAre(pod::HostDeviceNode{"/dev/a", "/dev/a", "rw"}));
  EXPECT_EQ(GivenOf(devices, "example.com/x", {"/dev/b"}).status(),
            absl::FailedPreconditionError("device /dev/b of example.com/x is no longer among the "
                                          "devices of the configuration"));
  EXPECT_EQ(GivenOf(devices, "example.com/y", {"/dev/a"}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(ResourceNameTest, IsKubernetes) {
  for (const char* name : {"example.com/gpu", "e/x", "a.b/X_y.z-0"}) {
    EXPECT_TRUE(IsExtendedResourceName(name)) << name;
  }
  for (const std::string& name :
       {std::string("cpu"), std::string("kubernetes.io/x"), std::string("a.kubernetes.io/x"),
        std::string("requests.example.com/x"), std::string("example.com/"), std::string("/x"),
        std::string("Example.com/x"), std::string("a/b/c"), std::string("example.com/x y"),
        std::string(), std::string(250, 'a') + "/x", "a/" + std::string(64, 'x')}) {
    EXPECT_FALSE(IsExtendedResourceName(name)) << name;
  }
}

}  // namespace
}  // namespace plimsoll::agent
