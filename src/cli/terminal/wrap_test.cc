#include "cli/terminal/wrap.h"

#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

TEST(Wrap, BreaksAtSpacesAndKeepsTheColumn) {
  EXPECT_EQ(Wrap("one two three four five six\n\nend\n", 24, 0),
            "one two three four five\nsix\n\nend\n");
  EXPECT_EQ(Wrap("  -f  go on until the containers have ended\nUsage: x\n", 30, 6),
            "  -f  go on until the\n      containers have ended\nUsage: x\n");
}

TEST(Wrap, WhatFitsStaysAsItIs) {
  const std::string fits = "  --x  0123456789 0123456789\n";
  EXPECT_EQ(Wrap(fits, 28, 7), fits);
  EXPECT_EQ(Wrap(fits, 200, 7), fits);
  EXPECT_EQ(Wrap(fits, 0, 7), fits) << "no terminal";
  EXPECT_EQ(Wrap(fits, 26, 7), fits) << "no room";
}

TEST(Wrap, ALongWordHasALineOfItsOwn) {
  const std::string word(60, 'x');
  EXPECT_EQ(Wrap(word + " then", 30, 0), word + "\nthen");
  EXPECT_EQ(Wrap(word, 30, 0), word);
}

}  // namespace
}  // namespace plimsoll::cli
