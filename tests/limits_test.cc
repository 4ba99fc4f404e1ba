// Limits: requested, held by the kernel, effective on the workload, changed while it runs.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "harness/cgroup_layout.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/capabilities.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class LimitsTest : public NodeTest {
 protected:
  cri::ContainerConfig Limited(const std::string& script) {
    cri::ContainerConfig config = Shell(script);
    cri::LinuxContainerResources* resources = config.mutable_linux()->mutable_resources();
    resources->set_cpu_shares(512);
    resources->set_cpu_period(100000);
    resources->set_cpu_quota(50000);
    resources->set_memory_limit_in_bytes(64 * kMiB);
    resources->set_cpuset_cpus("0");
    resources->set_oom_score_adj(500);
    return config;
  }
  uint64_t CpuNanos(const std::string& pod, const std::string& container) {
    return Cgroups().Stats(CgroupOf(pod, container))->cpu_usage_ns;
  }
};

// A daemon with a lower soft limit: if both limits were alike at its start, containers would
// inherit the right ones by chance.
class DescriptorLimitTest : public NodeTest {
 protected:
  DescriptorLimitTest() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const struct rlimit lower = {.rlim_cur = std::min<rlim_t>(before_.rlim_max, 777),
                                 .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~DescriptorLimitTest() override { setrlimit(RLIMIT_NOFILE, &before_); }

  std::string Expected() const {
    return absl::StrCat(std::min<rlim_t>(before_.rlim_max, 777), "\n", before_.rlim_max, "\n");
  }

 private:
  struct rlimit before_ = {};
};

TEST_F(LimitsTest, TheKernelHoldsWhatWasAskedFor) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Limited("sleep 1000"));
  const auto held = Cgroups().Read(CgroupOf(pod, id));
  ASSERT_TRUE(held.ok()) << held.status();
  ASSERT_TRUE(held->cpu_shares.has_value());
  EXPECT_TRUE(HoldsShares(*held->cpu_shares, 512)) << *held->cpu_shares;
  EXPECT_EQ(held->cpu_quota_us, 50000);
  EXPECT_EQ(held->cpu_period_us, 100000u);
  EXPECT_EQ(held->memory_limit_bytes, 64 * kMiB);
  EXPECT_EQ(held->cpuset_cpus, "0");
  EXPECT_EQ(ExecOutput(id, "cat /proc/1/oom_score_adj"), "500\n");
  EXPECT_EQ(ExecOutput(id, "cat /proc/self/oom_score_adj"), "500\n") << "of what enters it";
  EXPECT_THAT(ExecOutput(id, "grep Cpus_allowed_list /proc/1/status"), HasSubstr("\t0\n"));
}

TEST_F(LimitsTest, StatusReadsTheKernelNotTheRequest) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Limited("sleep 1000"));
  EXPECT_EQ(Status(id).resources().linux().memory_limit_in_bytes(), 64 * kMiB);
  // Another process changes it: the status follows.
  ASSERT_TRUE(Cgroups().Apply(CgroupOf(pod, id), {.memory_limit_bytes = 96 * kMiB}).ok());
  const cri::LinuxContainerResources now = Status(id).resources().linux();
  EXPECT_EQ(now.memory_limit_in_bytes(), 96 * kMiB);
  EXPECT_EQ(now.cpu_shares(), 512);
  EXPECT_EQ(now.cpu_quota(), 50000);
  EXPECT_EQ(now.cpuset_cpus(), "0");
  EXPECT_EQ(now.oom_score_adj(), 500);
}

TEST_F(LimitsTest, LastValuesStayAfterTheEnd) {
  const std::string id = Start(RunPod(), Limited("true"));
  AwaitExit(id);
  EXPECT_EQ(Status(id).resources().linux().memory_limit_in_bytes(), 64 * kMiB);
}

TEST_F(LimitsTest, AMemoryHogIsOomKilled) {
  cri::ContainerConfig config = Limited("tail -c 1000000000 /dev/zero > /dev/null");
  config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(16 * kMiB);
  const cri::ContainerStatus status = AwaitExit(Start(RunPod(), config));
  EXPECT_EQ(status.reason(), "OOMKilled");
  EXPECT_EQ(status.exit_code(), 137);
}

TEST_F(LimitsTest, ABusyLoopGetsItsShareOfTheCpu) {
  const std::string pod = RunPod();
  cri::ContainerConfig quarter = Limited("while :; do :; done");
  quarter.mutable_linux()->mutable_resources()->set_cpu_quota(25000);
  const std::string id = Start(pod, quarter);
  const absl::Time begin = absl::Now();
  const uint64_t before = CpuNanos(pod, id);
  ASSERT_TRUE(Eventually([&] { return absl::Now() - begin > absl::Seconds(2); }));
  const double used = static_cast<double>(CpuNanos(pod, id) - before);
  const double share = used / static_cast<double>(absl::ToInt64Nanoseconds(absl::Now() - begin));
  EXPECT_LT(share, 0.35);
  EXPECT_GT(share, 0.02);  // the machine's load decides how much of its 0.25 it gets
}

TEST_F(LimitsTest, SharesDivideACpuThatTwoWant) {
  const std::string pod = RunPod();
  const auto busy = [&](int64_t shares) {
    cri::ContainerConfig config = Shell("echo on; while :; do :; done");
    config.mutable_linux()->mutable_resources()->set_cpu_shares(shares);
    config.mutable_linux()->mutable_resources()->set_cpuset_cpus("1");
    return Start(pod, config);
  };
  const std::string small = busy(256);
  const std::string large = busy(1024);
  for (const std::string& id : {small, large}) {
    ASSERT_TRUE(Eventually([&] { return Output(id) == "on\n"; })) << "it doesn't run yet";
  }
  const uint64_t small_before = CpuNanos(pod, small);
  const uint64_t large_before = CpuNanos(pod, large);
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(Eventually([&] { return absl::Now() - begin > absl::Seconds(3); }));
  const double ratio = static_cast<double>(CpuNanos(pod, large) - large_before) /
                       static_cast<double>(CpuNanos(pod, small) - small_before);
  EXPECT_GT(ratio, 2.0);
  EXPECT_LT(ratio, 8.0);
}

TEST_F(LimitsTest, UpdateChangesARunningContainer) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Limited("sleep 1000"));
  cri::LinuxContainerResources update;
  update.set_cpu_quota(75000);
  update.set_memory_limit_in_bytes(128 * kMiB);
  update.set_cpuset_cpus("0-1");
  const grpc::Status updated = TryUpdate(id, update);
  ASSERT_TRUE(updated.ok()) << updated.error_message();
  const auto held = Cgroups().Read(CgroupOf(pod, id));
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->cpu_quota_us, 75000);
  EXPECT_EQ(held->memory_limit_bytes, 128 * kMiB);
  EXPECT_EQ(held->cpuset_cpus, "0-1");
  EXPECT_TRUE(HoldsShares(held->cpu_shares.value_or(0), 512))
      << "what an update does not name stays";
  EXPECT_EQ(Status(id).resources().linux().cpu_quota(), 75000);
}

// On v1 the kernel gives a group nothing that its parent lacks, and takes nothing from a parent
// that a group within it has.
TEST_F(LimitsTest, OnV1ContainersFollowTheirPodsCpuset) {
  if (Cgroups().layout() == linux::CgroupLayout::kV2) GTEST_SKIP() << "the kernel does it on v2";
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell("sleep 1000"));
  const auto update = [&](const std::string& cpus) {
    cri::UpdatePodSandboxResourcesRequest request;
    request.set_pod_sandbox_id(pod);
    request.mutable_resources()->set_cpuset_cpus(cpus);
    cri::UpdatePodSandboxResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdatePodSandboxResources(&context, request, &response);
  };
  const auto held = [&] { return Cgroups().Read(CgroupOf(pod, id))->cpuset_cpus.value_or(""); };
  for (const std::string cpus : {"0", "0-1", "1"}) {
    const grpc::Status updated = update(cpus);
    ASSERT_TRUE(updated.ok()) << updated.error_message();
    EXPECT_EQ(held(), cpus);
  }
  ASSERT_TRUE(update("0-1").ok());
  cri::LinuxContainerResources own;
  own.set_cpuset_cpus("1");
  ASSERT_TRUE(TryUpdate(id, own).ok());
  const std::string other = Start(pod, Shell("sleep 1000"));
  const grpc::Status refused = update("0");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("leaves out CPUs 1"));
  EXPECT_EQ(held(), "1");
  EXPECT_EQ(Cgroups().Read(CgroupOf(pod, other))->cpuset_cpus.value_or(""), "0-1") << "as before";
}

TEST_F(LimitsTest, ARefusedUpdateChangesNothing) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Limited("sleep 1000"));
  const auto before = Cgroups().Read(CgroupOf(pod, id));
  cri::LinuxContainerResources update;
  update.set_cpu_shares(700);
  update.set_memory_limit_in_bytes(100 * kMiB);
  update.set_cpuset_cpus("4000");
  const grpc::Status status = TryUpdate(id, update);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.error_message(), HasSubstr("no CPU 4000; it has "));
  EXPECT_EQ(*Cgroups().Read(CgroupOf(pod, id)), *before);
}

TEST_F(LimitsTest, AnUpdateOfAnExitedContainerIsRefused) {
  const std::string id = Start(RunPod(), Shell("true"));
  AwaitExit(id);
  cri::LinuxContainerResources update;
  update.set_cpu_shares(700);
  EXPECT_EQ(TryUpdate(id, update).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(LimitsTest, CgroupParentIsUsedInBothSpellings) {
  for (const bool slice : {false, true}) {
    const std::string name = absl::StrCat("plimsoll-test-", getpid(), "p");
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_linux()->set_cgroup_parent(
        slice ? absl::StrCat(name, ".slice")
              : absl::StrCat(node_.cgroup_parent(), "/kubepods/pod1"));
    const std::string pod = RunPod(config);
    const std::string id = Start(pod, Shell("sleep 1000"));
    const std::string parent =
        slice ? absl::StrCat("/plimsoll.slice/plimsoll-test.slice/", name, ".slice")
              : absl::StrCat(node_.cgroup_parent(), "/kubepods/pod1");
    const auto inside = Cgroups().Processes(parent, /*recursive=*/true);
    ASSERT_TRUE(inside.ok()) << inside.status();
    EXPECT_THAT(*inside, SizeIs(1)) << id;
    EXPECT_TRUE(RemovePod(pod).ok());
  }
  // The slice's parents were made for the pod and go with it.
  EXPECT_FALSE(CgroupExists("/plimsoll.slice"));
}

TEST_F(DescriptorLimitTest, AContainerHasWhatTheDaemonWasStartedWith) {
  const std::string script = "ulimit -Sn; ulimit -Hn";
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell(script + "; sleep 1000"));
  EXPECT_TRUE(Eventually([&] { return Output(id) == Expected(); })) << Output(id);
  for (const int64_t timeout_seconds : {0, 60}) {
    cri::ExecSyncResponse response;
    const grpc::Status status = Exec(id, {"/bin/sh", "-c", script}, &response, timeout_seconds);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.stdout(), Expected()) << "of what enters it";
  }
}

TEST_F(LimitsTest, OomScoreAdjOfZeroIsNotInherited) {
  cri::ContainerConfig config = Shell("cat /proc/self/oom_score_adj");
  const std::string id = Start(RunPod(), config);
  AwaitExit(id);
  const std::string own = *Host().Read("proc/self/oom_score_adj");
  int own_value = 0;
  ASSERT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(own), &own_value));
  EXPECT_EQ(Output(id), absl::StrCat(std::max(own_value, 0), "\n"));
}

TEST_F(LimitsTest, AWishForALowerOomScoreIsClampedWhereTheMachineForbidsIt) {
  cri::ContainerConfig config = Shell("cat /proc/self/oom_score_adj");
  config.mutable_linux()->mutable_resources()->set_oom_score_adj(-998);
  const std::string id = Start(RunPod(), config);
  EXPECT_EQ(AwaitExit(id).exit_code(), 0);
  const bool may_lower = linux::HasCapability(Host(), 24).value_or(false);
  EXPECT_EQ(Output(id), may_lower ? "-998\n" : *Host().Read("proc/self/oom_score_adj"));
}

}  // namespace
}  // namespace plimsoll::testing
