#include "runtime/objects/id_map.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;

class IdMapTest : public ::testing::Test {
 protected:
  IdMapTest() {
    map_.Insert("abc1", std::make_shared<int>(1));
    map_.Insert("abd2", std::make_shared<int>(2));
    map_.Insert("ab", std::make_shared<int>(3));
  }
  IdMap<int> map_{"container"};
};

TEST_F(IdMapTest, FindsByUnambiguousPrefix) {
  EXPECT_EQ(**map_.Find("abc1"), 1);
  EXPECT_EQ(**map_.Find("abd"), 2);
}

TEST_F(IdMapTest, WholeIdWinsOverLongerOnes) {
  EXPECT_EQ(**map_.Find("ab"), 3);
}

TEST_F(IdMapTest, AmbiguousPrefixNamesTwo) {
  const auto found = map_.Find("a");
  EXPECT_TRUE(absl::IsInvalidArgument(found.status()));
  EXPECT_THAT(found.status().message(), HasSubstr("ambiguous"));
}

TEST_F(IdMapTest, MissingAndEmptyAreErrors) {
  EXPECT_TRUE(absl::IsNotFound(map_.Find("x").status()));
  EXPECT_TRUE(absl::IsNotFound(map_.Find("abc12").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(map_.Find("").status()));
  map_.Erase("abc1");
  EXPECT_TRUE(absl::IsNotFound(map_.Find("abc1").status()));
}

}  // namespace
}  // namespace plimsoll::runtime
