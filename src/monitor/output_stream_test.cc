#include "monitor/output_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::monitor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OutputStreamTest : public ::testing::Test {
 protected:
  OutputStreamTest() : log_(std::make_unique<LogFile>()), stream_("stderr", log_.get()) {
    EXPECT_EQ(log_->Open((dir_.path() + "/log").c_str()), 0);
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    stream_.Read(fds[0]);
    writer_ = fds[1];
  }
  ~OutputStreamTest() override { CloseWriter(); }

  void Write(const std::string& text) {
    EXPECT_EQ(write(writer_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void CloseWriter() {
    if (writer_ >= 0) close(writer_);
    writer_ = -1;
  }
  // "F text" or "P text" for each entry.
  std::vector<std::string> Entries() const {
    std::vector<std::string> entries;
    const std::string text = dir_.root().Read("log", 8 << 20).value_or("");
    for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 2));
      EXPECT_EQ(words[1], "stderr");
      entries.push_back(words[2]);
    }
    return entries;
  }

  TestDir dir_;
  std::unique_ptr<LogFile> log_;
  OutputStream stream_;
  int writer_ = -1;
};

TEST_F(OutputStreamTest, TheFirstOfItIsKept) {
  EXPECT_STREQ(stream_.First(), "");
  Write("one\n");
  stream_.Pump();
  Write("two\n");
  stream_.Pump();
  EXPECT_STREQ(stream_.First(), "one\ntwo\n");
  Write(std::string(2 * kMaxStartError, 'x'));
  stream_.Finish();
  EXPECT_EQ(std::string(stream_.First()).size(), kMaxStartError - 1);
}

TEST_F(OutputStreamTest, LinesAreLoggedAsTheyAreComplete) {
  EXPECT_EQ(stream_.Pump(), 0u);
  Write("one\ntwo\nthr");
  EXPECT_EQ(stream_.Pump(), 11u);
  EXPECT_THAT(Entries(), ElementsAre("F one", "F two"));
  Write("ee\n\n");
  EXPECT_EQ(stream_.Pump(), 4u);
  EXPECT_THAT(Entries(), ElementsAre("F one", "F two", "F three", "F "));
}

TEST_F(OutputStreamTest, WhatHasNoNewlineAtTheEndIsPartial) {
  Write("one\ntail");
  CloseWriter();
  stream_.Finish();
  EXPECT_THAT(Entries(), ElementsAre("F one", "P tail"));
  EXPECT_EQ(stream_.fd(), -1);
}

TEST_F(OutputStreamTest, FinishDoesNotWaitForAWriterThatStays) {
  Write("one\n");
  stream_.Finish();
  EXPECT_THAT(Entries(), ElementsAre("F one"));
}

TEST_F(OutputStreamTest, LongLinesAreCut) {
  const std::string line(OutputStream::kMaxLine + 10, 'x');
  Write(line + "\nend\n");
  stream_.Pump();
  EXPECT_THAT(Entries(), ElementsAre("P " + line.substr(10), "F xxxxxxxxxx", "F end"));
}

// The log is the same whatever the sizes of the reads.
TEST_F(OutputStreamTest, NothingIsLostOrDoubledAtAnyBoundary) {
  std::string expected;
  std::string joined;
  for (size_t size = OutputStream::kMaxLine - 3; size <= OutputStream::kMaxLine + 3; ++size) {
    const std::string line = std::string(size, static_cast<char>('a' + size % 26)) + "\n";
    expected += line;
    for (size_t at = 0; at < line.size(); at += 4093) {
      Write(line.substr(at, 4093));
      stream_.Pump();
    }
  }
  for (const std::string& entry : Entries()) {
    joined += entry.substr(2);
    if (entry[0] == 'F') joined += "\n";
  }
  EXPECT_EQ(joined, expected);
}

TEST_F(OutputStreamTest, BytesThatAreNoTextPass) {
  Write(std::string("a\0b\r\xff\n", 6));
  stream_.Pump();
  EXPECT_THAT(Entries(), ElementsAre(std::string("F a\0b\r\xff", 7)));
}

TEST_F(OutputStreamTest, UnloggedIsWhatWasNotCutIntoLinesYet) {
  Write("the runtime's words");
  EXPECT_STREQ(stream_.Unlogged(), "the runtime's words");
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(OutputStreamTest, HeldOutputIsLoggedLaterAndBounded) {
  const std::string line(999, 'x');
  size_t sent = 0;
  for (int i = 0; i < 200; ++i) {
    Write(line + "\n");
    sent += line.size() + 1;
    stream_.Hold();
  }
  EXPECT_THAT(Entries(), IsEmpty());
  EXPECT_GE(stream_.fd(), 0);
  ASSERT_GT(sent, 4 * OutputStream::kMaxLine);
  stream_.LogHeld();
  const std::vector<std::string> entries = Entries();
  ASSERT_EQ(entries.size(), 65u) << "of what the buffer has room for";
  for (const std::string& entry : entries) EXPECT_EQ(entry, "F " + line);
  Write("after\n");
  stream_.Pump();
  EXPECT_EQ(Entries().size(), 66u);
  CloseWriter();
  stream_.Hold();
  EXPECT_EQ(stream_.fd(), -1);
}

}  // namespace
}  // namespace plimsoll::monitor
