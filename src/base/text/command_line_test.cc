#include "base/text/command_line.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A program with a flag, a hidden flag, and a subcommand with a flag.
class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() {
    app_.set_version_flag("--version", "sail 1.2");
    app_.fallthrough();
    app_.add_option("--log-level", level_)->check(CLI::IsMember({"info", "debug"}));
    app_.add_option("--ready-fd", fd_)->group("");
    CLI::App* const hoist = app_.add_subcommand("hoist", "Raise a sail");
    hoist->add_flag("--storm", storm_);
    app_.add_subcommand("secret")->group("");
  }

  std::optional<EarlyExit> Parse(std::vector<const char*> words) {
    words.insert(words.begin(), "/usr/bin/sail");
    return ParseCommandLine(app_, static_cast<int>(words.size()), words.data());
  }
  // The text of a mistake.
  std::string Wrong(const std::vector<const char*>& words) {
    const std::optional<EarlyExit> exit = Parse(words);
    if (!exit.has_value()) return "parsed";
    EXPECT_EQ(exit->code, 2);
    return exit->text;
  }

  CLI::App app_{"Sets sails.", "sail"};
  std::string level_;
  int fd_ = -1;
  bool storm_ = false;
};

TEST_F(CommandLineTest, WhatIsRightIsParsed) {
  EXPECT_FALSE(Parse({"hoist", "--storm", "--log-level", "debug"}).has_value());
  EXPECT_TRUE(storm_);
  EXPECT_EQ(level_, "debug");
}

TEST_F(CommandLineTest, HelpAndVersionAreNoMistakes) {
  const auto help = Parse({"--help"});
  ASSERT_TRUE(help.has_value());
  EXPECT_EQ(help->code, 0);
  EXPECT_THAT(help->text, AllOf(HasSubstr("--log-level"), Not(HasSubstr("--ready-fd"))));
  const auto of_hoist = Parse({"hoist", "--help"});
  ASSERT_TRUE(of_hoist.has_value());
  EXPECT_EQ(of_hoist->code, 0);
  EXPECT_THAT(of_hoist->text, HasSubstr("--storm"));
  const auto version = Parse({"--version"});
  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(version->code, 0);
  EXPECT_EQ(version->text, "sail 1.2\n");
}

TEST_F(CommandLineTest, MistakesNameTheRightSpelling) {
  EXPECT_EQ(Wrong({"--log-levl=debug"}),
            "sail: unknown flag --log-levl=debug; did you mean --log-level?\nTry sail --help\n");
  EXPECT_EQ(Wrong({"hosit"}),
            "sail: unexpected argument hosit; did you mean hoist?\nTry sail --help\n");
  EXPECT_EQ(Wrong({"hoist", "--strom"}),
            "sail: unknown flag --strom; did you mean --storm?\nTry sail --help\n");
  EXPECT_THAT(Wrong({"hoist", "--log-lvel", "debug"}), HasSubstr("did you mean --log-level?"));
  EXPECT_EQ(Wrong({"--nothing-like-it"}),
            "sail: unknown flag --nothing-like-it\nTry sail --help\n");
}

TEST_F(CommandLineTest, HiddenNamesAreNotTold) {
  EXPECT_THAT(Wrong({"--ready-fdd", "3"}), Not(HasSubstr("did you mean")));
  EXPECT_THAT(Wrong({"secrte"}), Not(HasSubstr("did you mean")));
}

TEST_F(CommandLineTest, ABadValueIsToldWithItsFlag) {
  EXPECT_THAT(Wrong({"--log-level", "loud"}),
              AllOf(HasSubstr("--log-level"), HasSubstr("loud"), HasSubstr("Try sail --help")));
  EXPECT_THAT(Wrong({"--log-level"}), HasSubstr("--log-level"));
  EXPECT_THAT(Wrong({"--log-level", "debgu"}), HasSubstr("; did you mean debug?\n"));
  EXPECT_THAT(Wrong({"--log-level", "loud"}), Not(HasSubstr("did you mean")));
}

TEST(ClosestValueTest, OnlyMessagesOfOneOfSeveralNameOne) {
  EXPECT_EQ(ClosestValue("--output: josn not in {table,json}"), "json");
  EXPECT_EQ(ClosestValue("--output: a not in {b} jso not in {table,json}"), "");
  EXPECT_EQ(ClosestValue("--output: xml not in {table,json}"), "");
  EXPECT_EQ(ClosestValue("jsn not in {table,json}"), "");
  EXPECT_EQ(ClosestValue("--output: 1 arguments required"), "");
  EXPECT_EQ(ClosestValue("--x: y not in {"), "");
  EXPECT_EQ(ClosestValue(""), "");
}

TEST_F(CommandLineTest, LongAndUnprintableWordsStayShort) {
  const std::string word = absl::StrCat("\x1b[2J", std::string(100'000, 'x'));
  const std::string text = Wrong({word.c_str()});
  EXPECT_THAT(text, AllOf(HasSubstr("\\x1b[2J"), Not(HasSubstr("\x1b"))));
  EXPECT_LT(text.size(), 400u);
}

TEST(LeaveTest, MistakesGoToStandardError) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(Leave({2, "wrong\n"}), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "wrong\n");
}

// While it lives, writes to standard output fail: the disk is full.
class FullStandardOutput {
 public:
  FullStandardOutput() {
    std::fflush(stdout);
    const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    dup2(full.get(), STDOUT_FILENO);
  }
  ~FullStandardOutput() {
    __fpurge(stdout);  // what could not be written
    std::clearerr(stdout);
    dup2(before_.get(), STDOUT_FILENO);
  }
  FullStandardOutput(const FullStandardOutput&) = delete;
  FullStandardOutput& operator=(const FullStandardOutput&) = delete;

 private:
  const UniqueFd before_{fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)};
};

// In this process: the reaper of other tests' children would take the end of a death test's.
TEST(LeaveTest, HelpThatCannotBeWrittenIsAFailure) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(Leave({0, "help\n"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "help\n");
  testing::internal::CaptureStderr();
  int code = 0;
  {
    const FullStandardOutput full;
    code = Leave({0, "help\n"});
  }
  EXPECT_EQ(code, 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "can't write to standard output: No space left on device\n");
}

}  // namespace
}  // namespace plimsoll
