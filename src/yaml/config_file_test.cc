#include "yaml/config_file.h"

#include <unistd.h>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

// The error of a file that may have the key "logging" alone; "" when it is right.
std::string FaultOf(absl::string_view text, std::string* format = nullptr,
                    std::string* level = nullptr) {
  std::string no_format, no_level;
  const absl::Status read =
      ReadConfigText(text, "f.yaml", [&](YamlReader& reader, const YAML::Node& node) {
        YamlMapping mapping(reader, node, "");
        ReadLogging(reader, mapping, format != nullptr ? *format : no_format,
                    level != nullptr ? *level : no_level);
        mapping.Finish();
      });
  return std::string(read.message());
}

TEST(ConfigFileTest, LoggingIsRead) {
  std::string format = "text", level = "info";
  EXPECT_EQ(FaultOf("logging: {format: json, level: debug}\n", &format, &level), "");
  EXPECT_EQ(format, "json");
  EXPECT_EQ(level, "debug");
  EXPECT_EQ(FaultOf("# nothing\n", &format, &level), "");
  EXPECT_EQ(format, "json");
}

TEST(ConfigFileTest, EachFaultHasItsPlace) {
  EXPECT_THAT(FaultOf("logging: {level: loud}\nx: 1\n"),
              testing::AllOf(HasSubstr("f.yaml:1:18: logging.level"), HasSubstr("\nf.yaml:2:1")));
  EXPECT_THAT(FaultOf("x: 1\nlogging: {level: loud}\n"),
              testing::AllOf(testing::StartsWith("f.yaml:1:1: "),
                             HasSubstr("\nf.yaml:2:18: logging.level")))
      << "in the order of lines, not of keys";
  EXPECT_THAT(FaultOf("logging: {}\n---\n"), HasSubstr("more than one document"));
  EXPECT_THAT(FaultOf("logging: [\n"), HasSubstr("f.yaml: "));
}

TEST(ConfigFileTest, TheDefaultPlaceMayBeEmptyAndTheGivenOneNot) {
  const TestDir dir;
  const std::string path = dir.root().PathOf("c.yaml");
  EXPECT_EQ(LoadConfigText(std::nullopt, path).value(), "");
  EXPECT_EQ(LoadConfigText(path, "/nowhere").status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(dir.root().ReplaceFile("c.yaml", "a: 1\n").ok());
  EXPECT_EQ(LoadConfigText(std::nullopt, path).value(), "a: 1\n");
  EXPECT_EQ(LoadConfigText(path, "/nowhere").value(), "a: 1\n");
  ASSERT_TRUE(dir.root().ReplaceFile("c.yaml", std::string(1024 * 1024 + 1, '#')).ok());
  EXPECT_FALSE(LoadConfigText(path, "/nowhere").ok());
}

TEST(ConfigFileTest, ARelativePathIsMadeAbsolute) {
  char here[4096];
  ASSERT_NE(getcwd(here, sizeof(here)), nullptr);
  EXPECT_EQ(ConfigPath("x/c.yaml", "/etc/d"), std::string(here) + "/x/c.yaml");
  EXPECT_EQ(ConfigPath(std::nullopt, "/etc/d"), "/etc/d");
}

}  // namespace
}  // namespace plimsoll
