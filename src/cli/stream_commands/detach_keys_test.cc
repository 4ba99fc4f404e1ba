#include "cli/stream_commands/detach_keys.h"

#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

TEST(ParseDetachKeys, TakesCharactersAndControl) {
  EXPECT_EQ(ParseDetachKeys(kDefaultDetachKeys).value_or("none"), "\x10\x11");
  EXPECT_EQ(ParseDetachKeys("ctrl-],q,ctrl-A,ctrl-_").value_or("none"), "\x1dq\x01\x1f");
  EXPECT_EQ(ParseDetachKeys("").value_or("none"), "");
}

TEST(ParseDetachKeys, RefusesOthers) {
  for (const char* text :
       {",", "a,", "ab", "ctrl-", "ctrl-1", "ctrl-pq", "ctrl-p ctrl-q", "\x01"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseDetachKeys(text).status())) << text;
  }
}

TEST(DetachKeys, AreFoundAcrossReads) {
  DetachKeys keys("\x10\x11");
  EXPECT_EQ(keys.Pass("ls\r\x10"), "ls\r");
  EXPECT_FALSE(keys.found());
  EXPECT_EQ(keys.Pass("\x11more"), "");
  EXPECT_TRUE(keys.found());
}

TEST(DetachKeys, WhatIsNotAllOfThemIsSent) {
  DetachKeys keys("aab");
  EXPECT_EQ(keys.Pass("a"), "");
  EXPECT_EQ(keys.Pass("x"), "ax");
  EXPECT_EQ(keys.Pass("aaa"), "a");
  EXPECT_EQ(keys.TakeHeld(), "aa");
  EXPECT_EQ(keys.Pass("b"), "b");
  EXPECT_FALSE(keys.found());
  EXPECT_EQ(keys.Pass("xaaab"), "xa");
  EXPECT_TRUE(keys.found());
}

TEST(DetachKeys, NoneAreNeverFound) {
  DetachKeys keys("");
  EXPECT_EQ(keys.Pass("\x10\x11"), "\x10\x11");
  EXPECT_FALSE(keys.found());
}

}  // namespace
}  // namespace plimsoll::cli
