#include "network/config.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::network {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NetworkConfigTest, AListIsReadWithItsHead) {
  const auto config = ParseConfig(
      R"({"cniVersion": "1.0.0", "name": "pods", "disableCheck": true, "plugins": [
            {"type": "bridge", "bridge": "br0"},
            {"type": "portmap", "capabilities": {"portMappings": true, "aliases": false}}]})",
      ConfigFormat::kList);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->name, "pods");
  EXPECT_EQ(config->version, Version::k100);
  EXPECT_TRUE(config->disable_check);
  EXPECT_FALSE(config->disable_gc);
  ASSERT_EQ(config->plugins.size(), 2u);
  EXPECT_EQ(config->plugins[0].type, "bridge");
  EXPECT_THAT(config->plugins[0].json, HasSubstr(R"("bridge":"br0")"));
  EXPECT_THAT(config->plugins[1].capabilities, ElementsAre("portMappings"));
}

TEST(NetworkConfigTest, ASinglePluginIsAListOfOne) {
  const auto config =
      ParseConfig(R"({"cniVersion": "0.3.1", "name": "n", "type": "macvlan", "master": "eth1"})",
                  ConfigFormat::kConf);
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->plugins.size(), 1u);
  EXPECT_EQ(config->plugins[0].type, "macvlan");
  EXPECT_THAT(config->plugins[0].json, HasSubstr(R"("master":"eth1")"));
}

TEST(NetworkConfigTest, WrittenItIsReadAgain) {
  const auto config = ParseConfig(
      R"({"cniVersion": "0.4.0", "name": "n", "type": "x", "capabilities": {"dns": true}})",
      ConfigFormat::kConf);
  ASSERT_TRUE(config.ok()) << config.status();
  const auto again = ParseConfig(ToJson(*config), ConfigFormat::kList);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ToJson(*again), ToJson(*config));
  EXPECT_EQ(again->version, Version::k040);
  EXPECT_THAT(again->plugins[0].capabilities, ElementsAre("dns"));
}

TEST(NetworkConfigTest, OfManyVersionsTheHighestKnownCounts) {
  const auto config =
      ParseConfig(R"({"cniVersions": ["0.4.0", "1.1.0", "7.0.0"], "name": "n", "type": "x"})",
                  ConfigFormat::kConf);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->version, Version::k110);
}

// Version 0.4.0 has strings.
TEST(NetworkConfigTest, SwitchesMayBeStrings) {
  const auto config = ParseConfig(
      R"({"cniVersion": "0.4.0", "name": "n", "disableCheck": "True", "disableGC": "false",
          "plugins": [{"type": "x"}]})",
      ConfigFormat::kList);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->disable_check);
  EXPECT_FALSE(config->disable_gc);
}

// A record can hold no larger one.
TEST(NetworkConfigTest, ALargeListIsMeasuredAsItIsRecorded) {
  const auto parse = [](size_t bytes) {
    std::string text = R"({"cniVersion":"1.0.0","name":"n","plugins":[{"type":"x","a":""}]})";
    text.insert(text.size() - 4, std::string(bytes - text.size(), 'a'));
    return ParseConfig(text, ConfigFormat::kList).status();
  };
  EXPECT_TRUE(parse(kMaxConfigBytes - 100).ok());
  EXPECT_THAT(parse(kMaxConfigBytes).message(), HasSubstr("with all plugins larger than"));
}

struct Refused {
  ConfigFormat format;
  const char* text;
  const char* says;
};

TEST(NetworkConfigTest, WhatIsWrongIsSaid) {
  constexpr ConfigFormat kConf = ConfigFormat::kConf;
  constexpr ConfigFormat kList = ConfigFormat::kList;
  for (const auto& [format, text, says] :
       {Refused{kConf, "", "not valid JSON"}, Refused{kConf, "[]", "expected an object"},
        Refused{kConf, R"({"name": "n", "type": "x"})", "cniVersion: is missing"},
        Refused{kConf, R"({"cniVersion": "0.2.0", "name": "n", "type": "x"})",
                "\"0.2.0\" is not supported; use one of 0.3.1"},
        Refused{kConf, R"({"cniVersion": 1, "name": "n", "type": "x"})", "expected a string"},
        Refused{kConf, R"({"cniVersions": ["9.9.9"], "name": "n", "type": "x"})", "none of 9.9.9"},
        Refused{kConf, R"({"cniVersion": "1.0.0", "type": "x"})", "name: "},
        Refused{kConf, R"({"cniVersion": "1.0.0", "name": "../n", "type": "x"})", "name: "},
        Refused{kConf, R"({"cniVersion": "1.0.0", "name": "n"})", "type: "},
        Refused{kConf, R"({"cniVersion": "1.0.0", "name": "n", "type": "../bin/sh"})", "type: "},
        Refused{kConf, R"({"cniVersion": "1.0.0", "name": "n", "type": ".."})", "type: "},
        Refused{kConf, R"({"cniVersion": "1.0.0", "name": "n", "type": "x", "plugins": []})",
                ".conflist"},
        Refused{kConf,
                R"({"cniVersion": "1.0.0", "name": "n", "type": "x", "capabilities": {"a": 1}})",
                "capabilities.a"},
        Refused{kList, R"({"cniVersion": "1.0.0", "name": "n"})", "at least one"},
        Refused{kList, R"({"cniVersion": "1.0.0", "name": "n", "loadOnlyInlinedPlugins": 1})",
                "loadOnlyInlinedPlugins: expected true or false, found number"},
        Refused{kList, R"({"cniVersion": "1.0.0", "name": "n", "disableCheck": "no"})",
                "disableCheck: expected true or false, found \"no\""},
        Refused{kList, R"({"cniVersion": "1.0.0", "name": "n", "plugins": [7]})",
                "expected objects"},
        Refused{kList, R"({"cniVersion": "1.0.0", "name": "n", "plugins": [{}]})",
                "plugins[0]: type"}}) {
    const auto config = ParseConfig(text, format);
    EXPECT_TRUE(absl::IsInvalidArgument(config.status())) << text;
    EXPECT_THAT(config.status().message(), HasSubstr(says)) << text;
  }
}

TEST(NetworkConfigTest, SizesAreBounded) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_THAT(ParseConfig("{\"a\":" + deep + "}", ConfigFormat::kConf).status().message(),
              HasSubstr("nested deeper"));
  EXPECT_THAT(
      ParseConfig(std::string(kMaxConfigBytes + 1, ' '), ConfigFormat::kConf).status().message(),
      HasSubstr("larger than"));
  std::string plugins;
  for (int i = 0; i < 33; ++i) plugins += R"({"type": "x"},)";
  plugins.pop_back();
  EXPECT_THAT(ParseConfig(R"({"cniVersion": "1.0.0", "name": "n", "plugins": [)" + plugins + "]}",
                          ConfigFormat::kList)
                  .status()
                  .message(),
              HasSubstr("more than 32"));
}

// A file of the greatest depth can be recorded.
TEST(NetworkConfigTest, TheDeepestIsReadAgainToo) {
  const std::string deep = std::string(31, '[') + std::string(31, ']');
  const auto config =
      ParseConfig(R"({"cniVersion": "1.0.0", "name": "n", "type": "x", "a": )" + deep + "}",
                  ConfigFormat::kConf);
  ASSERT_TRUE(config.ok()) << config.status();
  const auto again = ParseConfig(ToJson(*config), ConfigFormat::kList);
  EXPECT_TRUE(again.ok()) << again.status();
}

}  // namespace
}  // namespace plimsoll::network
