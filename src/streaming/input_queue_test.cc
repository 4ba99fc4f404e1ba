#include "streaming/input_queue.h"

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::streaming {
namespace {

class InputQueueTest : public ::testing::Test {
 protected:
  // Takes pieces until the input is over.
  asio::awaitable<void> Take() {
    for (;;) {
      std::string next = co_await queue_.Next();
      if (next.empty()) break;
      queue_.Passed(next.size());
      taken_.push_back(std::move(next));
    }
    over_ = true;
  }
  void SpawnTaker() {
    asio::co_spawn(io_, Take(), [](const std::exception_ptr&) {});
  }
  void RunAll() {
    io_.restart();
    io_.poll();
  }

  asio::io_context io_;
  InputQueue queue_{io_};
  std::vector<std::string> taken_;
  bool over_ = false;
};

TEST_F(InputQueueTest, PiecesComeInTheirOrderUntilTheEnd) {
  queue_.Add("a");
  SpawnTaker();
  RunAll();
  queue_.Add("b");
  queue_.Add("");
  RunAll();
  EXPECT_EQ(taken_, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(over_);
  queue_.Add("c");
  queue_.End();
  queue_.Add("late");
  RunAll();
  EXPECT_EQ(taken_, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(over_);
}

TEST_F(InputQueueTest, BytesAreCountedUntilTheyArePassedOn) {
  queue_.Add("abc");
  queue_.Add("de");
  EXPECT_EQ(queue_.bytes(), 5u);
  queue_.Passed(3);
  EXPECT_EQ(queue_.bytes(), 2u);
  queue_.Drop();
  EXPECT_EQ(queue_.bytes(), 0u);
  queue_.Passed(2);
  EXPECT_EQ(queue_.bytes(), 0u);
}

TEST_F(InputQueueTest, DroppedInputEndsTheTakerAndTakesNoMore) {
  SpawnTaker();
  RunAll();
  queue_.Drop();
  queue_.Add("late");
  RunAll();
  EXPECT_TRUE(over_);
  EXPECT_TRUE(taken_.empty());
  EXPECT_TRUE(queue_.dropped());
}

}  // namespace
}  // namespace plimsoll::streaming
