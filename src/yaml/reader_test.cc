#include "yaml/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;

// The errors of a mapping in which only "key" is known, with `count` other keys.
std::vector<std::string> ErrorsOf(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) absl::StrAppend(&text, "zzzzzz", i, ": 1\n");
  const YAML::Node node = YAML::Load(text + "key: 1\n");
  YamlReader reader("f");
  YamlMapping mapping(reader, node, "");
  mapping.Get("key");
  mapping.Finish();
  EXPECT_EQ(reader.full(), count > 100);
  return reader.errors();
}

TEST(YamlReader, TellsTheFirstHundredErrors) {
  EXPECT_EQ(ErrorsOf(0).size(), 0u);
  EXPECT_EQ(ErrorsOf(100).size(), 100u);
  EXPECT_EQ(ErrorsOf(1).back(), "f:1:1: unknown field \"zzzzzz0\"; known here: key");
  EXPECT_EQ(ErrorsOf(100).back(), "f:100:1: unknown field \"zzzzzz99\"");
  for (const int count : {101, 500}) {
    const std::vector<std::string> errors = ErrorsOf(count);
    ASSERT_EQ(errors.size(), 101u);
    EXPECT_EQ(errors[99], "f:100:1: unknown field \"zzzzzz99\"");
    EXPECT_EQ(errors.back(), "and further ones, which were not looked at");
  }
}

TEST(YamlReader, KnownFieldsAreToldOnceForEachMapping) {
  const YAML::Node node = YAML::Load("{kye: 1, zzz: 1, yyy: 1, keey: 1}");
  YamlReader reader("f");
  for (const char* path : {"one", "other"}) {
    YamlMapping mapping(reader, node, path);
    mapping.Get("key");
    mapping.Finish();
  }
  EXPECT_THAT(reader.errors(),
              ElementsAre("f:1:2: one: unknown field \"kye\"; did you mean \"key\"?",
                          "f:1:10: one: unknown field \"zzz\"; known here: key",
                          "f:1:18: one: unknown field \"yyy\"",
                          "f:1:26: one: unknown field \"keey\"; did you mean \"key\"?",
                          "f:1:2: other: unknown field \"kye\"; did you mean \"key\"?",
                          "f:1:10: other: unknown field \"zzz\"; known here: key",
                          "f:1:18: other: unknown field \"yyy\"",
                          "f:1:26: other: unknown field \"keey\"; did you mean \"key\"?"));
}

TEST(YamlReader, AFullReaderReadsNoFurtherElements) {
  std::string text;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, "- 1\n");
  YamlReader reader("f");
  int read = 0;
  reader.Each(YAML::Load(text), "list", [&](const YAML::Node& item, const std::string& path) {
    ++read;
    reader.AsBool(item, path);
  });
  EXPECT_EQ(read, 101);
}

TEST(YamlReader, ARangeOfOneNumberIsThatNumber) {
  const YAML::Node node = YAML::Load("{one: 2, some: 4}");
  YamlReader reader("f");
  YamlMapping mapping(reader, node, "");
  std::optional<int64_t> value;
  mapping.Int("one", value, 1, 1);
  mapping.Int("some", value, 1, 3);
  EXPECT_THAT(reader.errors(),
              ElementsAre("f:1:7: one: must be 1", "f:1:16: some: must be from 1 to 3"));
}

}  // namespace
}  // namespace plimsoll
