#include "agent/device_manager/registry_watch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "absl/strings/str_cat.h"
#include "agent/device_manager/manager_fixture_for_test.h"
#include "gmock/gmock.h"

namespace plimsoll::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A plugin in the registry's directory.
class RegistryTest : public DeviceManagerTest {
 protected:
  std::string RegistryPath(const std::string& name) const {
    return absl::StrCat(dir_.path(), "/registry/", name);
  }
  std::unique_ptr<FakePlugin> Registrant(const std::string& name,
                                         const std::function<void(FakePlugin&)>& set) {
    // The socket's members are set before it is seen under a name that counts.
    const std::string hidden = RegistryPath("." + name);
    auto plugin = std::make_unique<FakePlugin>(hidden);
    plugin->info.set_type("DevicePlugin");
    plugin->info.set_name(kGpu);
    plugin->info.add_supported_versions("v1beta1");
    set(*plugin);
    plugin->Tell(DevicesNamed({"a"}));
    EXPECT_EQ(rename(hidden.c_str(), RegistryPath(name).c_str()), 0);
    return plugin;
  }
  static bool AwaitAsked(const FakePlugin& plugin, const std::string& what) {
    return WaitUntil([&] {
      for (const std::string& each : plugin.asked()) {
        if (each.find(what) != std::string::npos) return true;
      }
      return false;
    });
  }
};

TEST_F(RegistryTest, ASocketThatAppearsIsAPlugin) {
  const auto plugin = Registrant("gpu.sock", [](FakePlugin&) {});
  ASSERT_TRUE(AwaitCounts("1/1"));
  EXPECT_TRUE(AwaitAsked(*plugin, "verdict plugin_registered: true"));
  EXPECT_THAT(plugin->asked(), ElementsAre("info", "verdict plugin_registered: true"));
  // The socket goes, and the plugin is left, though its process runs on.
  ASSERT_EQ(unlink(RegistryPath("gpu.sock").c_str()), 0);
  EXPECT_TRUE(AwaitCounts("0/1"));
  EXPECT_TRUE(AwaitLine(absl::StrCat("the device plugin of example.com/gpu at ",
                                     RegistryPath("gpu.sock"), " has registered, with 1 device")));
  EXPECT_TRUE(AwaitEvent("DevicePluginGone: the device plugin of example.com/gpu has ended"));
}

TEST_F(RegistryTest, SocketsOfBeforeTheStartCount) {
  manager_.reset();
  const auto plugin = Registrant("gpu.sock", [](FakePlugin&) {});
  Begin();
  EXPECT_TRUE(AwaitCounts("1/1"));
}

TEST_F(RegistryTest, AnEndpointOfItsOwn) {
  const auto endpoint = std::make_unique<FakePlugin>(dir_.path() + "/own.sock");
  endpoint->Tell(DevicesNamed({"a", "b"}));
  const auto plugin =
      Registrant("gpu.sock", [](FakePlugin& fake) { fake.info.set_endpoint("/own.sock"); });
  EXPECT_TRUE(AwaitCounts("2/2"));
}

TEST_F(RegistryTest, OthersAreRefusedOnce) {
  struct Case {
    std::function<void(FakePlugin&)> set;
    std::string part;
  };
  const std::vector<Case> cases = {
      {[](FakePlugin& fake) { fake.info.set_type("CSIPlugin"); },
       "no handler registered for plugin type: "},
      {[](FakePlugin& fake) { fake.info.set_supported_versions(0, "v1"); },
       "is not among plugin supported versions"},
      {[](FakePlugin& fake) { fake.info.set_name("gpu"); }, "is invalid"},
      {[](FakePlugin& fake) { fake.info.set_endpoint("own.sock"); }, "must be an absolute path"},
      {[](FakePlugin& fake) { fake.info.set_name(kSerial); }, "configuration; a resource is"},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto plugin = Registrant(absl::StrCat("p", i, ".sock"), cases[i].set);
    EXPECT_TRUE(AwaitAsked(*plugin, "verdict error: ")) << cases[i].part;
    EXPECT_THAT(plugin->asked(), Contains(HasSubstr(cases[i].part)));
    EXPECT_TRUE(AwaitEvent(cases[i].part)) << cases[i].part;
    // Another one makes the manager look again.
    const auto good = Registrant("good.sock", [](FakePlugin&) {});
    ASSERT_TRUE(AwaitCounts("1/1"));
    EXPECT_EQ(plugin->asked().size(), 2u) << "it was asked again";
    ASSERT_EQ(unlink(RegistryPath("good.sock").c_str()), 0);
    ASSERT_TRUE(AwaitCounts("0/1"));
  }
}

TEST_F(RegistryTest, ASocketWithoutAProcessIsAskedAgain) {
  { const UniqueFd dead = ListenSilently(RegistryPath("dead.sock")); }
  EXPECT_TRUE(AwaitEvent("no process listens"));
  ASSERT_EQ(unlink(RegistryPath("dead.sock").c_str()), 0);
  const auto plugin = Registrant("dead.sock", [](FakePlugin&) {});
  EXPECT_TRUE(AwaitCounts("1/1"));
}

TEST_F(RegistryTest, APluginThatEndsIsAskedAgainWhileItsSocketIsThere) {
  const auto plugin = Registrant("gpu.sock", [](FakePlugin&) {});
  ASSERT_TRUE(AwaitCounts("1/1"));
  plugin->EndStream(grpc::Status::OK);
  ASSERT_TRUE(AwaitCounts("0/1"));
  EXPECT_TRUE(WaitUntil([&] {
    const std::vector<std::string> asked = plugin->asked();
    return std::count(asked.begin(), asked.end(), "info") >= 2;
  }));
}

TEST_F(RegistryTest, APluginThatCantHearItsVerdictIsLeft) {
  const auto plugin = Registrant("gpu.sock", [](FakePlugin& fake) {
    fake.verdict_failure = grpc::Status(grpc::StatusCode::INTERNAL, "deaf");
  });
  EXPECT_TRUE(AwaitEvent("the plugin can't be told that it has registered"));
  EXPECT_TRUE(WaitUntil([&] { return Counts().substr(0, 2) != "1/"; }));
}

TEST_F(RegistryTest, APluginWithoutOptionsHearsSo) {
  const auto plugin = Registrant("gpu.sock", [](FakePlugin& fake) {
    fake.FailOptions(grpc::Status(grpc::StatusCode::INTERNAL, "not ready"));
  });
  EXPECT_TRUE(AwaitAsked(*plugin, "not ready"));
  EXPECT_TRUE(AwaitEvent("not ready"));
  EXPECT_EQ(Counts(), "");
}

TEST_F(RegistryTest, FilesAndHiddenSocketsAreLeftAlone) {
  ASSERT_TRUE(dir_.root().ReplaceFile("registry/file", "x").ok());
  const FakePlugin hidden(RegistryPath(".hidden.sock"));
  const auto plugin = Registrant("gpu.sock", [](FakePlugin&) {});
  ASSERT_TRUE(AwaitCounts("1/1"));
  EXPECT_THAT(hidden.asked(), IsEmpty());
  EXPECT_EQ(Events(), "");
}

}  // namespace
}  // namespace plimsoll::agent
