#include "container_entry/variables.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::entry {
namespace {

using ::testing::StrEq;

TEST(Variables, ReplaceThoseOfTheirNames) {
  std::string text("A=\xff\0LONG=\xfe=\xfd\0", 13);
  std::string first = "AA=other";
  std::string second = "A=?";
  std::string third = "LONG=?";
  char* environment[] = {first.data(), second.data(), third.data(), nullptr};
  ReplaceVariables(text.data(), text.size(), environment);
  EXPECT_THAT(environment[0], StrEq("AA=other"));
  EXPECT_THAT(environment[1], StrEq("A=\xff"));
  EXPECT_THAT(environment[2], StrEq("LONG=\xfe=\xfd"));
  EXPECT_EQ(environment[3], nullptr);
}

TEST(Variables, NoneReplaceNothing) {
  std::string only = "A=1";
  std::string text;
  char* environment[] = {only.data(), nullptr};
  ReplaceVariables(text.data(), 0, environment);
  EXPECT_THAT(environment[0], StrEq("A=1"));
}

}  // namespace
}  // namespace plimsoll::entry
