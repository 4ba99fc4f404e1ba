#include "base/steady_news.h"

#include <thread>

#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(SteadyNewsTest, NewsSinceTheLookEndsTheWait) {
  SteadyNews news;
  const uint64_t seen = news.count();
  news.Tell();
  news.Await(seen, kNever);
  EXPECT_EQ(news.count(), seen + 1);
}

TEST(SteadyNewsTest, AWaitEndsAtItsTime) {
  const SteadyNews news;
  const SteadyTime until = SteadyAfter(absl::Milliseconds(5));
  news.Await(news.count(), until);
  EXPECT_GE(SteadyNow(), until);
}

TEST(SteadyNewsTest, AnotherThreadEndsTheWait) {
  SteadyNews news;
  std::thread teller([&] { news.Tell(); });
  news.Await(0, kNever);
  teller.join();
  EXPECT_EQ(news.count(), 1u);
}

}  // namespace
}  // namespace plimsoll
