#include "service/log_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

class LogOutputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read_.Reset(ends[0]);
    write_.Reset(ends[1]);
    ASSERT_EQ(fcntl(read_.get(), F_SETFL, O_NONBLOCK), 0);
  }
  // The pipe's content.
  std::string Taken() {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = read(read_.get(), buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<size_t>(n));
    }
    return text;
  }
  LogOutput Output(absl::Duration patience = absl::Milliseconds(10)) {
    return LogOutput(
        write_.get(), [](uint64_t count) { return absl::StrCat(count, " lost"); }, patience);
  }

  UniqueFd read_;
  UniqueFd write_;
};

TEST_F(LogOutputTest, LinesComeAsTheyAre) {
  LogOutput output = Output();
  const std::string longer_than_a_page(10000, 'x');
  output.Write("first");
  output.Write(longer_than_a_page);
  EXPECT_EQ(Taken(), absl::StrCat("first\n", longer_than_a_page, "\n"));
}

// A pipe holds 64 KiB; it isn't read meanwhile.
TEST_F(LogOutputTest, WhatIsNotTakenStopsNobodyAndIsCounted) {
  LogOutput output = Output();
  const std::string line(1000, 'x');
  for (int i = 0; i < 200; ++i) output.Write(line);
  const std::string taken = Taken();
  EXPECT_EQ(taken.size() % (line.size() + 1), 0u) << "a short line is whole or not there";
  const size_t lines = taken.size() / (line.size() + 1);
  ASSERT_LT(lines, 200u);
  output.Write("next");
  EXPECT_EQ(Taken(), absl::StrCat(200 - lines, " lost\nnext\n"));
  output.Write("after");
  EXPECT_EQ(Taken(), "after\n");
}

TEST_F(LogOutputTest, WhatFollowsALineThatWasCutIsALineOfItsOwn) {
  LogOutput output = Output();
  output.Write(std::string(200000, 'x'));
  EXPECT_FALSE(absl::StrContains(Taken(), "\n"));
  output.Write("next");
  EXPECT_EQ(Taken(), "\n1 lost\nnext\n");
}

TEST_F(LogOutputTest, AReaderThatIsGoneIsNoHarm) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);  // as in the daemon
  read_.Reset();
  LogOutput output = Output(absl::InfiniteDuration());
  output.Write("into nothing");
  output.Write("and again");
  std::signal(SIGPIPE, before);
}

TEST_F(LogOutputTest, OnceStuckNoLineWaits) {
  LogOutput output = Output(absl::Seconds(1));
  const absl::Time begun = absl::Now();
  for (int i = 0; i < 1000; ++i) output.Write(std::string(1000, 'x'));
  EXPECT_LT(absl::Now() - begun, absl::Seconds(100)) << "one waits a second, not each of 900";
}

}  // namespace
}  // namespace plimsoll
