#include "base/connection.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() : stop_(eventfd(0, EFD_CLOEXEC)) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    peer_ = UniqueFd(ends[1]);
    connection_.emplace(UniqueFd(ends[0]), stop_.get());
  }
  void Stop() {
    const uint64_t one = 1;
    EXPECT_EQ(write(stop_.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
  }

  const UniqueFd stop_;
  UniqueFd peer_;
  std::optional<Connection> connection_;
};

TEST_F(ConnectionTest, ReceivesWhatComesAndItsEnd) {
  ASSERT_EQ(write(peer_.get(), "abc", 3), 3);
  std::string text = "x";
  EXPECT_TRUE(connection_->Receive(kNever, &text).ok());
  EXPECT_EQ(text, "xabc");
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(connection_->Receive(SteadyAfter(absl::Milliseconds(20)), &text)));
  peer_.Reset();
  EXPECT_TRUE(absl::IsOutOfRange(connection_->Receive(kNever, &text)));
  EXPECT_EQ(text, "xabc");
}

TEST_F(ConnectionTest, APeerThatReadsNothingIsGivenUp) {
  const std::string much(4 * 1024 * 1024, 'x');
  EXPECT_TRUE(absl::IsDeadlineExceeded(connection_->Send(much, absl::Milliseconds(50))));
  peer_.Reset();
  EXPECT_TRUE(absl::IsUnavailable(connection_->Send(much, absl::Seconds(10)))) << "no SIGPIPE";
}

TEST_F(ConnectionTest, AStopEndsEveryWait) {
  std::thread stopper([this] {
    absl::SleepFor(absl::Milliseconds(50));
    Stop();
  });
  std::string text;
  EXPECT_TRUE(absl::IsCancelled(connection_->Receive(kNever, &text)));
  EXPECT_TRUE(absl::IsCancelled(connection_->Rest(absl::InfiniteDuration())));
  EXPECT_TRUE(absl::IsCancelled(connection_->Send("x", absl::InfiniteDuration())));
  stopper.join();
}

TEST_F(ConnectionTest, ARestEndsWhenThePeerHasClosed) {
  EXPECT_TRUE(connection_->Rest(absl::Milliseconds(10)).ok());
  ASSERT_EQ(write(peer_.get(), "more", 4), 4);
  EXPECT_TRUE(connection_->Rest(absl::Milliseconds(10)).ok()) << "what has come is no end";
  ASSERT_EQ(shutdown(peer_.get(), SHUT_WR), 0);
  EXPECT_TRUE(connection_->Rest(absl::Milliseconds(10)).ok()) << "it still listens";
  peer_.Reset();
  EXPECT_TRUE(absl::IsUnavailable(connection_->Rest(absl::InfiniteDuration())));
}

TEST_F(ConnectionTest, WhatHasComeIsThereAfterRefuseMore) {
  ASSERT_EQ(write(peer_.get(), "abc", 3), 3);
  connection_->RefuseMore();
  EXPECT_EQ(send(peer_.get(), "d", 1, MSG_NOSIGNAL), -1);
  std::string text;
  EXPECT_TRUE(connection_->Receive(kNever, &text).ok());
  EXPECT_EQ(text, "abc");
  EXPECT_TRUE(connection_->Send("answer", absl::Seconds(10)).ok());
}

TEST_F(ConnectionTest, FinishWaitsForASilentPeerNoLongerThanItsPatience) {
  const SteadyTime begin = SteadyNow();
  connection_->Finish(absl::Milliseconds(50));
  EXPECT_LT(absl::FromChrono(SteadyNow() - begin), absl::Seconds(10));
  char byte;
  EXPECT_EQ(read(peer_.get(), &byte, 1), 0) << "the peer sees the end";
}

TEST(ConnectToSocketTest, NobodyThereIsNotFound) {
  const TestDir dir;
  EXPECT_TRUE(absl::IsNotFound(ConnectToSocket(dir.path() + "/s").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ConnectToSocket("/" + std::string(200, 'x')).status()));
}

}  // namespace
}  // namespace plimsoll
