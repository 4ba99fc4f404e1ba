#include "service/logging.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const absl::Time kTime = absl::FromUnixMillis(1700000000123);

class FakeClock : public Clock {
 public:
  absl::Time Now() const override { return now; }
  absl::Time now = kTime;
};

TEST(FormatTest, Text) {
  EXPECT_EQ(FormatLogEntry(LogFormat::kText, kTime, LogLevel::kInfo, "pod \"a\" started",
                           {{"id", "ab12"}, {"image", "a b"}, {"empty", ""}}),
            "2023-11-14T22:13:20.123Z info    pod \"a\" started id=ab12 image=\"a b\" empty=\"\"");
}

TEST(FormatTest, Json) {
  EXPECT_EQ(FormatLogEntry(LogFormat::kJson, kTime, LogLevel::kError, "it \"broke\"",
                           {{"path", "/a"}, {"why", "no\tway"}}),
            "{\"time\":\"2023-11-14T22:13:20.123Z\",\"level\":\"error\",\"message\":\"it "
            "\\\"broke\\\"\",\"path\":\"/a\",\"why\":\"no\\tway\"}");
}

// A newline or an escape sequence in a client's name can't forge an entry.
TEST(FormatTest, AnEntryIsOneLineOfPrintableText) {
  const std::string hostile = "x\n2023 error forged\r\x1b[2J\x7f\xff\\\"";
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    const std::string line =
        FormatLogEntry(format, kTime, LogLevel::kInfo, hostile, {{"name", hostile}});
    for (const char c : line) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20) << line;
    EXPECT_THAT(line, HasSubstr("x\\n2023 error forged\\r\\u001b[2J"));
  }
}

TEST(LogTest, LevelDecides) {
  std::vector<std::string> lines;
  std::vector<LogLevel> levels;
  Log log(LogFormat::kText, LogLevel::kWarning, [&](LogLevel level, const std::string& line) {
    lines.push_back(line);
    levels.push_back(level);
  });
  log.Write(LogLevel::kInfo, "quiet");
  log.Write(LogLevel::kWarning, "loud {} %s");
  log.set_level(LogLevel::kDebug);
  EXPECT_EQ(log.level(), LogLevel::kDebug);
  log.Write(LogLevel::kDebug, "now too");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], HasSubstr("warning loud {} %s"));
  EXPECT_THAT(lines[1], HasSubstr("debug   now too"));
  EXPECT_THAT(levels, ElementsAre(LogLevel::kWarning, LogLevel::kDebug));
}

TEST(LogTest, AFloodIsBoundedAndSaysSo) {
  FakeClock clock;
  std::vector<std::string> lines;
  Log log(
      LogFormat::kText, LogLevel::kInfo,
      [&](LogLevel, const std::string& line) { lines.push_back(line); }, &clock);
  for (int i = 0; i < 1000; ++i) log.WriteLimited(LogLevel::kInfo, absl::StrCat("bad ", i));
  EXPECT_THAT(lines, SizeIs(200));
  log.Write(LogLevel::kInfo, "what we say ourselves is not held back");
  EXPECT_THAT(lines, SizeIs(201));
  clock.now += absl::Seconds(1);
  for (int i = 0; i < 1000; ++i) log.WriteLimited(LogLevel::kInfo, "more");
  ASSERT_THAT(lines, SizeIs(201 + 1 + 50));
  EXPECT_THAT(lines[201], HasSubstr("log entries left out, there were too many count=800"));
}

TEST(LogTest, ALevelThatIsOffUsesUpNothing) {
  FakeClock clock;
  int lines = 0;
  Log log(
      LogFormat::kText, LogLevel::kInfo, [&](LogLevel, const std::string&) { ++lines; }, &clock);
  for (int i = 0; i < 1000; ++i) log.WriteLimited(LogLevel::kDebug, "debug");
  log.WriteLimited(LogLevel::kInfo, "info");
  EXPECT_EQ(lines, 1);
}

TEST(LogTest, NamesAreParsed) {
  EXPECT_EQ(ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(ParseLogLevel("info"), LogLevel::kInfo);
  EXPECT_EQ(ParseLogLevel("warning"), LogLevel::kWarning);
  EXPECT_EQ(ParseLogLevel("error"), LogLevel::kError);
  EXPECT_EQ(ParseLogFormat("json"), LogFormat::kJson);
  EXPECT_EQ(ParseLogFormat("text"), LogFormat::kText);
}

}  // namespace
}  // namespace plimsoll
