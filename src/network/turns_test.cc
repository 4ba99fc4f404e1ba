#include "network/turns.h"

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::network {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TurnsTest, ContainersAreSideBySide) {
  Turns turns;
  const Turns::Turn first = turns.Take("a");
  const Turns::Turn second = turns.Take("b");  // would never return otherwise
}

TEST(TurnsTest, OneForAllIsAlone) {
  Turns turns;
  std::optional<Turns::Turn> first = turns.Take("a");
  const auto refused = turns.TakeAll(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsUnavailable(refused.status())) << refused.status();
  EXPECT_THAT(refused.status().message(), HasSubstr("under way for 1 pods"));
  const Turns::Turn second = turns.Take("b");  // a refused turn for all must not block this
  first.reset();
  EXPECT_TRUE(absl::IsUnavailable(turns.TakeAll(absl::ZeroDuration()).status()));
}

TEST(TurnsTest, AContainersNextWaitsForTheOneBefore) {
  Turns turns;
  std::vector<std::string> order;  // guarded by the turn
  std::optional<Turns::Turn> first = turns.Take("a");
  std::thread next([&] {
    const Turns::Turn turn = turns.Take("a");
    order.push_back("next");
  });
  order.push_back("first");
  first.reset();
  next.join();
  EXPECT_THAT(order, ElementsAre("first", "next"));
}

TEST(TurnsTest, AContainersWaitsForThatOfAll) {
  Turns turns;
  std::vector<std::string> order;
  std::optional<Turns::Turn> all;
  {
    auto taken = turns.TakeAll(absl::ZeroDuration());
    ASSERT_TRUE(taken.ok()) << taken.status();
    all.emplace(*std::move(taken));
  }
  std::thread next([&] {
    const Turns::Turn turn = turns.Take("a");
    order.push_back("one");
  });
  order.push_back("all");
  all.reset();
  next.join();
  EXPECT_THAT(order, ElementsAre("all", "one"));
  EXPECT_TRUE(turns.TakeAll(absl::ZeroDuration()).ok());
}

}  // namespace
}  // namespace plimsoll::network
