#include "streaming/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace plimsoll::streaming {
namespace {

using ::testing::ElementsAre;

class TokensTest : public ::testing::Test {
 protected:
  void Pass(absl::Duration time) { now_ += absl::ToChronoNanoseconds(time); }

  Tokens::SteadyTime now_{std::chrono::hours(1)};
  Tokens tokens_{[this] { return now_; }};
};

TEST_F(TokensTest, GivesBackWhatWasAskedForOnce) {
  const auto token = tokens_.Add({.kind = StreamKind::kExec, .id = "c", .argv = {"ls", "-l"}});
  ASSERT_TRUE(token.ok());
  const auto request = tokens_.Take(*token);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->id, "c");
  EXPECT_THAT(request->argv, ElementsAre("ls", "-l"));
  EXPECT_FALSE(tokens_.Take(*token).has_value());
}

TEST_F(TokensTest, StayGoodForARequestThatFits) {
  const auto token = tokens_.Add({.kind = StreamKind::kExec, .id = "c"});
  ASSERT_TRUE(token.ok());
  EXPECT_FALSE(
      tokens_
          .Take(*token,
                [](const StreamRequest& request) { return request.kind == StreamKind::kAttach; })
          .has_value());
  EXPECT_TRUE(tokens_.Take(*token).has_value());
}

TEST_F(TokensTest, EndAfterTheirTime) {
  const auto token = tokens_.Add({.id = "c"});
  Pass(Tokens::kLife - absl::Seconds(1));
  const auto later = tokens_.Add({.id = "d"});
  Pass(absl::Seconds(1));
  EXPECT_FALSE(tokens_.Take(*token).has_value());
  EXPECT_TRUE(tokens_.Take(*later).has_value());
}

TEST_F(TokensTest, AreAllDifferentAndLong) {
  std::set<std::string> all;
  for (int i = 0; i < 100; ++i) {
    const auto token = tokens_.Add({});
    ASSERT_TRUE(token.ok());
    EXPECT_EQ(token->size(), 32);
    EXPECT_TRUE(all.insert(*token).second);
  }
}

TEST_F(TokensTest, AreNotMoreThanALimitAtOnce) {
  for (size_t i = 0; i < Tokens::kMaxTokens; ++i) ASSERT_TRUE(tokens_.Add({}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(tokens_.Add({}).status()));
  Pass(Tokens::kLife);
  EXPECT_TRUE(tokens_.Add({}).ok());
  EXPECT_EQ(tokens_.size(), 1);
}

TEST_F(TokensTest, KeepNoMoreBytesThanALimit) {
  StreamRequest large;
  large.argv = {std::string(Tokens::kMaxBytes / 2, 'x')};
  const auto first = tokens_.Add(large);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(tokens_.Add(large).status()));
  EXPECT_TRUE(tokens_.Take(*first).has_value());
  EXPECT_TRUE(tokens_.Add(large).ok());
  Pass(Tokens::kLife);
  EXPECT_TRUE(tokens_.Add(large).ok());
}

// A taken token is forgotten at once, and its neighbours end at their own times.
TEST_F(TokensTest, EndInTheirOrderWhicheverIsTaken) {
  const auto first = tokens_.Add({.id = "a"});
  Pass(absl::Seconds(1));
  const auto second = tokens_.Add({.id = "b"});
  Pass(absl::Seconds(1));
  const auto third = tokens_.Add({.id = "c"});
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_TRUE(tokens_.Take(*second).has_value());
  EXPECT_EQ(tokens_.size(), 2);
  Pass(Tokens::kLife - absl::Seconds(1));
  EXPECT_FALSE(tokens_.Take(*first).has_value());
  EXPECT_EQ(tokens_.size(), 1);
  EXPECT_TRUE(tokens_.Take(*third).has_value());
  Pass(Tokens::kLife);
  EXPECT_TRUE(tokens_.Add({}).ok());
  EXPECT_EQ(tokens_.size(), 1);
}

TEST_F(TokensTest, AreNotGuessed) {
  EXPECT_FALSE(tokens_.Take("").has_value());
  EXPECT_FALSE(tokens_.Take(std::string(32, '0')).has_value());
}

}  // namespace
}  // namespace plimsoll::streaming
