#include "runtime/cgroups/parent_cpusets.h"

#include "gtest/gtest.h"
#include "runtime/cgroups/v1_cpusets_for_test.h"

namespace plimsoll::runtime {
namespace {

class ParentCpusetsTest : public ::testing::Test {
 protected:
  ParentCpusetsTest() {
    kernel_.Make("/all", "0-7");
    kernel_.Make("/some", "2-3,7");
    for (const char* group : {"/all", "/some"}) parents_.Remember(group);
  }
  void GiveBack() {
    for (const char* group : {"/all", "/some"}) {
      const absl::Status done = parents_.GiveBack(group);
      EXPECT_TRUE(done.ok()) << done;
    }
  }

  V1Cpusets kernel_{"0-7"};
  ParentCpusets parents_{&kernel_};
};

TEST_F(ParentCpusetsTest, WhatComesBackIsGivenToThoseThatHadIt) {
  kernel_.TakeOffline(7);
  kernel_.TakeOffline(0);
  GiveBack();
  EXPECT_EQ(kernel_.Of("/all"), "1-6");
  EXPECT_EQ(kernel_.Of("/some"), "2-3");
  kernel_.BringOnline(0);
  GiveBack();
  EXPECT_EQ(kernel_.Of("/all"), "0-6");
  EXPECT_EQ(kernel_.Of("/some"), "2-3");
  kernel_.BringOnline(7);
  GiveBack();
  EXPECT_EQ(kernel_.Of("/all"), "0-7");
  EXPECT_EQ(kernel_.Of("/some"), "2-3,7");
}

// A new CPU goes to groups without a restriction of their own.
TEST_F(ParentCpusetsTest, ANewCpuIsForThoseThatHaveAll) {
  kernel_.BringOnline(8);
  GiveBack();
  EXPECT_EQ(kernel_.Of("/all"), "0-8");
  EXPECT_EQ(kernel_.Of("/some"), "2-3,7");
}

TEST_F(ParentCpusetsTest, AGroupThatGotMoreKeepsIt) {
  kernel_.Make("/some", "1-3,7");
  GiveBack();
  EXPECT_EQ(kernel_.Of("/some"), "1-3,7");
  kernel_.TakeOffline(1);
  kernel_.BringOnline(1);
  GiveBack();
  EXPECT_EQ(kernel_.Of("/some"), "1-3,7");
}

TEST_F(ParentCpusetsTest, AForgottenGroupIsLeftAlone) {
  parents_.ForgetAllBut({"/all"});
  kernel_.TakeOffline(7);
  kernel_.BringOnline(7);
  GiveBack();
  EXPECT_EQ(kernel_.Of("/all"), "0-7");
  EXPECT_EQ(kernel_.Of("/some"), "2-3");
}

TEST_F(ParentCpusetsTest, AGroupThatIsGoneIsNoError) {
  V1Cpusets empty("0-7");
  ParentCpusets parents(&empty);
  parents.Remember("/none");
  EXPECT_TRUE(parents.GiveBack("/none").ok());
}

TEST_F(ParentCpusetsTest, TheKernelsRefusalIsTold) {
  kernel_.TakeOffline(7);
  kernel_.BringOnline(7);
  kernel_.faults.FailNext("Apply", absl::PermissionDeniedError("cpuset.cpus: no"));
  EXPECT_TRUE(absl::IsPermissionDenied(parents_.GiveBack("/all")));
  EXPECT_TRUE(parents_.GiveBack("/all").ok());
  EXPECT_EQ(kernel_.Of("/all"), "0-7");
}

}  // namespace
}  // namespace plimsoll::runtime
