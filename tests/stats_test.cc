// Statistics and metrics of containers and pods, compared with the kernel's counters.
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "harness/cgroup_layout.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/statistics.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

constexpr uint64_t kMebibyte = 1 << 20;

class StatsTest : public NodeTest {
 protected:
  // Demands more processor time than it gets, even on a busy machine.
  cri::ContainerConfig Busy(const std::string& script) {
    cri::ContainerConfig config = Shell(script);
    config.mutable_linux()->mutable_resources()->set_cpu_period(100000);
    config.mutable_linux()->mutable_resources()->set_cpu_quota(30000);
    return config;
  }
  std::string PodGroup(const std::string& pod) {
    return absl::StrCat(node_.cgroup_parent(), "/", pod);
  }

  Statistics told_{node_};
};

struct Memory {
  uint64_t usage = 0;
  uint64_t inactive_file = 0;
  bool operator==(const Memory&) const = default;
};

Memory KernelMemory(const std::string& group) {
  return {
      .usage = KernelNumber(group, "memory", IsV2() ? "memory.current" : "memory.usage_in_bytes"),
      .inactive_file = KernelNumber(group, "memory", "memory.stat",
                                    IsV2() ? "inactive_file" : "total_inactive_file")};
}

// Kubelet's value from cAdvisor: usage less the inactive file pages.
TEST_F(StatsTest, TheWorkingSetLeavesInactiveFilePagesOut) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("head -c 16777216 /dev/zero > /cargo; sleep 1000");
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(64 * kMebibyte);
  const std::string id = Start(pod, config);
  const auto agrees = [](const std::string& group, const std::function<cri::MemoryUsage()>& ask) {
    const Memory before = KernelMemory(group);
    const cri::MemoryUsage memory = ask();
    return before == KernelMemory(group) && before.inactive_file >= 8 * kMebibyte &&
           memory.usage_bytes().value() == before.usage &&
           memory.working_set_bytes().value() == before.usage - before.inactive_file;
  };
  cri::MemoryUsage memory;
  EXPECT_TRUE(Eventually(
      [&] {
        return agrees(CgroupOf(pod, id), [&] { return memory = told_.Of(id).memory(); }) ||
               HasFailure();
      },
      absl::Seconds(60)))
      << memory.ShortDebugString() << ", and the kernel has "
      << KernelMemory(CgroupOf(pod, id)).usage << " and "
      << KernelMemory(CgroupOf(pod, id)).inactive_file;
  EXPECT_EQ(memory.available_bytes().value(), 64 * kMebibyte - memory.working_set_bytes().value());
  EXPECT_TRUE(Eventually(
      [&] {
        return agrees(PodGroup(pod), [&] { return memory = told_.OfPod(pod).linux().memory(); }) ||
               HasFailure();
      },
      absl::Seconds(60)))
      << memory.ShortDebugString() << ", and the kernel has " << KernelMemory(PodGroup(pod)).usage
      << " and " << KernelMemory(PodGroup(pod)).inactive_file;
}

// `ask`: gets the statistics of the group's owner.
template <typename Stats>
void ExpectPressureOfTheKernel(const std::string& group, const std::function<Stats()>& ask) {
  for (const char* resource : {"cpu", "memory", "io"}) {
    const uint64_t some = KernelPressure(group, resource, "some") * 1000;
    const uint64_t full = KernelPressure(group, resource, "full") * 1000;
    const Stats stats = ask();
    const std::string name = resource;
    EXPECT_TRUE(name != "cpu" || stats.cpu().has_psi());
    EXPECT_TRUE(name != "memory" || stats.memory().has_psi());
    EXPECT_TRUE(name != "io" || stats.io().has_psi());
    const cri::PsiStats& told = name == "cpu"      ? stats.cpu().psi()
                                : name == "memory" ? stats.memory().psi()
                                                   : stats.io().psi();
    EXPECT_THAT(told.some().total(),
                AllOf(Ge(some), Le(KernelPressure(group, resource, "some") * 1000)))
        << resource;
    EXPECT_THAT(told.full().total(),
                AllOf(Ge(full), Le(KernelPressure(group, resource, "full") * 1000)))
        << resource;
  }
}

TEST_F(StatsTest, PressureIsThatOfTheKernel) {
  if (!IsV2() || !Host().Exists("proc/pressure/cpu")) {
    GTEST_SKIP() << "groups have files of pressure on cgroup v2, with PSI switched on";
  }
  const std::string pod = RunPod();
  const std::string id = Start(pod, Busy("while :; do :; done & while :; do :; done"));
  cri::CpuUsage of_container;
  cri::CpuUsage of_pod;
  // The kernel updates the averages every two seconds.
  EXPECT_TRUE(Eventually(
      [&] {
        of_container = told_.Of(id).cpu();
        of_pod = told_.OfPod(pod).linux().cpu();
        const auto waits = [](const cri::CpuUsage& cpu) {
          return cpu.psi().some().total() > 0 && cpu.psi().some().avg10() > 0;
        };
        return (waits(of_container) && waits(of_pod)) || HasFailure();
      },
      absl::Seconds(60)))
      << of_container.ShortDebugString() << of_pod.ShortDebugString();
  EXPECT_LE(of_container.psi().some().avg10(), 100);
  ExpectPressureOfTheKernel<cri::ContainerStats>(CgroupOf(pod, id), [&] { return told_.Of(id); });
  ExpectPressureOfTheKernel<cri::LinuxPodSandboxStats>(PodGroup(pod),
                                                       [&] { return told_.OfPod(pod).linux(); });
}

// A client that calls lists alone: neither ImageFsInfo nor ContainerStats.
TEST_F(StatsTest, ListsAloneSeeWhatContainersHaveWritten) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  cri::ContainerStats first;
  ASSERT_TRUE(Eventually(
      [&] {
        first = told_.Listed(id);
        return first.has_writable_layer() || HasFailure();
      },
      absl::Seconds(60)));
  ExecOutput(id, "dd if=/dev/zero of=/cargo bs=1M count=5 && mkdir /hold && touch /hold/a /hold/b");
  const uint64_t bytes = first.writable_layer().used_bytes().value() + 5 * kMebibyte;
  const uint64_t inodes = first.writable_layer().inodes_used().value() + 4;
  cri::FilesystemUsage layer;
  EXPECT_TRUE(Eventually(
      [&] {
        layer = told_.Listed(id).writable_layer();
        return layer.inodes_used().value() >= inodes || HasFailure();
      },
      absl::Seconds(60)))
      << layer.ShortDebugString();
  for (const cri::ContainerStats& stats : {told_.Listed(id), told_.Streamed(id),
                                           told_.ListedWithPods(id), told_.StreamedWithPods(id)}) {
    const cri::FilesystemUsage& each = stats.writable_layer();
    EXPECT_GE(each.used_bytes().value(), bytes);
    EXPECT_LT(each.used_bytes().value(), bytes + kMebibyte);
    EXPECT_EQ(each.inodes_used().value(), inodes);
    EXPECT_GT(each.timestamp(), first.writable_layer().timestamp());
    EXPECT_EQ(each.fs_id().mountpoint(), node_.state_directory() + "/images")
        << "the images' file system, by the name that ImageFsInfo gives it";
  }
}

TEST_F(StatsTest, NanoCoresFollowTheLoad) {
  const std::string pod = RunPod();
  const std::string busy = Start(pod, Busy("while :; do :; done"));
  const std::string idle_pod = RunPod();
  const std::string idle = Start(idle_pod, Shell("sleep 1000"));
  EXPECT_FALSE(told_.Of(busy).cpu().has_usage_nano_cores()) << "of one moment there is no rate";
  constexpr int64_t kLoad = 30'000'000;  // however much of its share it gets
  constexpr int64_t kRest = 5'000'000;
  const auto rate = [](const cri::CpuUsage& cpu) {
    return cpu.has_usage_nano_cores() ? static_cast<int64_t>(cpu.usage_nano_cores().value()) : -1;
  };
  const auto of_pod = [&](const std::string& one) {
    return rate(told_.ListedPod(one).linux().cpu());
  };
  const auto of_container = [&](const std::string& one) { return rate(told_.Listed(one).cpu()); };
  const auto rests = [](int64_t nano_cores) { return nano_cores >= 0 && nano_cores < kRest; };
  const auto shown = [&] {
    return absl::StrCat("busy: ", of_pod(pod), " and ", of_container(busy),
                        ", idle: ", of_pod(idle_pod), " and ", of_container(idle));
  };
  EXPECT_TRUE(Eventually(
      [&] {
        return (of_pod(pod) > kLoad && of_container(busy) > kLoad && rests(of_pod(idle_pod)) &&
                rests(of_container(idle))) ||
               HasFailure();
      },
      absl::Seconds(60)))
      << shown();
  EXPECT_LT(of_pod(pod), 1'500'000'000) << "one loop";
  ASSERT_TRUE(StopContainer(busy, 0).ok());
  EXPECT_TRUE(Eventually([&] { return rests(of_pod(pod)) || HasFailure(); }, absl::Seconds(60)))
      << shown();
}

// A metric, and its place in the kernel: file and unit on v1, file and unit on v2.
struct Counter {
  const char* metric;
  const char* v1_controller;
  const char* v1_file;
  const char* v1_key;
  uint64_t v1_unit;
  const char* v2_key;  // in cpu.stat
  uint64_t v2_unit;

  uint64_t Kernel(const std::string& group) const {
    if (IsV2()) return KernelNumber(group, "cpu", "cpu.stat", v2_key) / v2_unit;
    return KernelNumber(group, v1_controller, v1_file, v1_key) / v1_unit;
  }
};

TEST_F(StatsTest, MetricsOfTheProcessorAreTheKernels) {
  const std::string pod = RunPod();
  // One process computes, the other makes the kernel write zeros.
  cri::ContainerConfig config =
      Busy("while :; do :; done & exec dd if=/dev/zero of=/dev/null bs=1M");
  // Low enough to be throttled even on a busy machine.
  config.mutable_linux()->mutable_resources()->set_cpu_quota(15000);
  const std::string id = Start(pod, config);
  const auto ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  const std::vector<Counter> counters = {
      {"container_cpu_user_seconds_total", "cpuacct", "cpuacct.stat", "user", ticks, "user_usec",
       1'000'000},
      {"container_cpu_system_seconds_total", "cpuacct", "cpuacct.stat", "system", ticks,
       "system_usec", 1'000'000},
      {"container_cpu_cfs_periods_total", "cpu", "cpu.stat", "nr_periods", 1, "nr_periods", 1},
      {"container_cpu_cfs_throttled_periods_total", "cpu", "cpu.stat", "nr_throttled", 1,
       "nr_throttled", 1},
      {"container_cpu_cfs_throttled_seconds_total", "cpu", "cpu.stat", "throttled_time",
       1'000'000'000, "throttled_usec", 1'000'000}};
  std::map<std::string, uint64_t> metrics;
  EXPECT_TRUE(Eventually(
      [&] {
        metrics = told_.Metrics(id);
        bool all = true;
        for (const Counter& counter : counters) all = all && metrics[counter.metric] > 0;
        return all || HasFailure();
      },
      absl::Seconds(60)));
  for (const Counter& counter : counters) {
    const uint64_t before = counter.Kernel(CgroupOf(pod, id));
    const uint64_t told = told_.Metrics(id)[counter.metric];
    EXPECT_GT(told, 0u) << counter.metric;
    EXPECT_THAT(told, AllOf(Ge(before), Le(counter.Kernel(CgroupOf(pod, id))))) << counter.metric;
  }
}

// The container saves unused quota, and at times uses more at once.
TEST_F(StatsTest, BurstsBeyondTheQuotaAreTheKernels) {
  const char* const file = IsV2() ? "cpu.max.burst" : "cpu.cfs_burst_us";
  const std::string pod = RunPod();
  cri::ContainerConfig config =
      Shell("while :; do i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; sleep 0.7; done");
  config.mutable_linux()->mutable_resources()->set_cpu_period(100000);
  config.mutable_linux()->mutable_resources()->set_cpu_quota(5000);
  const std::string id = Start(pod, config);
  const std::string group = CgroupOf(pod, id);
  if (!Cgroups().ReadFile(group, "cpu", file).ok()) {
    GTEST_SKIP() << "needs " << file << " (Linux 5.14)";
  }
  ASSERT_TRUE(Cgroups().WriteFile(group, "cpu", file, "5000").ok());
  std::map<std::string, uint64_t> metrics;
  EXPECT_TRUE(Eventually(
      [&] {
        metrics = told_.Metrics(id);
        return metrics["container_cpu_cfs_burst_periods_total"] > 0 || HasFailure();
      },
      absl::Seconds(60)));
  const uint64_t before = KernelNumber(group, "cpu", "cpu.stat", "nr_bursts");
  metrics = told_.Metrics(id);
  EXPECT_THAT(metrics["container_cpu_cfs_burst_periods_total"],
              AllOf(Ge(before), Le(KernelNumber(group, "cpu", "cpu.stat", "nr_bursts"))));
  const uint64_t seconds =
      IsV2() ? KernelNumber(group, "cpu", "cpu.stat", "burst_usec") / 1'000'000
             : KernelNumber(group, "cpu", "cpu.stat", "burst_time") / 1'000'000'000;
  EXPECT_LE(metrics["container_cpu_cfs_burst_seconds_total"], seconds);
}

TEST_F(StatsTest, ThreadsAreToldByTheirState) {
  const std::string pod = RunPod();
  const std::string id =
      Start(pod, Shell("sleep 1000 & sleep 1000 & kill -STOP $!; (while :; do :; done) & "
                       "exec sleep 1000"));
  std::map<std::string, uint64_t> states;
  EXPECT_TRUE(Eventually(
      [&] {
        states = told_.Metric(id, "container_tasks_state");
        return (states["sleeping"] == 2 && states["stopped"] == 1 && states["running"] == 1) ||
               HasFailure();
      },
      absl::Seconds(60)))
      << "sleeping: " << states["sleeping"] << ", stopped: " << states["stopped"]
      << ", running: " << states["running"];
  EXPECT_EQ(states.size(), 5u);
  EXPECT_EQ(told_.Metrics(id)["container_tasks_state"], 4u);
}

// kubelet expects statistics for every pod and container that it sees in lists.
TEST_F(StatsTest, APodWithoutContainersHasItsOwn) {
  const std::string pod = RunPod();
  for (const cri::PodSandboxStats& stats : {told_.OfPod(pod), told_.ListedPod(pod)}) {
    EXPECT_EQ(stats.attributes().id(), pod);
    EXPECT_TRUE(stats.linux().cpu().has_usage_core_nano_seconds());
    EXPECT_TRUE(stats.linux().memory().has_working_set_bytes());
    EXPECT_EQ(stats.linux().process().process_count().value(), 0u);
    EXPECT_EQ(stats.linux().containers_size(), 0);
  }
}

TEST_F(StatsTest, AContainerIsCountedFromItsCreationToItsEnd) {
  const std::string pod = RunPod();
  const std::string id = Create(pod, Shell("exit 0"));
  EXPECT_GT(told_.Of(id).cpu().usage_core_nano_seconds().value(), 0u) << "of its making";
  EXPECT_EQ(told_.Listed(id).attributes().id(), id);
  EXPECT_EQ(told_.ListedWithPods(id).attributes().id(), id);
  auto metrics = told_.Metrics(id);
  EXPECT_EQ(metrics["container_processes"], 1u) << "what waits for the start";
  EXPECT_EQ(metrics["container_tasks_state"], 1u);
  EXPECT_FALSE(metrics.contains("container_start_time_seconds"));

  ASSERT_TRUE(TryStart(id).ok());
  AwaitExit(id);
  cri::ContainerStatsRequest request;
  request.set_container_id(id);
  cri::ContainerStatsResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(node_.runtime().ContainerStats(&context, request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(told_.Listed(id).attributes().id(), "");
  EXPECT_EQ(told_.ListedWithPods(id).attributes().id(), "");
  EXPECT_TRUE(told_.Metrics(id).empty());
  EXPECT_EQ(told_.ListedPod(pod).attributes().id(), pod) << "its pod is told of";
}

TEST_F(StatsTest, WhatGoesToTheDiskAndComesFromItIsCounted) {
  const std::string hold = absl::StrCat(node_.directory(), "/hold");
  ASSERT_EQ(mkdir(hold.c_str(), 0755), 0);
  cri::ContainerConfig config = Shell("sleep 1000");
  cri::Mount* mount = config.add_mounts();
  mount->set_host_path(hold);
  mount->set_container_path("/hold");
  const std::string id = Start(RunPod(), config);
  const auto before = told_.Metrics(id);
  // Bypasses every cache, so that the container itself does the I/O.
  ExecOutput(id,
             "dd if=/dev/zero of=/hold/cargo bs=1M count=6 oflag=direct && "
             "dd if=/hold/cargo of=/dev/null bs=1M count=4 iflag=direct");
  auto after = told_.Metrics(id);
  for (const auto& [name, value] : before) after[name] -= value;
  EXPECT_GE(after["container_fs_writes_bytes_total"], 6 * kMebibyte);
  EXPECT_LT(after["container_fs_writes_bytes_total"], 12 * kMebibyte);
  EXPECT_GE(after["container_fs_reads_bytes_total"], 4 * kMebibyte);
  EXPECT_GT(after["container_fs_writes_total"], 0u);
  EXPECT_GT(after["container_fs_reads_total"], 0u);
  EXPECT_EQ(after["container_blkio_device_usage_total"],
            after["container_fs_reads_bytes_total"] + after["container_fs_writes_bytes_total"]);
}

TEST_F(StatsTest, AnOomKillIsCountedThoughTheContainerLives) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("sleep 1000");
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(16 * kMebibyte);
  // v1 counts hits of two equal limits in the file of memory and swap, not in that of memory.
  config.mutable_linux()->mutable_resources()->set_memory_swap_limit_in_bytes(32 * kMebibyte);
  const std::string id = Start(pod, config);
  EXPECT_EQ(told_.Metrics(id)["container_oom_events_total"], 0u);
  cri::ExecSyncResponse response;
  ASSERT_TRUE(Exec(id, {"/bin/tail", "-c", "1000000000", "/dev/zero"}, &response).ok());
  EXPECT_EQ(response.exit_code(), 137) << response.stderr();
  auto metrics = told_.Metrics(id);
  EXPECT_GT(metrics["container_oom_events_total"], 0u);
  EXPECT_EQ(metrics["container_oom_events_total"],
            KernelNumber(CgroupOf(pod, id), "memory",
                         IsV2() ? "memory.events" : "memory.oom_control", "oom_kill"));
  EXPECT_GT(metrics["container_memory_failcnt"], 0u);
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
}

}  // namespace
}  // namespace plimsoll::testing
