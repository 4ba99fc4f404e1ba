#include "linux/cgroup/line_files.h"

#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

TEST(LineReset, EachFileHasItsOwnWords) {
  EXPECT_EQ(LineReset("io.max"), "rbps=max wbps=max riops=max wiops=max");
  EXPECT_EQ(LineReset("io.weight"), "default");
  EXPECT_EQ(LineReset("io.latency"), "target=0");
}

TEST(LineReset, FilesOfOneValueHaveNone) {
  for (const char* file : {"memory.max", "io.prio.class", "io.pressure", "cpu.max"}) {
    EXPECT_EQ(LineReset(file), std::nullopt) << file;
  }
}

}  // namespace
}  // namespace plimsoll::linux
