#include "streaming/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace plimsoll::streaming {
namespace {

using ::testing::ElementsAre;

class TestClock : public Clock {
 public:
  absl::Time Now() const override { return now; }
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
};

class TokensTest : public ::testing::Test {
 protected:
  TestClock clock_;
  Tokens tokens_{&clock_};
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

TEST_F(TokensTest, EndAfterTheirTime) {
  const auto token = tokens_.Add({.id = "c"});
  clock_.now += Tokens::kLife - absl::Seconds(1);
  const auto later = tokens_.Add({.id = "d"});
  clock_.now += absl::Seconds(1);
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
  clock_.now += Tokens::kLife;
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
  clock_.now += Tokens::kLife;
  EXPECT_TRUE(tokens_.Add(large).ok());
}

TEST_F(TokensTest, AreNotGuessed) {
  EXPECT_FALSE(tokens_.Take("").has_value());
  EXPECT_FALSE(tokens_.Take(std::string(32, '0')).has_value());
}

}  // namespace
}  // namespace plimsoll::streaming
