#include "runtime/cgroups/class_files.h"

#include <gtest/gtest.h>

namespace plimsoll::runtime {
namespace {

linux::CgroupSettings Everything() {
  return {.cpu_shares = 1024,
          .cpu_quota_us = 50000,
          .cpu_period_us = 100000,
          .cpuset_cpus = "0-1",
          .cpuset_mems = "0",
          .memory_limit_bytes = 100,
          .memory_swap_limit_bytes = 150,
          .pids_limit = -1,
          .hugetlb_limits = {{"2MB", 4096}},
          .unified = {{"memory.high", "80"}}};
}

TEST(AskedValue, IsInTheFilesOwnFormat) {
  const linux::CgroupSettings asked = Everything();
  const std::pair<const char*, const char*> expected[] = {
      {"cpu.weight", "39"},   {"cpu.max", "50000 100000"}, {"cpuset.cpus", "0-1"},
      {"cpuset.mems", "0"},   {"memory.max", "100"},       {"memory.swap.max", "50"},
      {"pids.max", "max"},    {"hugetlb.2MB.max", "4096"}, {"memory.high", "80"},
      {"oom_score_adj", "7"},
  };
  for (const auto& [file, value] : expected) EXPECT_EQ(AskedValue(asked, 7, file), value) << file;
  for (const char* file : {"cpu.weight", "cpu.max", "memory.max", "memory.swap.max", "pids.max",
                           "hugetlb.1GB.max", "memory.low", "cpuset.cpus"}) {
    EXPECT_EQ(AskedValue({}, 0, file), std::nullopt) << file;
  }
}

TEST(AskedValue, NoLimitIsMax) {
  linux::CgroupSettings asked;
  asked.cpu_quota_us = -1;
  asked.memory_limit_bytes = -1;
  asked.memory_swap_limit_bytes = -1;
  EXPECT_EQ(AskedValue(asked, 0, "cpu.max"), "max 100000");
  EXPECT_EQ(AskedValue(asked, 0, "memory.max"), "max");
  EXPECT_EQ(AskedValue(asked, 0, "memory.swap.max"), "max");
}

// A left-out file has no value any more; the others keep theirs.
TEST(LeaveOut, TakesExactlyWhatIsNamed) {
  const std::vector<std::string> files = {"cpu.weight",      "cpu.max",    "cpuset.cpus",
                                          "cpuset.mems",     "pids.max",   "memory.swap.max",
                                          "hugetlb.2MB.max", "memory.high"};
  for (const std::string& file : files) {
    linux::CgroupSettings settings = Everything();
    LeaveOut({file}, &settings);
    EXPECT_EQ(AskedValue(settings, 0, file), std::nullopt) << file;
    for (const std::string& other : files) {
      if (other == file) continue;
      EXPECT_EQ(AskedValue(settings, 0, other), AskedValue(Everything(), 0, other))
          << other << " after " << file;
    }
  }
  linux::CgroupSettings settings = Everything();
  LeaveOut({"memory.max"}, &settings);
  EXPECT_EQ(settings.memory_limit_bytes, std::nullopt);
  LeaveOut({"io.max", "oom_score_adj"}, &settings);
  EXPECT_EQ(settings.cpu_shares, 1024u);
}

}  // namespace
}  // namespace plimsoll::runtime
