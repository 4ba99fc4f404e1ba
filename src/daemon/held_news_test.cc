#include "daemon/held_news.h"

#include <gtest/gtest.h>

namespace plimsoll::daemon {
namespace {

TEST(HeldNewsTest, WhatCameBeforeTheListenerIsToldItAsOne) {
  HeldNews news;
  news.Tell();
  news.Tell();
  int heard = 0;
  news.Listen([&] { ++heard; });
  EXPECT_EQ(heard, 1);
  news.Tell();
  news.Tell();
  EXPECT_EQ(heard, 3);
}

TEST(HeldNewsTest, WithoutNewsNothingIsTold) {
  HeldNews news;
  int heard = 0;
  news.Listen([&] { ++heard; });
  EXPECT_EQ(heard, 0);
}

}  // namespace
}  // namespace plimsoll::daemon
