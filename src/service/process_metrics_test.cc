#include "service/process_metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::Key;
using ::testing::Le;
using ::testing::Not;

std::map<std::string, double> Values(const FsRoot& host) {
  std::map<std::string, double> values;
  for (const prometheus::MetricFamily& family : ProcessMetrics(host)) {
    EXPECT_EQ(family.metric.size(), 1u) << family.name;
    const bool counts = family.type == prometheus::MetricType::Counter;
    values[family.name] = counts ? family.metric[0].counter.value : family.metric[0].gauge.value;
  }
  return values;
}

TEST(ProcessMetricsTest, TellOfThisProcess) {
  const FsRoot host = *FsRoot::Open("/");
  const std::map<std::string, double> before = Values(host);
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  // /proc/stat has the boot time in whole seconds.
  EXPECT_THAT(before.at("process_start_time_seconds"), AllOf(Gt(now - 1e6), Le(now + 2)));
  EXPECT_THAT(before.at("process_cpu_seconds_total"), Ge(0));
  EXPECT_THAT(before.at("plimsoll_threads"), Ge(1));
  EXPECT_THAT(before.at("process_resident_memory_bytes"), Gt(1 << 20));
  EXPECT_GT(before.at("process_virtual_memory_bytes"), before.at("process_resident_memory_bytes"));
  EXPECT_GE(before.at("process_max_fds"), before.at("process_open_fds"));

  std::vector<UniqueFd> more;
  for (int i = 0; i < 5; ++i) more.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(Values(host).at("process_open_fds"), before.at("process_open_fds") + 5);
}

TEST(ProcessMetricsTest, FieldsAreFoundBehindAnyName) {
  const TestDir dir;
  const std::string proc = absl::StrCat("proc/", getpid());
  ASSERT_TRUE(dir.root().MakeDirs(proc, 0755).ok());
  ASSERT_TRUE(dir.root().ReplaceFile("proc/stat", "cpu 1 2 3\nbtime 1000\n").ok());
  const auto ticks = sysconf(_SC_CLK_TCK);
  ASSERT_TRUE(dir.root()
                  .ReplaceFile(absl::StrCat(proc, "/stat"),
                               absl::StrCat("12 (a ) b) S 1 2 3 4 5 6 7 8 9 10 ", 2 * ticks, " ",
                                            3 * ticks, " 0 0 20 0 7 0 ", 50 * ticks, " 8192 2 0\n"))
                  .ok());
  const std::map<std::string, double> values = Values(dir.root());
  EXPECT_EQ(values.at("process_cpu_seconds_total"), 5);
  EXPECT_EQ(values.at("plimsoll_threads"), 7);
  EXPECT_EQ(values.at("process_start_time_seconds"), 1050);
  EXPECT_EQ(values.at("process_virtual_memory_bytes"), 8192);
  EXPECT_EQ(values.at("process_resident_memory_bytes"),
            2 * static_cast<double>(sysconf(_SC_PAGESIZE)));
  EXPECT_THAT(values, Not(Contains(Key("process_open_fds")))) << "there is no fd directory";
}

TEST(ProcessMetricsTest, WhatCannotBeReadIsLeftOut) {
  const TestDir dir;
  const std::map<std::string, double> values = Values(dir.root());
  EXPECT_EQ(values.size(), 1u) << "the limit alone, which is asked of the kernel";
  EXPECT_THAT(values, Contains(Key("process_max_fds")));
}

}  // namespace
}  // namespace plimsoll
