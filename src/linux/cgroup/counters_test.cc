#include "linux/cgroup/counters.h"

#include <unistd.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup/stub_for_test.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One group, "/pod", with a test's files by controller and name: "memory/memory.min". On v2 the
// kernel has one directory for all controllers; the reader names them all the same.
class OneGroup : public CgroupStub {
 public:
  CgroupLayout machine = CgroupLayout::kV2;
  std::map<std::string, std::string> files;
  absl::Status fault;  // returned by every read

  CgroupLayout layout() const override { return machine; }
  absl::StatusOr<bool> Exists(absl::string_view path) const override { return path == "/pod"; }
  absl::StatusOr<std::string> ReadFile(absl::string_view, absl::string_view controller,
                                       absl::string_view file) const override {
    if (!fault.ok()) return fault;
    const auto found = files.find(absl::StrCat(controller, "/", file));
    if (found == files.end()) return absl::NotFoundError("no such file");
    return found->second;
  }
};

TEST(ParseIoStat, IsByDevice) {
  EXPECT_THAT(
      ParseIoStat("259:1 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n"
                  "8:16 \n"
                  "8:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=0 dios=0 "
                  "cost.vrate=100.00 cost.usage=7 cost.wait=8 cost.indebt=9 cost.indelay=10\n"),
      ElementsAre(DeviceIo{{8, 0}, 90430464, 299008000, 8950, 1252, {}, {7, 8, 9, 10}},
                  DeviceIo{{259, 1}, 1, 2, 3, 4}));
  EXPECT_THAT(ParseIoStat(""), IsEmpty());
  EXPECT_THAT(ParseIoStat("what is this\n"), IsEmpty());
}

TEST(ParseBlkio, JoinsBytesAndOperations) {
  EXPECT_THAT(
      ParseBlkio({.bytes = "8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 12288\n8:0 Async 0\n"
                           "8:0 Discard 0\n8:0 Total 12288\nTotal 12288\n",
                  .operations = "8:0 Read 1\n8:0 Write 2\n8:0 Total 3\n8:16 Read 5\nTotal 8\n"}),
      ElementsAre(DeviceIo{{8, 0}, 4096, 8192, 1, 2}, DeviceIo{{8, 16}, 0, 0, 5, 0}));
  EXPECT_THAT(ParseBlkio({.bytes = "Total 0\n", .operations = "Total 0\n"}), IsEmpty());
}

TEST(ParseBlkio, HasWhatTheSchedulerTells) {
  EXPECT_THAT(
      ParseBlkio({.bytes = "8:0 Read 4096\n8:0 Write 0\n8:0 Total 4096\nTotal 4096\n",
                  .operations = "8:0 Read 1\n8:0 Write 0\n8:0 Total 1\nTotal 1\n",
                  .merged = "8:0 Read 2\n8:0 Write 3\n8:0 Sync 5\n8:0 Total 5\nTotal 5\n",
                  .service_time = "8:0 Read 40\n8:0 Write 50\n8:0 Discard 6\n8:0 Total 96\n",
                  .queued = "8:0 Read 1\n8:0 Write 6\n8:0 Total 7\nTotal 7\n"}),
      ElementsAre(DeviceIo{{8, 0}, 4096, 0, 1, 0, {2, 3, 40, 50, 96, 7}, {}}));
}

TEST(ReadCgroupCounters, V2) {
  OneGroup group;
  group.files = {
      {"cpu/cpu.stat", "usage_usec 30\nuser_usec 20\nsystem_usec 10\nnr_bursts 3\nburst_usec 40"},
      {"memory/memory.stat",
       "anon 1\nfile 700\nkernel 55\nfile_mapped 300\nactive_file 200\ninactive_file 400\npgfault "
       "9\npgmajfault 2"},
      {"memory/memory.peak", "4096"},
      {"memory/memory.events", "low 0\nhigh 0\nmax 17\noom 4\noom_kill 3"},
      {"memory/memory.min", "max"},
      {"memory/memory.swap.max", "8192"},
      {"pids/pids.current", "6"},
      {"io/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0"},
      {"hugetlb/hugetlb.2MB.current", "2097152"},
  };
  const auto counters = ReadCgroupCounters(group, "/pod", {"2MB", "1GB"});
  ASSERT_TRUE(counters.ok()) << counters.status();
  EXPECT_EQ(counters->cpu_user_ns, 20'000u);
  EXPECT_EQ(counters->cpu_system_ns, 10'000u);
  EXPECT_EQ(counters->cpu_burst_periods, 3u);
  EXPECT_EQ(counters->cpu_burst_ns, 40'000u);
  EXPECT_EQ(counters->cache_bytes, 700u);
  EXPECT_EQ(counters->mapped_file_bytes, 300u);
  EXPECT_EQ(counters->active_file_bytes, 200u);
  EXPECT_EQ(counters->inactive_file_bytes, 400u);
  EXPECT_EQ(counters->own_page_faults, 9u);
  EXPECT_EQ(counters->own_major_page_faults, 2u);
  EXPECT_EQ(counters->kernel_bytes, 55u);
  EXPECT_EQ(counters->max_usage_bytes, 4096u);
  EXPECT_EQ(counters->limit_hits, 17u);
  EXPECT_EQ(counters->reservation_bytes, -1);
  EXPECT_EQ(counters->swap_limit_bytes, 8192);
  EXPECT_EQ(counters->threads, 6u);
  EXPECT_THAT(counters->io, ElementsAre(DeviceIo{{8, 0}, 1, 2, 3, 4}));
  EXPECT_THAT(counters->hugetlb, ElementsAre(std::pair("2MB", HugetlbUse{2097152, std::nullopt})));
}

TEST(ReadCgroupCounters, V1) {
  OneGroup group;
  group.machine = CgroupLayout::kHybrid;
  group.files = {
      {"cpuacct/cpuacct.stat", "user 200\nsystem 5"},
      {"cpu/cpu.stat", "nr_periods 1\nnr_throttled 0\nnr_bursts 3\nburst_time 40000"},
      {"memory/memory.stat",
       "cache 1\npgfault 3\npgmajfault 1\ntotal_cache 700\ntotal_mapped_file 300\ntotal_pgfault "
       "9\ntotal_active_file 200\ntotal_inactive_file 400"},
      {"memory/memory.kmem.usage_in_bytes", "55"},
      {"memory/memory.max_usage_in_bytes", "4096"},
      {"memory/memory.failcnt", "17"},
      {"memory/memory.soft_limit_in_bytes", "9223372036854771712"},
      {"memory/memory.memsw.limit_in_bytes", "16384"},
      {"blkio/blkio.throttle.io_service_bytes_recursive", "8:0 Read 1\n8:0 Write 2\nTotal 3"},
      {"blkio/blkio.throttle.io_serviced_recursive", "8:0 Read 3\n8:0 Write 4\nTotal 7"},
      {"blkio/blkio.bfq.io_merged_recursive", "8:0 Read 5\n8:0 Write 6\nTotal 11"},
      {"blkio/blkio.bfq.io_service_time_recursive", "8:0 Read 7\n8:0 Write 8\n8:0 Total 15"},
      {"blkio/blkio.bfq.io_queued_recursive", "8:0 Read 1\n8:0 Write 1\n8:0 Total 2"},
      {"hugetlb/hugetlb.2MB.usage_in_bytes", "0"},
      {"hugetlb/hugetlb.2MB.max_usage_in_bytes", "2097152"},
  };
  const auto counters = ReadCgroupCounters(group, "/pod", {"2MB"});
  ASSERT_TRUE(counters.ok()) << counters.status();
  const uint64_t tick_ns = 1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  EXPECT_EQ(counters->cpu_user_ns, 200 * tick_ns);
  EXPECT_EQ(counters->cpu_system_ns, 5 * tick_ns);
  EXPECT_EQ(counters->cpu_burst_periods, 3u);
  EXPECT_EQ(counters->cpu_burst_ns, 40'000u) << "nanoseconds as they are";
  EXPECT_EQ(counters->cache_bytes, 700u);
  EXPECT_EQ(counters->mapped_file_bytes, 300u);
  EXPECT_EQ(counters->active_file_bytes, 200u);
  EXPECT_EQ(counters->inactive_file_bytes, 400u);
  EXPECT_EQ(counters->own_page_faults, 3u);
  EXPECT_EQ(counters->own_major_page_faults, 1u);
  EXPECT_EQ(counters->kernel_bytes, 55u);
  EXPECT_EQ(counters->max_usage_bytes, 4096u);
  EXPECT_EQ(counters->limit_hits, 17u);
  EXPECT_EQ(counters->reservation_bytes, -1);
  EXPECT_EQ(counters->swap_limit_bytes, 16384);
  EXPECT_EQ(counters->threads, std::nullopt) << "there is no such file";
  EXPECT_THAT(counters->io, ElementsAre(DeviceIo{{8, 0}, 1, 2, 3, 4, {5, 6, 7, 8, 15, 2}, {}}));
  EXPECT_THAT(counters->hugetlb, ElementsAre(std::pair("2MB", HugetlbUse{0, 2097152})));
}

TEST(ReadCgroupCounters, WhatIsNotThereIsLeftOut) {
  OneGroup group;
  for (const CgroupLayout layout : {CgroupLayout::kV1, CgroupLayout::kV2}) {
    group.machine = layout;
    const auto counters = ReadCgroupCounters(group, "/pod", {"2MB"});
    ASSERT_TRUE(counters.ok()) << counters.status();
    EXPECT_EQ(counters->cpu_user_ns, std::nullopt);
    EXPECT_EQ(counters->cpu_burst_periods, std::nullopt);
    EXPECT_EQ(counters->cpu_burst_ns, std::nullopt);
    EXPECT_EQ(counters->cache_bytes, std::nullopt);
    EXPECT_EQ(counters->max_usage_bytes, std::nullopt);
    EXPECT_EQ(counters->limit_hits, std::nullopt);
    EXPECT_EQ(counters->reservation_bytes, std::nullopt);
    EXPECT_EQ(counters->swap_limit_bytes, std::nullopt);
    EXPECT_THAT(counters->io, IsEmpty());
    EXPECT_THAT(counters->hugetlb, IsEmpty());
  }
  EXPECT_TRUE(absl::IsNotFound(ReadCgroupCounters(group, "/none", {}).status()));
}

TEST(ReadCgroupCounters, WhatCanNotBeReadIsAnError) {
  OneGroup group;
  group.fault = absl::PermissionDeniedError("read memory.stat: no");
  for (const CgroupLayout layout : {CgroupLayout::kV1, CgroupLayout::kV2}) {
    group.machine = layout;
    EXPECT_EQ(ReadCgroupCounters(group, "/pod", {}).status(), group.fault);
  }
}

}  // namespace
}  // namespace plimsoll::linux
