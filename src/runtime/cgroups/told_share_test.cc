#include "runtime/cgroups/told_share.h"

#include "base/dir_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using resources::CpuSet;

NodeShare ToldShareOf(const char* cpus, const char* nodes) {
  return {.cpus = *CpuSet::Parse(cpus), .memory_nodes = *CpuSet::Parse(nodes), .is_whole = false};
}

TEST(ToldShareTest, IsTheSumOfAllSharesOverDaemonsUntilAReboot) {
  TestDir run;
  ToldShare first;
  first.Load(run.root(), "boot-1");
  EXPECT_TRUE(first.sum().cpus.Empty());
  ASSERT_TRUE(first.Add(ToldShareOf("0-3", "0")).ok());
  ASSERT_TRUE(first.Add(ToldShareOf("2-5", "1")).ok());
  EXPECT_EQ(first.sum().cpus.ToString(), "0-5");
  ToldShare next;
  next.Load(run.root(), "boot-1");
  EXPECT_EQ(next.sum().cpus.ToString(), "0-5");
  EXPECT_EQ(next.sum().memory_nodes.ToString(), "0-1");
  ToldShare rebooted;
  rebooted.Load(run.root(), "boot-2");
  EXPECT_TRUE(rebooted.sum().cpus.Empty());
}

TEST(ToldShareTest, WhatCannotBeKeptIsKnownAllTheSame) {
  TestDir run;
  ToldShare told;
  told.Load(run.root(), "boot");
  ASSERT_TRUE(run.root().MakeDirs("told-share/in-the-way").ok());
  EXPECT_FALSE(told.Add(ToldShareOf("0-3", "0")).ok());
  EXPECT_EQ(told.sum().cpus.ToString(), "0-3");
}

// A disk that was full has room again.
TEST(ToldShareTest, WhatCouldNotBeKeptIsTriedAgain) {
  TestDir run;
  ToldShare told;
  told.Load(run.root(), "boot");
  EXPECT_TRUE(told.Retry().ok()) << "nothing to be stored";
  ASSERT_TRUE(run.root().MakeDirs("told-share/in-the-way").ok());
  EXPECT_FALSE(told.Add(ToldShareOf("0-3", "0")).ok());
  EXPECT_FALSE(told.Retry().ok());
  ASSERT_TRUE(run.root().RemoveTree("told-share").ok());
  // This share adds nothing new.
  EXPECT_TRUE(told.Add(ToldShareOf("0-2", "0")).ok());
  ToldShare next;
  next.Load(run.root(), "boot");
  EXPECT_EQ(next.sum().cpus.ToString(), "0-3");
}

TEST(ToldShareTest, WhatStandsInForAnotherIsInForceAndNotTold) {
  TestDir run;
  ToldShare told;
  told.Load(run.root(), "boot");
  NodeShare stand_in = ToldShareOf("0-3", "0");
  stand_in.is_told = false;
  ASSERT_TRUE(told.Add(stand_in).ok());
  EXPECT_TRUE(told.sum().cpus.Empty());
  EXPECT_EQ(told.in_force().cpus.ToString(), "0-3");
  ASSERT_TRUE(told.Add(ToldShareOf("1", "0")).ok());
  EXPECT_EQ(told.sum().cpus.ToString(), "1");
  ToldShare next;
  next.Load(run.root(), "boot");
  EXPECT_EQ(next.sum().cpus.ToString(), "1");
  EXPECT_EQ(next.in_force().cpus.ToString(), "1");
}

TEST(ToldShareTest, GarbageCountsAsNothing) {
  TestDir run;
  for (const char* text : {"", "boot b\n", "boot b\ncpus x-y\nmemory-nodes 3-1\n", "\n\n\n\n"}) {
    ASSERT_TRUE(run.root().ReplaceFile("told-share", text).ok());
    ToldShare told;
    told.Load(run.root(), "b");
    EXPECT_TRUE(told.sum().cpus.Empty()) << text;
    EXPECT_TRUE(told.sum().memory_nodes.Empty()) << text;
  }
}

}  // namespace
}  // namespace plimsoll::runtime
