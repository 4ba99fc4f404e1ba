#include "pod_runner/pod_files/log_tail.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

std::string LogEntry(int second, const char* stream, const char* tag, const std::string& text) {
  const absl::Time time = kStart + absl::Seconds(second);
  return absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E9SZ", time, absl::UTCTimeZone()), " ",
                      stream, " ", tag, " ", text, "\n");
}

bool Any(absl::Time /*time*/) {
  return true;
}

class LogTailTest : public ::testing::Test {
 protected:
  void Append(const std::string& text) {
    FILE* out = std::fopen(path_.c_str(), "a");
    ASSERT_NE(out, nullptr);
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
  }
  std::vector<std::string> All(const WantedTime& wanted) {
    std::vector<std::string> lines;
    const auto take = [&](const LogLine& line) {
      if (wanted(line.time)) lines.push_back(line.text);
    };
    LogReader reader(root_, path_);
    EXPECT_TRUE(reader.ReadAll(take).ok());
    reader.Flush(take);
    return lines;
  }
  std::vector<std::string> Last(uint64_t count, const WantedTime& wanted = Any) {
    std::vector<std::string> lines;
    auto tail = FindTail(root_, path_, count, /*flush=*/true, wanted);
    EXPECT_TRUE(tail.ok()) << tail.status();
    if (!tail.ok()) return lines;
    begin_ = tail->begin;
    const absl::Status read = ReadTail(*std::move(tail), count, /*flush=*/true, wanted, reader_,
                                       [&](const LogLine& line) { lines.push_back(line.text); });
    EXPECT_TRUE(read.ok()) << read;
    return lines;
  }

  TestDir dir_;
  const std::string path_ = dir_.path() + "/c.log";
  const FsRoot root_ = *FsRoot::Open("/");
  LogReader reader_{root_, path_};
  uint64_t begin_ = 0;  // where the last tail begins
};

TEST_F(LogTailTest, NoFileAndAnEmptyOneHaveNoLines) {
  EXPECT_THAT(Last(3), IsEmpty());
  Append("");
  EXPECT_THAT(Last(3), IsEmpty());
}

TEST_F(LogTailTest, TheReaderGoesOnBehindTheTail) {
  Append(LogEntry(1, "stdout", "F", "one") + LogEntry(2, "stdout", "F", "two"));
  EXPECT_THAT(Last(1), ElementsAre("two"));
  Append(LogEntry(3, "stdout", "F", "three"));
  std::vector<std::string> lines;
  ASSERT_TRUE(reader_.Poll([&](const LogLine& line) { lines.push_back(line.text); }).ok());
  EXPECT_THAT(lines, ElementsAre("three"));
}

TEST_F(LogTailTest, ALineThatBeganLongAgoIsCountedByItsBeginning) {
  Append(LogEntry(1, "stdout", "F", "first") + LogEntry(2, "stderr", "P", "long-"));
  for (int i = 0; i < 20; ++i) Append(LogEntry(10 + i, "stdout", "F", absl::StrCat(i)));
  Append(LogEntry(40, "stderr", "F", "line"));
  const auto early = [](absl::Time time) { return time < kStart + absl::Seconds(12); };
  EXPECT_THAT(Last(1, early), ElementsAre("long-line"));
  EXPECT_THAT(Last(4, early), ElementsAre("first", "0", "1", "long-line"));
}

// The tail of any log is the end of the whole.
TEST_F(LogTailTest, IsTheEndOfTheWhole) {
  std::mt19937 random(20);
  const auto below = [&random](unsigned most) { return random() % most; };
  for (int i = 0; i < 3000; ++i) {
    const char* stream = below(3) == 0 ? "stderr" : "stdout";
    const std::string text =
        absl::StrCat(i, std::string(below(10) == 0 ? below(40'000) : below(40), 'x'));
    if (below(50) == 0) Append(text + "\n");  // no record
    Append(LogEntry(i / 10, stream, below(4) == 0 ? "P" : "F", text));
  }
  Append(LogEntry(400, "stdout", "F", "cut").substr(0, 45));
  const auto some = [](absl::Time time) {
    return time > kStart + absl::Seconds(20) && time < kStart + absl::Seconds(200);
  };
  const std::vector<uint64_t> counts = {0, 1, 2, 7, 100, 1500, 5000};
  for (const WantedTime& wanted : {WantedTime(Any), WantedTime(some)}) {
    const std::vector<std::string> all = All(wanted);
    for (const uint64_t count : counts) {
      const auto keep = static_cast<std::ptrdiff_t>(std::min<size_t>(count, all.size()));
      EXPECT_EQ(Last(count, wanted), std::vector<std::string>(all.end() - keep, all.end()))
          << count;
    }
  }
}

// A reader from the start would keep the hole of zeros as one line.
TEST_F(LogTailTest, WhatIsLongBeforeIsNotRead) {
  constexpr uint64_t kHole = uint64_t{1} << 33;
  Append("\n");
  ASSERT_EQ(truncate(path_.c_str(), kHole), 0);
  Append("\n");
  std::vector<std::string> lines;
  for (int i = 0; i < 1000; ++i) {
    lines.push_back(absl::StrCat("line ", i));
    Append(LogEntry(i, "stdout", "F", lines.back()));
  }
  EXPECT_THAT(Last(2), ElementsAre("line 998", "line 999"));
  EXPECT_GT(begin_, kHole);
  EXPECT_EQ(Last(1000), lines);
}

}  // namespace
}  // namespace plimsoll::pod
