#include "network/config_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/no_descriptors_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "network/plugins_for_test.h"

namespace plimsoll::network {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Conf(const std::string& name) {
  return absl::StrCat(R"({"cniVersion": "1.0.0", "name": ")", name, R"(", "type": "x"})");
}

class ConfigDirectoryTest : public ::testing::Test {
 protected:
  ConfigDirectoryTest()
      : directory_(*FsRoot::Open("/"), files_.conf(),
                   [this](const std::string& text) { told_.push_back(text); }) {}
  // The name of the network in force; otherwise the error.
  std::string Current() {
    const auto current = directory_.Current();
    return current.ok() ? (*current)->name : current.status().ToString();
  }
  ScriptedPlugins files_;
  std::vector<std::string> told_;
  ConfigDirectory directory_;
};

TEST_F(ConfigDirectoryTest, TheFirstByNameIsInForce) {
  EXPECT_TRUE(absl::IsNotFound(directory_.Current().status()));
  files_.WriteConfig("20-b.conf", Conf("b"));
  files_.WriteConfig("10-a.conflist",
                     R"({"cniVersion": "1.0.0", "name": "a", "plugins": [{"type": "x"}]})");
  files_.WriteConfig("05-readme.txt", Conf("readme"));
  files_.WriteConfig(".00-hidden.conf", Conf("hidden"));
  EXPECT_EQ(Current(), "a");
  EXPECT_EQ((*directory_.Current())->file, files_.conf() + "/10-a.conflist");
}

TEST_F(ConfigDirectoryTest, WhatIsWrittenIsInForceAtOnce) {
  files_.WriteConfig("20.conf", Conf("b"));
  EXPECT_EQ(Current(), "b");
  files_.WriteConfig("10.json", Conf("a"));
  EXPECT_EQ(Current(), "a");
  // Written in place, without a new file.
  ASSERT_TRUE(files_.root().Write("conf/10.json", Conf("c")).ok());
  EXPECT_EQ(Current(), "c");
  ASSERT_EQ(rename((files_.conf() + "/10.json").c_str(), (files_.conf() + "/30.json").c_str()), 0);
  EXPECT_EQ(Current(), "b");
  ASSERT_TRUE(files_.root().RemoveFile("conf/20.conf").ok());
  EXPECT_EQ(Current(), "c");
  ASSERT_TRUE(files_.root().RemoveFile("conf/30.json").ok());
  EXPECT_THAT(Current(), AllOf(HasSubstr("NOT_FOUND"), HasSubstr("no file that ends in")));
}

TEST_F(ConfigDirectoryTest, ChangesAreToldOnce) {
  Current();
  files_.WriteConfig("10.conf", Conf("a"));
  Current();
  Current();
  files_.WriteConfig("05.txt", "");
  Current();
  EXPECT_THAT(told_, ElementsAre(HasSubstr("no file that ends in"),
                                 AllOf(HasSubstr("network a"), HasSubstr("10.conf"))));
}

TEST_F(ConfigDirectoryTest, ABadFileIsPassedOverAndNamedWhereAllAreBad) {
  files_.WriteConfig("10.conf", "{");
  files_.WriteConfig("20.conf", R"({"cniVersion": "1.0.0", "name": "n"})");
  EXPECT_THAT(Current(), AllOf(HasSubstr("FAILED_PRECONDITION"),
                               HasSubstr("10.conf: not valid JSON"), HasSubstr("20.conf: type")));
  files_.WriteConfig("30.conf", Conf("good"));
  EXPECT_EQ(Current(), "good");
}

TEST_F(ConfigDirectoryTest, TheDirectoryMayComeGoAndBeReplaced) {
  const std::string away = files_.path() + "/away";
  ASSERT_EQ(rename(files_.conf().c_str(), away.c_str()), 0);
  EXPECT_THAT(Current(), AllOf(HasSubstr("NOT_FOUND"), HasSubstr("isn't there")));
  ASSERT_TRUE(files_.root().MakeDirs("conf", 0755).ok());
  files_.WriteConfig("10.conf", Conf("new"));
  EXPECT_EQ(Current(), "new");
  ASSERT_TRUE(files_.root().ReplaceFile("away/10.conf", Conf("old"), 0644).ok());
  ASSERT_TRUE(files_.root().RemoveTree("conf").ok());
  ASSERT_EQ(rename(away.c_str(), files_.conf().c_str()), 0);
  EXPECT_EQ(Current(), "old");
}

TEST_F(ConfigDirectoryTest, WhatIsNoFileHoldsNobodyUp) {
  ASSERT_EQ(mkfifo((files_.conf() + "/10.conf").c_str(), 0600), 0);
  ASSERT_TRUE(files_.root().MakeDirs("conf/20.conf").ok());
  EXPECT_THAT(Current(), AllOf(HasSubstr("10.conf: is no regular file"), HasSubstr("20.conf")));
}

TEST_F(ConfigDirectoryTest, ALinkLeadsWhereItSays) {
  ASSERT_TRUE(files_.root().ReplaceFile("elsewhere", Conf("linked"), 0644).ok());
  ASSERT_EQ(symlink((files_.path() + "/elsewhere").c_str(), (files_.conf() + "/10.conf").c_str()),
            0);
  EXPECT_EQ(Current(), "linked");
}

TEST_F(ConfigDirectoryTest, ManyFilesAreNotAllRead) {
  for (int i = 0; i < 120; ++i) files_.WriteConfig(absl::StrCat("a", 1000 + i, ".conf"), "{");
  files_.WriteConfig("z.conf", Conf("z"));
  EXPECT_THAT(Current(), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("96 more")));
}

TEST_F(ConfigDirectoryTest, WithoutADescriptorItSaysSoAndGoesOnAfterwards) {
  files_.WriteConfig("10.conf", Conf("a"));
  EXPECT_EQ(Current(), "a");
  {
    const NoDescriptors none;
    EXPECT_FALSE(directory_.Current().ok());
  }
  EXPECT_EQ(Current(), "a");
}

// CNI specification 1.1.0, section 1: plugins of a list in a directory of the network's name.
class PluginsBesideTest : public ConfigDirectoryTest {
 protected:
  PluginsBesideTest() { MakeDirectory("conf/pods"); }
  void MakeDirectory(const std::string& path) {
    EXPECT_TRUE(files_.root().MakeDirs(path, 0755).ok());
  }
  void WriteList(const std::string& rest) {
    files_.WriteConfig("10.conflist", R"({"cniVersion": "1.1.0", "name": "pods")" + rest + "}");
  }
  // The types of the current configuration; otherwise the error.
  std::vector<std::string> Types() {
    const auto current = directory_.Current();
    if (!current.ok()) return {current.status().ToString()};
    std::vector<std::string> types;
    for (const PluginConfig& plugin : (*current)->plugins) types.push_back(plugin.type);
    return types;
  }
};

TEST_F(PluginsBesideTest, FollowTheListInTheOrderOfTheirNames) {
  files_.WriteConfig("pods/20.conf", R"({"type": "third", "capabilities": {"dns": true}})");
  files_.WriteConfig("pods/10.conf", R"({"type": "second", "mtu": 1400})");
  files_.WriteConfig("pods/10.json", R"({"type": "json"})");
  files_.WriteConfig("pods/.05.conf", R"({"type": "hidden"})");
  MakeDirectory("conf/pods/05.conf");
  WriteList(R"(, "plugins": [{"type": "first"}])");
  EXPECT_THAT(Types(), ElementsAre("first", "second", "third"));
  const NetworkConfig config = **directory_.Current();
  EXPECT_THAT(config.plugins[1].json, HasSubstr(R"("mtu":1400)"));
  EXPECT_THAT(config.plugins[2].capabilities, ElementsAre("dns"));
  // The record has them all.
  EXPECT_EQ(ParseConfig(ToJson(config), ConfigFormat::kList)->plugins.size(), 3u);
}

TEST_F(PluginsBesideTest, AreEnoughWithoutAnyInTheList) {
  WriteList("");
  EXPECT_THAT(Types(), ElementsAre(HasSubstr(
                           "10.conflist: plugins: at least one is needed, in the list or as "
                           "pods/*.conf")));
  files_.WriteConfig("pods/10.conf", R"({"type": "only"})");
  EXPECT_THAT(Types(), ElementsAre("only"));
}

TEST_F(PluginsBesideTest, AListMayRefuseThem) {
  files_.WriteConfig("pods/10.conf", "{");
  WriteList(R"(, "loadOnlyInlinedPlugins": true, "plugins": [{"type": "first"}])");
  EXPECT_THAT(Types(), ElementsAre("first"));
  WriteList(R"(, "loadOnlyInlinedPlugins": true)");
  EXPECT_THAT(Types(), ElementsAre(HasSubstr("plugins: at least one is needed, in the list")));
}

TEST_F(PluginsBesideTest, AreNotOfAFileWithOnePlugin) {
  files_.WriteConfig("pods/10.conf", R"({"type": "second"})");
  files_.WriteConfig("10.conf", Conf("pods"));
  EXPECT_THAT(Types(), ElementsAre("x"));
}

TEST_F(PluginsBesideTest, AreInForceAtOnce) {
  const std::string away = files_.path() + "/away";
  const std::string beside = files_.conf() + "/pods";
  WriteList(R"(, "plugins": [{"type": "first"}])");
  EXPECT_THAT(Types(), ElementsAre("first"));
  files_.WriteConfig("pods/10.conf", R"({"type": "second"})");
  EXPECT_THAT(Types(), ElementsAre("first", "second"));
  ASSERT_TRUE(files_.root().Write("conf/pods/10.conf", R"({"type": "other"})").ok());
  EXPECT_THAT(Types(), ElementsAre("first", "other"));
  ASSERT_EQ(rename(beside.c_str(), away.c_str()), 0);
  EXPECT_THAT(Types(), ElementsAre("first"));
  MakeDirectory("conf/pods");
  EXPECT_THAT(Types(), ElementsAre("first"));
  files_.WriteConfig("pods/30.conf", R"({"type": "new"})");
  EXPECT_THAT(Types(), ElementsAre("first", "new"));
  ASSERT_TRUE(files_.root().RemoveFile("conf/pods/30.conf").ok());
  EXPECT_THAT(Types(), ElementsAre("first"));
}

TEST_F(PluginsBesideTest, AMistakeInOneMakesTheListInvalid) {
  WriteList(R"(, "plugins": [{"type": "first"}])");
  files_.WriteConfig("20.conf", Conf("next"));
  for (const char* wrong : {"{", "[]", "{}", R"({"type": "../x"})"}) {
    files_.WriteConfig("pods/10.conf", wrong);
    EXPECT_EQ(Current(), "next") << wrong;
  }
  ASSERT_TRUE(files_.root().RemoveFile("conf/20.conf").ok());
  EXPECT_THAT(Current(), HasSubstr("10.conflist: pods/10.conf: type: "));
  ASSERT_TRUE(files_.root().RemoveFile("conf/pods/10.conf").ok());
  ASSERT_EQ(mkfifo((files_.conf() + "/pods/10.conf").c_str(), 0600), 0);
  EXPECT_THAT(Current(), HasSubstr("pods/10.conf: is no regular file"));
}

TEST_F(PluginsBesideTest, AreCountedWithThoseOfTheList) {
  WriteList(R"(, "plugins": [{"type": "first"}])");
  for (int i = 0; i < 31; ++i) {
    files_.WriteConfig(absl::StrCat("pods/", 10 + i, ".conf"), R"({"type": "x"})");
  }
  EXPECT_EQ(Types().size(), 32u);
  files_.WriteConfig("pods/90.conf", R"({"type": "x"})");
  EXPECT_THAT(Current(), HasSubstr("plugins: 1 here and 32 in pods/, more than 32"));
  const std::string large = absl::StrCat(R"({"type": "x", "a": ")", std::string(60000, 'a'), "\"}");
  for (int i = 0; i < 20; ++i) files_.WriteConfig(absl::StrCat("pods/", 10 + i, ".conf"), large);
  EXPECT_THAT(Current(), HasSubstr("pods/: more than 100 files or 1048576 bytes"));
}

TEST_F(PluginsBesideTest, AFileOfTheNetworksNameIsNoDirectory) {
  ASSERT_TRUE(files_.root().RemoveTree("conf/pods").ok());
  files_.WriteConfig("pods", "");
  WriteList(R"(, "plugins": [{"type": "first"}])");
  EXPECT_THAT(Types(), ElementsAre("first"));
}

TEST(NoConfigDirectoryTest, WithoutAPathThereIsNone) {
  ConfigDirectory directory(*FsRoot::Open("/"), "", nullptr);
  EXPECT_TRUE(absl::IsNotFound(directory.Current().status()));
}

}  // namespace
}  // namespace plimsoll::network
