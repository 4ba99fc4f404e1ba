#include "qos/blockio_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::qos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string BlockioErrorOf(absl::string_view text) {
  const auto config = ParseBlockioConfig(text, "io.yaml", /*v2=*/true);
  if (config.ok()) return "no error";
  EXPECT_TRUE(absl::IsInvalidArgument(config.status())) << config.status();
  return std::string(config.status().message());
}

// The error for one entry of a class, which begins in line 4.
std::string EntryError(absl::string_view entry) {
  return BlockioErrorOf(absl::StrCat("Classes:\n  a: []\n  slow:\n  - ", entry, "\n"));
}

TEST(BlockioConfig, IsTheFormatThatOthersRead) {
  const auto config = ParseBlockioConfig(R"(Classes:
  nothrottle: []
  empty:
  slow:
  - Weight: 50
  - Devices:
    - /dev/sd*
    - /dev/disk/by-id/*SSD*
    ThrottleReadBps: 50M
    ThrottleWriteBps: 0.5Gi
    ThrottleReadIOPS: 10k
    ThrottleWriteIOPS: "0"
    Weight: "20"
)",
                                         "io.yaml", /*v2=*/true);
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->classes.size(), 3u);
  EXPECT_EQ(config->classes[0], (BlockioClass{"nothrottle", {}}));
  EXPECT_EQ(config->classes[1], (BlockioClass{"empty", {}}));
  EXPECT_EQ(config->Find("none"), nullptr);
  const BlockioClass* slow = config->Find("slow");
  ASSERT_NE(slow, nullptr);
  ASSERT_EQ(slow->entries.size(), 2u);
  EXPECT_EQ(slow->entries[0], (BlockioEntry{{}, {.weight = 50}}));
  EXPECT_THAT(slow->entries[1].devices, ElementsAre("/dev/sd*", "/dev/disk/by-id/*SSD*"));
  EXPECT_EQ(slow->entries[1].limits, (BlockioLimits{.read_bps = 50000000,
                                                    .write_bps = 536870912,
                                                    .read_iops = 10000,
                                                    .write_iops = 0,
                                                    .weight = 20}));
}

TEST(BlockioConfig, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(EntryError("{Weight: 5}"),
            "io.yaml:4:14: Classes.slow[0].Weight: is 5, must be from 10 to 1000");
  EXPECT_THAT(EntryError("{Weight: 1001}"), HasSubstr("must be from 10 to 1000"));
  EXPECT_THAT(EntryError("{Weight: heavy}"), HasSubstr("io.yaml:4:14: Classes.slow[0].Weight"));
  EXPECT_THAT(EntryError("{Devices: [/dev/sda], ThrottleReadBps: -1}"),
              HasSubstr("ThrottleReadBps: is -1, must be from 0 to"));
  EXPECT_THAT(EntryError("{Devices: [/dev/sda], ThrottleReadBps: 1}"),
              HasSubstr("must be 0 (unlimited) or at least 2 with cgroup v2"));
  EXPECT_THAT(EntryError("{ThrottleReadBps: 1M}"), HasSubstr("throttles need \"Devices\""));
  EXPECT_THAT(EntryError("{Devices: /dev/sda, Weight: 20}"), HasSubstr("must be a list"));
  EXPECT_THAT(EntryError("{Wieght: 20}"), HasSubstr("did you mean \"Weight\"?"));
  EXPECT_THAT(EntryError("fast"), HasSubstr("must be a mapping"));
}

TEST(BlockioConfig, SaysWhatIsWrongWithTheWhole) {
  EXPECT_THAT(BlockioErrorOf("Clases: {}"), HasSubstr("did you mean \"Classes\"?"));
  EXPECT_THAT(BlockioErrorOf("Classes: {\"a\\tb\": []}"),
              HasSubstr("the class name \"a\\tb\" has a control character"));
  EXPECT_THAT(BlockioErrorOf("Classes: [a]"), HasSubstr("must be a mapping"));
  EXPECT_THAT(BlockioErrorOf("Classes: {a: 5}"), HasSubstr("Classes.a: must be a list"));
  EXPECT_THAT(BlockioErrorOf("Classes: {a: [], a: []}"), HasSubstr("\"a\" is there twice"));
  EXPECT_THAT(BlockioErrorOf("Classes: {a: ["), HasSubstr("not valid YAML"));
}

TEST(BlockioConfig, PatternsAreLookedForUpToAThousand) {
  const auto with = [](int patterns) {
    std::string text = "Classes:\n  many:\n  - ThrottleReadBps: 1M\n    Devices:\n";
    for (int i = 0; i < patterns; ++i) text += "    - /dev/sda\n";
    return ParseBlockioConfig(text, "f", /*v2=*/true).status();
  };
  EXPECT_TRUE(with(1000).ok()) << with(1000);
  EXPECT_TRUE(absl::IsInvalidArgument(with(1001)));
  EXPECT_THAT(with(1001).message(), HasSubstr("has 1001 device patterns; at most 1000"));
}

TEST(BlockioConfig, AFileIsReadByAbsolutePath) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("io.yaml", "Classes: {a: []}\n").ok());
  EXPECT_TRUE(LoadBlockioConfig(dir.root(), "/io.yaml", /*v2=*/true).ok());
  const auto missing = LoadBlockioConfig(dir.root(), "/none.yaml", /*v2=*/true);
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr(dir.path() + "/none.yaml"));
  EXPECT_TRUE(
      absl::IsInvalidArgument(LoadBlockioConfig(dir.root(), "io.yaml", /*v2=*/true).status()));
}

}  // namespace
}  // namespace plimsoll::qos
