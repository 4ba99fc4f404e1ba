#include "runtime/cgroups/cpuset_check.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

class CpusetCheckTest : public ::testing::Test {
 protected:
  CpusetCheckTest() {
    for (const auto& [directory, list] : {std::pair("cpu", "0-3,6\n"), {"node", "0\n"}}) {
      const std::string path = std::string("sys/devices/system/") + directory;
      EXPECT_TRUE(dir_.root().MakeDirs(path).ok());
      EXPECT_TRUE(dir_.root().ReplaceFile(path + "/online", list).ok());
    }
  }
  absl::Status Check(const linux::CgroupSettings& settings) const {
    return CheckCpuset(dir_.root(), settings);
  }

  TestDir dir_;
};

TEST_F(CpusetCheckTest, WhatIsThereIsFine) {
  for (const char* list : {"", "0", "1-2,6", "0-3,6"}) {
    EXPECT_TRUE(Check({.cpuset_cpus = list}).ok()) << list;
  }
  EXPECT_TRUE(Check({.cpuset_mems = "0"}).ok());
  EXPECT_TRUE(Check({}).ok());
}

TEST_F(CpusetCheckTest, WhatIsMissingIsNamedBesideWhatThereIs) {
  EXPECT_EQ(Check({.cpuset_cpus = "2-6"}).message(),
            "cpuset_cpus is \"2-6\", but this machine has no CPU 4-5; it has 0-3,6");
  EXPECT_EQ(Check({.cpuset_mems = "0-1"}).message(),
            "cpuset_mems is \"0-1\", but this machine has no memory node 1; it has 0");
  EXPECT_TRUE(absl::IsInvalidArgument(Check({.cpuset_cpus = "4000"})));
  EXPECT_TRUE(absl::IsInvalidArgument(Check({.cpuset_cpus = "3-1"})));
}

TEST_F(CpusetCheckTest, WhatWasToldOnceIsNoMistake) {
  const NodeShare told = {*resources::CpuSet::Parse("0-4"), *resources::CpuSet::Parse("0-1"), true};
  EXPECT_TRUE(CheckCpuset(dir_.root(), {.cpuset_cpus = "0-4", .cpuset_mems = "0-1"}, told).ok());
  EXPECT_EQ(CheckCpuset(dir_.root(), {.cpuset_cpus = "2-6"}, told).message(),
            "cpuset_cpus is \"2-6\", but this machine has no CPU 5; it has 0-3,6");
}

TEST_F(CpusetCheckTest, AMachineThatDoesNotSayIsAskedByTheKernel) {
  TestDir empty;
  EXPECT_TRUE(CheckCpuset(empty.root(), {.cpuset_cpus = "4000"}).ok());
}

}  // namespace
}  // namespace plimsoll::runtime
