#include "daemon/config/settings.h"

#include <filesystem>
#include <string>
#include <vector>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::optional<EarlyExit> Parse(std::vector<const char*> arguments, DaemonFlags& flags) {
  arguments.insert(arguments.begin(), "plimsolld");
  return ParseFlags(static_cast<int>(arguments.size()), arguments.data(), "9.9", flags);
}

TEST(FlagsTest, Parsed) {
  DaemonFlags flags;
  const auto exit = Parse({"--config", "/c", "--standalone", "--ready-fd", "5", "--log-level=debug",
                           "--feature-gates=ClassResources=false,NodeResourceHotPlug=true",
                           "--registries-insecure", "a,b:1", "--check-config"},
                          flags);
  ASSERT_FALSE(exit.has_value()) << exit->text;
  EXPECT_EQ(flags.config, "/c");
  EXPECT_TRUE(flags.standalone);
  EXPECT_TRUE(flags.check_config);
  EXPECT_EQ(flags.ready_fd, 5);
  EXPECT_THAT(flags.options,
              ElementsAre(Pair("log.level", "debug"), Pair("registries.insecure", "a,b:1"),
                          Pair("feature_gates", "ClassResources=false,NodeResourceHotPlug=true")));
}

TEST(FlagsTest, WrongFlags) {
  for (const std::vector<const char*>& wrong :
       {std::vector<const char*>{"--nope"}, {"--log-level"}, {"word"}, {"--ready-fd", "1"}}) {
    DaemonFlags flags;
    const auto exit = Parse(wrong, flags);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->code, 2);
    EXPECT_THAT(exit->text, HasSubstr("Try plimsolld --help"));
  }
}

TEST(FlagsTest, HelpNamesEveryKeyAndVersionTheVersion) {
  DaemonFlags flags;
  const auto help = Parse({"--help"}, flags);
  ASSERT_TRUE(help.has_value());
  EXPECT_EQ(help->code, 0);
  EXPECT_THAT(help->text, HasSubstr("--log-level"));
  EXPECT_THAT(help->text, HasSubstr("--event-log-capacity"));
  const auto version = Parse({"--version"}, flags);
  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(version->code, 0);
  EXPECT_EQ(version->text, "plimsolld 9.9\n");
}

class SettingsTest : public ::testing::Test {
 protected:
  TestDir dir_;
  const std::string default_path_ = dir_.root().PathOf("default.yaml");
};

TEST_F(SettingsTest, WithoutAFileTheDefaultsHold) {
  const auto settings = LoadSettings({}, default_path_);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->config, Config());
  EXPECT_EQ(settings->config_path, "");
}

TEST_F(SettingsTest, FlagsWinOverTheFile) {
  ASSERT_TRUE(dir_.root().ReplaceFile("default.yaml", "workers: 5\ncgroup_parent: /a").ok());
  const auto settings = LoadSettings({.options = {{"workers", "7"}}}, default_path_);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->config.workers, 7);
  EXPECT_EQ(settings->config.cgroup_parent, "/a");
  EXPECT_EQ(settings->config_path, default_path_);
}

TEST_F(SettingsTest, TheFilesPathIsToldFromTheRoot) {
  ASSERT_TRUE(dir_.root().ReplaceFile("d.yaml", "workers: 5").ok());
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir_.path());
  const auto settings = LoadSettings({.config = "./d.yaml"}, default_path_);
  std::filesystem::current_path(before);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->config_path, std::filesystem::canonical(dir_.path()) / "d.yaml");
}

TEST_F(SettingsTest, AFileThatIsAskedForMustBeThere) {
  const auto settings = LoadSettings({.config = dir_.path() + "/none"}, default_path_);
  EXPECT_TRUE(absl::IsNotFound(settings.status())) << settings.status();
}

TEST_F(SettingsTest, AWrongFlagIsNamed) {
  EXPECT_EQ(LoadSettings({.options = {{"workers", "0"}}}, default_path_).status().message(),
            "--workers: expected an integer from 1 to 1024, found '0'");
  EXPECT_THAT(LoadSettings({.options = {{"run_dir", "/var/lib/plimsoll"}}}, default_path_)
                  .status()
                  .message(),
              HasSubstr("neither may lie in the other"));
}

// Otherwise `plimsoll run` would compete with a configured plimsolld for its socket.
TEST_F(SettingsTest, AStandaloneDaemonSharesNoPathsWithTheService) {
  ASSERT_TRUE(dir_.root()
                  .ReplaceFile("default.yaml",
                               "address: unix:///run/service.sock\nstate_dir: /s\n"
                               "metrics: {address: '127.0.0.1:1'}\nworkers: 3\n"
                               "socket_group: none-such\nnri: {enabled: true}\n")
                  .ok());
  const auto settings = LoadSettings(
      {.standalone = true, .options = {{"run_dir", "/mine/run"}, {"state_dir", "/mine/state"}}},
      default_path_);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(SocketPath(settings->config), "/mine/run/plimsoll.sock");
  EXPECT_EQ(settings->config.state_dir, "/mine/state");
  EXPECT_EQ(settings->config.metrics_address, "");
  EXPECT_EQ(ClusterSocketPath(settings->config), "");
  EXPECT_FALSE(settings->config.nri.enabled);
  EXPECT_EQ(settings->config.workers, 3);
}

}  // namespace
}  // namespace plimsoll::daemon
