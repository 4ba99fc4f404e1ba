// Statistics of containers and pods.
#include <glob.h>

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

bool Exists(const char* pattern) {
  glob_t found = {};
  const bool any = glob(pattern, 0, nullptr, &found) == 0;
  globfree(&found);
  return any;
}

// For control groups. cgroup v1 has no pressure.
bool KernelTellsPressure() {
  return Exists("/sys/fs/cgroup/cgroup.controllers") && Exists("/sys/fs/cgroup/*/memory.pressure");
}
bool KernelCountsSwap() {
  return Exists("/sys/fs/cgroup/memory/memory.memsw.usage_in_bytes") ||
         Exists("/sys/fs/cgroup/*/memory.swap.current");
}

void ExpectPressure(const cri::PsiStats& psi, const char* of) {
  for (const auto& [name, line] : {std::pair("some", &psi.some()), {"full", &psi.full()}}) {
    SCOPED_TRACE(absl::StrCat(name, " ", of));
    for (const double share : {line->avg10(), line->avg60(), line->avg300()}) {
      EXPECT_GE(share, 0);
      EXPECT_LE(share, 100);
    }
  }
  EXPECT_LE(psi.full().total(), psi.some().total()) << of;
}

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class StatsTest : public CriTest {
 protected:
  absl::StatusOr<cri::ContainerStats> TryStats(const std::string& container) {
    cri::ContainerStatsRequest request;
    request.set_container_id(container);
    const auto response = client_.Ask<cri::ContainerStatsResponse>(request);
    if (!response.ok()) return response.status();
    return response->stats();
  }
  cri::ContainerStats Stats(const std::string& container) {
    const auto stats = TryStats(container);
    EXPECT_OK(stats) << "ContainerStats";
    return stats.value_or(cri::ContainerStats());
  }
  std::vector<std::string> ListStats(const cri::ContainerStatsFilter& filter) {
    cri::ListContainerStatsRequest request;
    *request.mutable_filter() = filter;
    const auto response = client_.Ask<cri::ListContainerStatsResponse>(request);
    EXPECT_OK(response) << "ListContainerStats";
    std::vector<std::string> ids;
    if (!response.ok()) return ids;
    for (const cri::ContainerStats& stats : response->stats())
      ids.push_back(stats.attributes().id());
    return ids;
  }
  absl::StatusOr<cri::PodSandboxStats> TryPodStats(const std::string& pod) {
    cri::PodSandboxStatsRequest request;
    request.set_pod_sandbox_id(pod);
    const auto response = client_.Ask<cri::PodSandboxStatsResponse>(request);
    if (!response.ok()) return response.status();
    return response->stats();
  }
  cri::LinuxPodSandboxStats PodStats(const std::string& pod) {
    const auto stats = TryPodStats(pod);
    EXPECT_TRUE(stats.ok() || IsLacking(stats.status())) << stats.status();
    return stats.ok() ? stats->linux() : cri::LinuxPodSandboxStats();
  }
  // Another runtime may lack fields; the run's own plimsolld has all that the kernel counts.
  bool MayLack() const { return !session_.own_runtime(); }
};

PROMISE_TEST(StatsTest, SayWhoseTheyAre,
             "A container's statistics have its id, metadata, labels and annotations") {
  cri::ContainerConfig config = Sleeper();
  config.mutable_metadata()->set_attempt(2);
  (*config.mutable_labels())["part"] = "mast";
  (*config.mutable_annotations())["example.test/note"] = "kept";
  const std::string id = Start(RunPod(), config);
  const cri::ContainerAttributes attributes = Stats(id).attributes();
  EXPECT_EQ(attributes.id(), id);
  EXPECT_EQ(attributes.metadata().name(), config.metadata().name());
  EXPECT_EQ(attributes.metadata().attempt(), 2u);
  EXPECT_EQ(attributes.labels().at("part"), "mast");
  EXPECT_EQ(attributes.annotations().at("example.test/note"), "kept");
}

PROMISE_TEST(StatsTest, CpuTimeGrowsWithWork,
             "CPU time is counted in nanoseconds, with the time at which it was read, and grows "
             "with what the container computes") {
  const int64_t start = absl::GetCurrentTimeNanos();
  const std::string id = Start(RunPod(), Sleeper());
  const cri::CpuUsage before = Stats(id).cpu();
  EXPECT_GE(before.timestamp(), start);
  EXPECT_LE(before.timestamp(), absl::GetCurrentTimeNanos());
  EXPECT_GT(before.usage_core_nano_seconds().value(), 0u);
  Exec(id, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
  const cri::CpuUsage after = Stats(id).cpu();
  EXPECT_GE(after.timestamp(), before.timestamp());
  // Such a loop takes more than this on any processor.
  EXPECT_GT(after.usage_core_nano_seconds().value(),
            before.usage_core_nano_seconds().value() + 5'000'000);
}

PROMISE_TEST(StatsTest, NanoCoresAreWhatItUsesNow,
             "Nano cores of a container and of its pod are what they have used in each second "
             "since statistics were asked for before, at least a second ago") {
  const std::string pod = RunPod();
  const std::string busy = Start(pod, Shell("while :; do :; done"));
  const std::string idle = Start(pod, Sleeper());
  cri::CpuUsage of_busy;
  cri::CpuUsage of_idle;
  cri::CpuUsage of_pod;
  const bool all = Eventually([&] {
    of_busy = Stats(busy).cpu();
    of_idle = Stats(idle).cpu();
    of_pod = PodStats(pod).cpu();
    return HasFailure() || (of_busy.has_usage_nano_cores() && of_idle.has_usage_nano_cores() &&
                            of_pod.has_usage_nano_cores());
  });
  if (!all && MayLack()) GTEST_SKIP() << "the statistics have no usage_nano_cores";
  ASSERT_TRUE(all) << "no nano cores of the container or of its pod";
  // A loop gets a hundredth of a processor even on the busiest machine.
  EXPECT_GT(of_busy.usage_nano_cores().value(), 10'000'000u);
  EXPECT_GT(of_pod.usage_nano_cores().value(), 10'000'000u);
  EXPECT_LT(of_idle.usage_nano_cores().value(), of_busy.usage_nano_cores().value());
}

PROMISE_TEST(StatsTest, MemoryIsWhatItHolds,
             "The working set of a container grows with the memory that it takes") {
  const std::string id = Start(RunPod(), Sleeper());
  const uint64_t before = Stats(id).memory().working_set_bytes().value();
  EXPECT_GT(before, 0u);
  Exec(id, "head -c 20000000 /dev/zero > /dev/shm/cargo");
  EXPECT_TRUE(Eventually([&] {
    return Stats(id).memory().working_set_bytes().value() > before + 18'000'000 || HasFailure();
  })) << Stats(id).memory().ShortDebugString();
  EXPECT_GT(Stats(id).memory().timestamp(), 0);
}

PROMISE_TEST(StatsTest, RssIsItsAnonymousMemory,
             "rss_bytes has what the processes of a container hold of their own and leaves out "
             "files in memory; page faults are counted") {
  const std::string pod = RunPod();
  const std::string holder =
      Start(pod, Shell("x=$(head -c 8000000 /dev/zero | tr '\\0' y); echo ${#x} > /tmp/held; "
                       "sleep 100000; echo \"$x\""));
  const std::string filer =
      Start(pod, Shell("head -c 20000000 /dev/zero > /dev/shm/cargo; echo > /tmp/held; "
                       "sleep 100000; :"));
  if (!Stats(holder).memory().has_rss_bytes() && MayLack()) {
    GTEST_SKIP() << "the statistics have no rss_bytes";
  }
  for (const std::string& id : {holder, filer}) AwaitFile(id, "/tmp/held");
  cri::MemoryUsage held;
  cri::MemoryUsage filed;
  // The kernel updates its sums with a delay.
  EXPECT_TRUE(Eventually([&] {
    held = Stats(holder).memory();
    filed = Stats(filer).memory();
    return HasFailure() ||
           (held.rss_bytes().value() >= 8'000'000 && filed.usage_bytes().value() >= 20'000'000);
  })) << held.ShortDebugString()
      << filed.ShortDebugString();
  EXPECT_LT(filed.rss_bytes().value(), 8'000'000u);
  EXPECT_GE(held.usage_bytes().value(), 8'000'000u);
  EXPECT_GT(held.page_faults().value(), 0u);
  EXPECT_TRUE(held.has_major_page_faults());
  cri::MemoryUsage of_pod;
  EXPECT_TRUE(Eventually([&] {
    of_pod = PodStats(pod).memory();
    return HasFailure() || of_pod.rss_bytes().value() >= 8'000'000 ||
           (MayLack() && !of_pod.has_rss_bytes());
  })) << of_pod.ShortDebugString();
}

PROMISE_TEST(StatsTest, SwapIsUsageAndWhatTheLimitsLeave,
             "Where the kernel counts swap, the statistics of a container have its usage and, with "
             "limits of memory and of both together, what is left") {
  if (!KernelCountsSwap()) GTEST_SKIP() << "this kernel's control groups count no swap";
  cri::ContainerConfig config = Sleeper();
  cri::LinuxContainerResources& limits = *config.mutable_linux()->mutable_resources();
  limits.set_memory_limit_in_bytes(64 << 20);
  limits.set_memory_swap_limit_in_bytes(96 << 20);
  const cri::ContainerStats stats = Stats(Start(RunPod(), config));
  if (!stats.has_swap() && MayLack()) GTEST_SKIP() << "the statistics have no swap";
  const cri::SwapUsage& swap = stats.swap();
  EXPECT_GT(swap.timestamp(), 0);
  ASSERT_TRUE(swap.has_swap_usage_bytes()) << swap.ShortDebugString();
  EXPECT_LT(swap.swap_usage_bytes().value(), uint64_t{32} << 20);
  if (!swap.has_swap_available_bytes() && MayLack()) return;
  // Other limits cap the sum of both: the available swap counts none of the memory.
  EXPECT_EQ(swap.swap_available_bytes().value() + swap.swap_usage_bytes().value(),
            uint64_t{32} << 20)
      << swap.ShortDebugString();
}

PROMISE_TEST(
    StatsTest, PressureIsWhatTheKernelTells,
    "Where the kernel reports the pressure of control groups, the statistics of containers "
    "and pods have that of CPU, memory and I/O; that of CPU grows while processes wait") {
  if (!KernelTellsPressure()) GTEST_SKIP() << "this kernel reports no pressure of control groups";
  const std::string pod = RunPod();
  const std::string id = Start(pod, Sleeper());
  const cri::ContainerStats before = Stats(id);
  if (!before.cpu().has_psi() && MayLack()) GTEST_SKIP() << "the statistics have no pressure";
  EXPECT_TRUE(before.memory().has_psi());
  EXPECT_TRUE(before.io().has_psi());
  ExpectPressure(before.cpu().psi(), "of CPU");
  ExpectPressure(before.memory().psi(), "of memory");
  ExpectPressure(before.io().psi(), "of I/O");
  const cri::LinuxPodSandboxStats of_pod = PodStats(pod);
  EXPECT_TRUE(of_pod.cpu().has_psi() && of_pod.memory().has_psi() && of_pod.io().has_psi())
      << of_pod.ShortDebugString();
  // More loops than processors: one of them always waits.
  Start(pod, Shell(absl::StrCat("i=0; while [ $i -lt ", std::thread::hardware_concurrency(),
                                " ]; do while :; do :; done & i=$((i+1)); done; "
                                "while :; do :; done")));
  EXPECT_TRUE(Eventually([&] {
    const uint64_t total = PodStats(pod).cpu().psi().some().total();
    return HasFailure() || total > of_pod.cpu().psi().some().total() + 100'000'000;
  })) << "the pod's processes have waited for less than 0.1 s";
}

PROMISE_TEST(StatsTest, AvailableMemoryIsWhatItsLimitLeaves,
             "The available memory of a container with a limit is less than the limit") {
  cri::ContainerConfig config = Sleeper();
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(64 << 20);
  const cri::MemoryUsage memory = Stats(Start(RunPod(), config)).memory();
  if (!memory.has_available_bytes()) GTEST_SKIP() << "the statistics have no available_bytes";
  EXPECT_GT(memory.available_bytes().value(), 0u);
  EXPECT_LT(memory.available_bytes().value(), uint64_t{64} << 20);
}

PROMISE_TEST(
    StatsTest, TheWritableLayerIsWhatItWrote,
    "The writable layer grows with what the container writes to its root, within a minute") {
  const std::string id = Start(RunPod(), Sleeper());
  if (!Stats(id).has_writable_layer()) {
    GTEST_SKIP() << "the statistics have no writable layer (kubelet then asks the file system)";
  }
  Exec(id, "head -c 8000000 /dev/urandom > /cargo; sync");
  EXPECT_TRUE(Eventually(
      [&] { return Stats(id).writable_layer().used_bytes().value() >= 8'000'000 || HasFailure(); },
      absl::Seconds(60)))
      << Stats(id).writable_layer().ShortDebugString();
  EXPECT_THAT(Stats(id).writable_layer().fs_id().mountpoint(), Not(IsEmpty()));
}

PROMISE_TEST(StatsTest, AreFiltered,
             "ListContainerStats gives those for which all parts of the filter hold") {
  const std::string pod = RunPod();
  const std::string other_pod = RunPod();
  cri::ContainerConfig config = Sleeper();
  const std::string label = NextName("label");
  (*config.mutable_labels())["part"] = label;
  const std::string labelled = Start(pod, config);
  const std::string plain = Start(pod, Sleeper());
  const std::string other = Start(other_pod, config);
  cri::ContainerStatsFilter filter;
  EXPECT_THAT(ListStats(filter), Contains(other));
  filter.set_pod_sandbox_id(pod);
  EXPECT_THAT(ListStats(filter), UnorderedElementsAre(labelled, plain));
  (*filter.mutable_label_selector())["part"] = label;
  EXPECT_THAT(ListStats(filter), UnorderedElementsAre(labelled));
  filter.clear_pod_sandbox_id();
  EXPECT_THAT(ListStats(filter), UnorderedElementsAre(labelled, other));
  cri::ContainerStatsFilter by_id;
  by_id.set_id(plain);
  EXPECT_THAT(ListStats(by_id), UnorderedElementsAre(plain));
}

PROMISE_TEST(StatsTest, OfAnUnknownOneAreAnError,
             "Statistics of a container that isn't there are an error") {
  EXPECT_FALSE(TryStats(std::string(64, '0')).ok());
}

PROMISE_TEST(StatsTest, APodsAreThoseOfAllInIt,
             "A pod's statistics have its attributes, CPU, memory and processes, and those of each "
             "of its running containers") {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_labels())["tier"] = "front";
  const std::string pod = RunPod(config);
  const std::string one = Start(pod, Sleeper());
  const std::string two = Start(pod, Sleeper());
  const auto stats = TryPodStats(pod);
  if (IsLacking(stats.status())) GTEST_SKIP() << stats.status().message();
  ASSERT_OK(stats);
  EXPECT_EQ(stats->attributes().id(), pod);
  EXPECT_EQ(stats->attributes().metadata().uid(), config.metadata().uid());
  EXPECT_EQ(stats->attributes().labels().at("tier"), "front");
  const cri::LinuxPodSandboxStats& linux = stats->linux();
  EXPECT_GT(linux.cpu().usage_core_nano_seconds().value(), 0u);
  EXPECT_GT(linux.memory().working_set_bytes().value(), 0u);
  EXPECT_GE(linux.process().process_count().value(), 2u);
  std::vector<std::string> ids;
  for (const cri::ContainerStats& each : linux.containers()) {
    ids.push_back(each.attributes().id());
  }
  EXPECT_THAT(ids, UnorderedElementsAre(one, two));
}

PROMISE_TEST(StatsTest, PodsAreFiltered,
             "ListPodSandboxStats gives those for which all parts of the filter hold") {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_labels())["tier"] = "front";
  const std::string front = RunPod(config);
  const std::string plain = RunPod();
  for (const std::string& pod : {front, plain}) Start(pod, Sleeper());
  cri::ListPodSandboxStatsRequest request;
  (*request.mutable_filter()->mutable_label_selector())[kRunLabel] = session_.run();
  const auto ids = [&] {
    std::vector<std::string> found;
    const auto response = client_.Ask<cri::ListPodSandboxStatsResponse>(request);
    EXPECT_TRUE(response.ok() || IsLacking(response.status())) << response.status();
    if (!response.ok()) return found;
    for (const auto& stats : response->stats()) found.push_back(stats.attributes().id());
    return found;
  };
  if (IsLacking(client_.Ask<cri::ListPodSandboxStatsResponse>(request).status())) {
    GTEST_SKIP() << "ListPodSandboxStats is not served";
  }
  EXPECT_THAT(ids(), UnorderedElementsAre(front, plain));
  (*request.mutable_filter()->mutable_label_selector())["tier"] = "front";
  EXPECT_THAT(ids(), UnorderedElementsAre(front));
  request.mutable_filter()->set_id(plain);
  EXPECT_THAT(ids(), IsEmpty());
}

PROMISE_TEST(StatsTest, StreamedOnesAreTheListed,
             "StreamContainerStats and StreamPodSandboxStats give what the List calls give") {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Sleeper());
  cri::StreamContainerStatsRequest of_containers;
  of_containers.mutable_filter()->set_pod_sandbox_id(pod);
  auto stream = client_.Open(of_containers, absl::Seconds(30));
  cri::StreamContainerStatsResponse containers;
  std::vector<std::string> ids;
  while (stream->Read(&containers)) {
    for (const auto& stats : containers.container_stats()) ids.push_back(stats.attributes().id());
  }
  absl::Status status = stream->Finish();
  if (IsLacking(status)) GTEST_SKIP() << status.message();
  EXPECT_OK(status);
  EXPECT_THAT(ids, UnorderedElementsAre(id));
  cri::StreamPodSandboxStatsRequest of_pods;
  of_pods.mutable_filter()->set_id(pod);
  stream = client_.Open(of_pods, absl::Seconds(30));
  cri::StreamPodSandboxStatsResponse pods;
  ids.clear();
  while (stream->Read(&pods)) {
    for (const auto& stats : pods.pod_sandbox_stats()) ids.push_back(stats.attributes().id());
  }
  EXPECT_OK(stream->Finish());
  EXPECT_THAT(ids, UnorderedElementsAre(pod));
}

}  // namespace
}  // namespace plimsoll::conformance
