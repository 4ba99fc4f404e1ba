#include "runtime/objects/handler_turns.h"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "absl/synchronization/notification.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;

class HandlerTurnsTest : public ::testing::Test {
 protected:
  const std::shared_ptr<HandlerTurns> turns_ = std::make_shared<HandlerTurns>("pod");
};

TEST_F(HandlerTurnsTest, OneAtATime) {
  std::optional<HandlerTurn> first;
  first.emplace(turns_, "web");
  EXPECT_TRUE(first->status().ok());
  std::atomic<bool> done = false;
  absl::Notification second_has_it;
  std::thread second([&] {
    const HandlerTurn turn(turns_, "job");
    EXPECT_TRUE(done) << "while another has it";
    EXPECT_TRUE(turn.status().ok());
    second_has_it.Notify();
  });
  EXPECT_FALSE(second_has_it.WaitForNotificationWithTimeout(absl::Milliseconds(20)));
  done = true;
  first.reset();
  second_has_it.WaitForNotification();
  second.join();
}

TEST_F(HandlerTurnsTest, WhoeverHasItIsToldAndItsNeighbourIsNot) {
  HandlerTurn turn(turns_, "web");
  {
    const CallOff other(turns_, "job");
    EXPECT_TRUE(turn.status().ok());
  }
  { const CallOff own(turns_, "web"); }
  EXPECT_TRUE(turn.cancellation()->cancelled());
  EXPECT_TRUE(absl::IsFailedPrecondition(turn.status()));
  EXPECT_THAT(turn.status().message(), HasSubstr("is being stopped or removed"));
}

TEST_F(HandlerTurnsTest, WhoeverWaitsDoesNotAnyMore) {
  const HandlerTurn turn(turns_, "web");
  std::thread waiting([&] {
    const HandlerTurn called_off(turns_, "job");
    EXPECT_TRUE(absl::IsFailedPrecondition(called_off.status()));
  });
  const CallOff call_off(turns_, "job");
  waiting.join();
  EXPECT_TRUE(turn.status().ok());
}

TEST_F(HandlerTurnsTest, ThePodsIsThatOfAllInIt) {
  HandlerTurn turn(turns_, "web");
  const CallOff pod(turns_, "pod");
  EXPECT_TRUE(turn.cancellation()->cancelled());
  EXPECT_FALSE(HandlerTurn(turns_, "job").status().ok());
  EXPECT_FALSE(HandlerTurn(turns_, "pod").status().ok());
}

TEST_F(HandlerTurnsTest, AContainersIsNotItsPods) {
  HandlerTurn turn(turns_, "pod");
  const CallOff call_off(turns_, "web");
  EXPECT_TRUE(turn.status().ok());
}

// A removal cancels turns, and so does the stop that it begins with.
TEST_F(HandlerTurnsTest, ItEndsWithTheLast) {
  std::optional<CallOff> outer;
  outer.emplace(turns_, "web");
  { const CallOff inner(turns_, "web"); }
  EXPECT_FALSE(HandlerTurn(turns_, "web").status().ok());
  outer.reset();
  EXPECT_TRUE(HandlerTurn(turns_, "web").status().ok());
}

TEST_F(HandlerTurnsTest, WhoeverIsToldCanBeWaitedFor) {
  absl::Notification has_it;
  std::atomic<bool> has_ended = false;
  std::thread holder([&] {
    HandlerTurn turn(turns_, "pod");
    has_it.Notify();
    EXPECT_TRUE(WaitUntil([&] { return turn.cancellation()->cancelled(); }));
    has_ended = true;
  });
  has_it.WaitForNotification();
  {
    const CallOff call_off(turns_, "pod");
    call_off.AwaitEnd();
    EXPECT_TRUE(has_ended);
    call_off.AwaitEnd();  // no turn is held
  }
  holder.join();
  // AwaitEnd doesn't wait for a turn that may go on either.
  const HandlerTurn turn(turns_, "job");
  CallOff(turns_, "web").AwaitEnd();
  EXPECT_TRUE(turn.status().ok());
}

TEST_F(HandlerTurnsTest, OfNothingNothingIsCalledOff) {
  const CallOff call_off(nullptr, "web");
  call_off.AwaitEnd();
  EXPECT_TRUE(HandlerTurn(turns_, "web").status().ok());
}

}  // namespace
}  // namespace plimsoll::runtime
