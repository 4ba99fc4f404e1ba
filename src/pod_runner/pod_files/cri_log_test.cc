#include "pod_runner/pod_files/cri_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "pod_runner/pod_files/log_tail.h"

namespace plimsoll::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kTime[] = "2026-11-21T00:17:09.669794202Z";

std::string Entry(const char* stream, const char* tag, const std::string& text) {
  return absl::StrCat(kTime, " ", stream, " ", tag, " ", text, "\n");
}

TEST(CriLog, ParsesALine) {
  const std::string line = absl::StrCat(kTime, " stderr P some  text ");
  const auto record = ParseLogLine(line);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->stream, LogStream::kStderr);
  EXPECT_TRUE(record->partial);
  EXPECT_EQ(std::string(record->text), "some  text ");
  EXPECT_EQ(absl::FormatTime("%E9S", record->time, absl::UTCTimeZone()), "09.669794202");
  EXPECT_FALSE(ParseLogLine(absl::StrCat(kTime, " stdout F:extra x"))->partial);
  EXPECT_EQ(std::string(ParseLogLine(absl::StrCat(kTime, " stdout F"))->text), "");
  EXPECT_TRUE(ParseLogLine("2026-11-21T01:17:09.669794202+01:00 stdout F x").has_value());
}

TEST(CriLog, RefusesOtherLines) {
  for (const char* line : {"", "hello", "2026-11-21 stdout F x", "stdout F x"}) {
    EXPECT_FALSE(ParseLogLine(line).has_value()) << line;
  }
  EXPECT_FALSE(ParseLogLine(absl::StrCat(kTime, " stdin F x")).has_value());
  EXPECT_FALSE(ParseLogLine(absl::StrCat(kTime, " stdout X x")).has_value());
  EXPECT_FALSE(ParseLogLine(absl::StrCat(kTime, " stdout")).has_value());
}

// A pod that mounts the directory of logs may put anything there.
TEST(CriLog, NoLinkIsFollowedAndNoFifoWaitedFor) {
  const TestDir dir;
  const FsRoot root = *FsRoot::Open("/");
  const std::string secret = dir.path() + "/secret";
  ASSERT_TRUE(root.ReplaceFile(secret, Entry("stdout", "F", "the host's")).ok());
  ASSERT_EQ(symlink(secret.c_str(), (dir.path() + "/link").c_str()), 0);
  ASSERT_EQ(mkfifo((dir.path() + "/fifo").c_str(), 0600), 0);
  std::vector<std::string> lines;
  const auto keep = [&lines](const LogLine& line) { lines.push_back(line.text); };
  const auto any = [](absl::Time) { return true; };
  for (const char* name : {"/link", "/fifo"}) {
    const std::string path = dir.path() + name;
    LogReader(root, path).Poll(keep).status().IgnoreError();
    LogReader reader(root, path);
    absl::StatusOr<LogTail> tail = FindTail(root, path, 10, /*flush=*/true, any);
    if (!tail.ok()) continue;
    ReadTail(*std::move(tail), 10, /*flush=*/true, any, reader, keep).IgnoreError();
  }
  EXPECT_THAT(lines, IsEmpty());
}

class LogReaderTest : public ::testing::Test {
 protected:
  LogReaderTest() : reader_(*FsRoot::Open("/"), dir_.path() + "/c.log") {}

  void Append(const std::string& text, const std::string& file = "c.log") {
    FILE* out = std::fopen((dir_.path() + "/" + file).c_str(), "a");
    ASSERT_NE(out, nullptr);
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
  }
  std::vector<std::string> Poll() {
    std::vector<std::string> lines;
    const auto polled = reader_.Poll([&](const LogLine& line) { lines.push_back(line.text); });
    EXPECT_TRUE(polled.ok()) << polled.status();
    return lines;
  }

  TestDir dir_;
  LogReader reader_;
};

TEST_F(LogReaderTest, WaitsForTheFileAndForWholeLines) {
  EXPECT_THAT(Poll(), IsEmpty());
  Append(Entry("stdout", "F", "one") + std::string(kTime) + " stdout F tw");
  EXPECT_THAT(Poll(), ElementsAre("one"));
  Append("o\n");
  EXPECT_THAT(Poll(), ElementsAre("two"));
  EXPECT_THAT(Poll(), IsEmpty());
}

TEST_F(LogReaderTest, JoinsPiecesOfEachStream) {
  Append(Entry("stdout", "P", "out-") + Entry("stderr", "P", "err-"));
  EXPECT_THAT(Poll(), IsEmpty());
  Append(Entry("stdout", "F", "end") + Entry("stderr", "F", "end"));
  EXPECT_THAT(Poll(), ElementsAre("out-end", "err-end"));
}

TEST_F(LogReaderTest, FlushGivesWhatNeverEnded) {
  Append(Entry("stdout", "P", "half"));
  EXPECT_THAT(Poll(), IsEmpty());
  std::vector<LogLine> lines;
  reader_.Flush([&](const LogLine& line) { lines.push_back(line); });
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0].text, "half");
  EXPECT_TRUE(lines[0].unfinished);
}

TEST_F(LogReaderTest, FollowsRotationWithoutLosingALine) {
  Append(Entry("stdout", "F", "one"));
  EXPECT_THAT(Poll(), ElementsAre("one"));
  // Written to the old file after the reader's last look, then renamed away.
  Append(Entry("stdout", "F", "two") + Entry("stdout", "P", "three-"));
  ASSERT_EQ(std::rename((dir_.path() + "/c.log").c_str(), (dir_.path() + "/c.log.1").c_str()), 0);
  EXPECT_THAT(Poll(), ElementsAre("two"));
  Append(Entry("stdout", "F", "four"), "c.log.1");
  Append(Entry("stdout", "F", "five"));
  EXPECT_THAT(Poll(), ElementsAre("three-four", "five"));
}

TEST_F(LogReaderTest, StartsOverWhenTheFileIsCut) {
  Append(Entry("stdout", "F", "a long first line"));
  EXPECT_THAT(Poll(), ElementsAre("a long first line"));
  ASSERT_EQ(truncate((dir_.path() + "/c.log").c_str(), 0), 0);
  Append(Entry("stdout", "F", "b"));
  EXPECT_THAT(Poll(), ElementsAre("b"));
}

TEST_F(LogReaderTest, EndlessLinesComeInParts) {
  const std::string piece(64 * 1024, 'x');
  for (int i = 0; i < 17; ++i) Append(Entry("stdout", "P", piece));
  EXPECT_EQ(Poll().size(), 1);
}

TEST_F(LogReaderTest, AWriterThatIsFasterDoesNotKeepIt) {
  const std::string entry = Entry("stdout", "F", std::string(10'000, 'x'));
  Append(entry);
  uint64_t lines = 0;
  const auto one_more = [&](const LogLine&) {
    ++lines;
    Append(entry);
    Append(entry);
  };
  const auto more = reader_.Poll(one_more);
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_TRUE(*more);
  EXPECT_LE(lines * entry.size(), LogReader::kMaxPollBytes);
  const uint64_t there = 2 * lines + 1;
  const absl::Status all = reader_.ReadAll(one_more);
  EXPECT_TRUE(all.ok()) << all;
  EXPECT_GE(lines, there) << "all that was there";
}

TEST_F(LogReaderTest, WhatIsLongerThanAPollComesWhole) {
  std::string text;
  while (text.size() < 3 * LogReader::kMaxPollBytes) {
    text += Entry("stdout", "F", std::string(1000, 'x'));
  }
  const size_t entries = text.size() / Entry("stdout", "F", std::string(1000, 'x')).size();
  Append(text);
  EXPECT_LT(Poll().size(), entries);
  // Renamed away before the reader had read all of it.
  ASSERT_EQ(std::rename((dir_.path() + "/c.log").c_str(), (dir_.path() + "/c.log.1").c_str()), 0);
  Append(Entry("stdout", "F", "new"));
  size_t rest = 0;
  std::string last;
  const absl::Status all = reader_.ReadAll([&](const LogLine& line) {
    ++rest;
    last = line.text;
  });
  EXPECT_TRUE(all.ok()) << all;
  EXPECT_EQ(last, "new");
  EXPECT_GT(rest, 1u);
  EXPECT_LT(rest, entries);
}

TEST_F(LogReaderTest, SkipsGarbage) {
  Append(std::string("garbage\n\0\n", 10) + Entry("stdout", "F", "fine"));
  EXPECT_THAT(Poll(), ElementsAre("fine"));
}

// A crash of the machine may leave zeros at the end of a file.
TEST_F(LogReaderTest, SkipsALongHole) {
  Append(Entry("stdout", "F", "before"));
  ASSERT_EQ(truncate((dir_.path() + "/c.log").c_str(), off_t{256} << 20), 0);
  Append("\n" + Entry("stdout", "F", "behind"));
  std::vector<std::string> lines;
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(reader_.ReadAll([&](const LogLine& line) { lines.push_back(line.text); }).ok());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20)) << "each byte is looked at once";
  EXPECT_THAT(lines, ElementsAre("before", "behind"));
}

}  // namespace
}  // namespace plimsoll::pod
