#include "qos/cgroup_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace plimsoll::qos {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Canonical(absl::string_view file, absl::string_view value) {
  const auto canonical = CanonicalCgroupValue(file, value);
  if (canonical.ok()) return *canonical;
  EXPECT_TRUE(absl::IsInvalidArgument(canonical.status()));
  return std::string(canonical.status().message());
}

TEST(CgroupFiles, WhatTheKernelHasIsAValidValue) {
  for (const ControlFile& file : AllowedCgroupFiles()) {
    EXPECT_EQ(FindCgroupFile(file.name), &file);
    if (file.controller == "cpuset") continue;  // its default is empty: as the parent
    EXPECT_EQ(Canonical(file.name, file.reset), file.reset) << file.name;
  }
}

TEST(CgroupFiles, ValuesAreMadeWhatTheKernelShows) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  EXPECT_EQ(Canonical("memory.high", "1Gi"), "1073741824");
  EXPECT_EQ(Canonical("memory.high", "100M"), absl::StrCat(100000000 / page * page));
  EXPECT_EQ(Canonical("memory.low", "max"), "max");
  EXPECT_EQ(Canonical("cpu.max", "50000"), "50000 100000");
  EXPECT_EQ(Canonical("cpu.max", " max   20000 "), "max 20000");
  EXPECT_EQ(Canonical("cpu.uclamp.min", "12.5"), "12.50");
  EXPECT_EQ(Canonical("cpu.uclamp.max", "100"), "max");
  EXPECT_EQ(Canonical("cpuset.cpus", "3,0-1,2"), "0-3");
  EXPECT_EQ(Canonical("io.prio.class", "idle"), "idle");
  EXPECT_EQ(Canonical("pids.max", "100"), "100");
}

TEST(CgroupFiles, SaysWhatWouldBeValid) {
  EXPECT_EQ(Canonical("cpu.idle", "2"), "cpu.idle is \"2\": expected a whole number from 0 to 1");
  EXPECT_THAT(Canonical("cpu.weight", "0"), HasSubstr("from 1 to 10000"));
  EXPECT_THAT(Canonical("cpu.weight", "max"), HasSubstr("from 1 to 10000"));
  EXPECT_THAT(Canonical("memory.high", "-1"), HasSubstr("a quantity of bytes"));
  EXPECT_THAT(Canonical("memory.high", "100E"), HasSubstr("at most 9223372036854775806 bytes"));
  EXPECT_THAT(Canonical("memory.high", "lots"), HasSubstr("a quantity of bytes"));
  EXPECT_THAT(Canonical("cpu.max", "500 100000"), HasSubstr("microseconds per period"));
  EXPECT_THAT(Canonical("cpu.max", "max 2000000"), HasSubstr("microseconds per period"));
  EXPECT_THAT(Canonical("cpu.max", "1000 2000 3000"), HasSubstr("microseconds per period"));
  EXPECT_THAT(Canonical("cpu.uclamp.max", "101"), HasSubstr("percentage"));
  EXPECT_THAT(Canonical("cpu.uclamp.max", "nan"), HasSubstr("percentage"));
  EXPECT_THAT(Canonical("io.prio.class", "rt"), HasSubstr("promote-to-rt"));
  EXPECT_THAT(Canonical("cpuset.cpus", ""), HasSubstr("a list"));
  EXPECT_THAT(Canonical("pids.max", "-1"), HasSubstr("whole number"));
}

TEST(CgroupFiles, OtherFilesAreNotAllowed) {
  EXPECT_THAT(Canonical("memory.hihg", "1"),
              AllOf(HasSubstr("can't set the file \"memory.hihg\" (did you mean memory.high?)"),
                    HasSubstr("files are cpu.idle, cpu.weight, cpu.max")));
  for (const char* file : {"cgroup.procs", "cgroup.kill", "memory.max", "io.max", "../x", ""}) {
    EXPECT_THAT(Canonical(file, "1"), HasSubstr("files are cpu.idle")) << file;
    EXPECT_EQ(FindCgroupFile(file), nullptr) << file;
  }
}

}  // namespace
}  // namespace plimsoll::qos
