#include "pod_runner/pod_files/termination_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::pod {
namespace {

using ::testing::HasSubstr;

class TerminationMessageTest : public ::testing::Test {
 protected:
  TerminationMessageTest() { container_.name = "main"; }
  void Make(std::optional<uint32_t> last = std::nullopt) {
    const absl::Status made = MakeTerminationLog(dir_.root(), "/pod", "main", last);
    ASSERT_TRUE(made.ok()) << made;
  }
  // Writes as a container does: into the file that is there.
  void Write(const std::string& text) {
    ASSERT_TRUE(dir_.root().Write("/pod/termination/main", text).ok());
  }
  std::string Message(uint32_t attempt, int exit_code = 0) {
    return TerminationMessage(dir_.root(), "/pod", {container_, attempt, exit_code, "/main.log"});
  }
  void Log(int lines, const std::string& text) {
    std::string log;
    for (int i = 0; i < lines; ++i) {
      absl::StrAppend(&log, "2025-01-01T00:00:00.000000001Z stdout F ", text, i, "\n");
    }
    ASSERT_TRUE(dir_.root().ReplaceFile("/main.log", log).ok());
  }

  TestDir dir_;
  ContainerManifest container_;
};

TEST_F(TerminationMessageTest, TheFileIsTheMessageAndAnyUserMayWriteIt) {
  Make();
  const auto info = dir_.root().Stat("/pod/termination/main");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->st_mode & 0777, 0666u);
  EXPECT_EQ(Message(0), "");
  Write("out of tapes");
  EXPECT_EQ(Message(0), "out of tapes");
}

TEST_F(TerminationMessageTest, TheRunBeforeKeepsItsMessage) {
  Make();
  Write("zero");
  Make(0);
  // A creation that failed is tried again.
  Make(0);
  Write("one");
  EXPECT_EQ(Message(0), "zero");
  EXPECT_EQ(Message(1), "one");
  Make(1);
  Write("two");
  EXPECT_EQ(Message(0), "");
  EXPECT_EQ(Message(1), "one");
  EXPECT_EQ(Message(2), "two");
  EXPECT_EQ(dir_.root().List("/pod/termination")->size(), 2u);
}

TEST_F(TerminationMessageTest, TheLogSpeaksForAFailureWithoutAFile) {
  Make();
  Log(100, "line ");
  EXPECT_EQ(Message(0, 1), "") << "policy File";
  container_.termination_message_policy = "FallbackToLogsOnError";
  EXPECT_EQ(Message(0, 0), "") << "no error";
  const std::string end = Message(0, 1);
  EXPECT_EQ(end.substr(0, 8), "line 20\n");
  EXPECT_THAT(end, HasSubstr("line 99\n"));
  Log(100, std::string(100, 'x'));
  EXPECT_EQ(Message(0, 1).size(), kTerminationLogBytes);
  Write("said so");
  EXPECT_EQ(Message(0, 1), "said so");
}

TEST_F(TerminationMessageTest, OnlyTheEndOfALongFileIsRead) {
  Make();
  Write(absl::StrCat("start", std::string(2 * kTerminationMessageBytes, 'x'), "end"));
  const std::string message = Message(0);
  EXPECT_EQ(message.size(), kTerminationMessageBytes);
  EXPECT_EQ(message.substr(message.size() - 4), "xend");
  // The cut goes through a character of three bytes.
  std::string text;
  for (size_t i = 0; i < kTerminationMessageBytes; ++i) text += "€";
  Write(text);
  EXPECT_EQ(Message(0).substr(0, 3), "€");
}

TEST_F(TerminationMessageTest, BytesBecomeText) {
  Make();
  Write(std::string("a\xff\xc3(\xed\xa0\x80z", 8));
  const std::string message = Message(0);
  EXPECT_EQ(message.substr(0, 4), "a\xef\xbf\xbd");
  EXPECT_EQ(message.back(), 'z');
  Write(std::string(kTerminationMessageBytes, '\xff'));
  EXPECT_LE(Message(0).size(), kTerminationMessageBytes);
}

TEST_F(TerminationMessageTest, WhatIsNoFileIsNotRead) {
  Make();
  ASSERT_TRUE(dir_.root().ReplaceFile("/secret", "hush").ok());
  ASSERT_TRUE(dir_.root().RemoveFile("/pod/termination/main").ok());
  const std::string path = dir_.root().PathOf("pod/termination/main");
  ASSERT_EQ(symlink("/secret", path.c_str()), 0);
  EXPECT_THAT(Message(0), HasSubstr("Error on reading termination log"));
  EXPECT_THAT(Message(0), ::testing::Not(HasSubstr("hush")));
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(Message(0), HasSubstr("is a FIFO"));
  ASSERT_EQ(unlink(path.c_str()), 0);
  EXPECT_EQ(Message(0), "");
}

TEST(ClipTextTest, WholeCharactersStay) {
  EXPECT_EQ(ClipText("a€b", 9), "a€b");
  EXPECT_EQ(ClipText("a€b", 4), "a€");
  EXPECT_EQ(ClipText("a€b", 3), "a");
  EXPECT_EQ(ClipText("€", 0), "");
}

}  // namespace
}  // namespace plimsoll::pod
