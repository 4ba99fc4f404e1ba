// LinuxContainerResources as only kubelet sends them.
#include "gmock/gmock.h"
#include "kubelet/kubelet_test.h"

namespace plimsoll::testing {
namespace {

using kubelet::BestEffort;
using kubelet::Burstable;
using kubelet::Guaranteed;
using kubelet::kMiB;
using kubelet::Resources;

class KubeletValuesTest : public KubeletTest {
 protected:
  static Resources Exclusive() {
    Resources resources = Guaranteed(1000, 64 * kMiB);
    resources.exclusive_cpus = "0";
    return resources;
  }
};

// cpu_quota -1 beside a CPU set.
TEST_F(KubeletValuesTest, AContainerWithExclusiveCpusStartsAndHasNoQuota) {
  const std::string pod = KubeletsPod("pinned", Exclusive());
  std::string id;
  const grpc::Status created =
      TryCreate(pod, kubelet::Container("main", 0, "sleep 1000", Exclusive()), &id);
  ASSERT_TRUE(created.ok()) << created.error_message();
  ASSERT_TRUE(TryStart(id).ok());
  EXPECT_EQ(Held("pinned", id).cpu_quota_us, -1);
  EXPECT_EQ(Held("pinned", id).cpu_period_us, 100000u);
  EXPECT_EQ(Held("pinned", id).cpuset_cpus, "0");
  EXPECT_EQ(Held("pinned", id).memory_limit_bytes, 64 * kMiB);
  // From shared CPUs to exclusive ones and back, by a resize.
  WriteGroup("pinned", Guaranteed(1000, 64 * kMiB));
  ASSERT_TRUE(Update(kubelet::Resize(id, Guaranteed(1000, 64 * kMiB))).ok());
  EXPECT_EQ(Held("pinned", id).cpu_quota_us, 100000);
  const grpc::Status lifted = Update(kubelet::Resize(id, Exclusive()));
  ASSERT_TRUE(lifted.ok()) << lifted.error_message();
  EXPECT_EQ(Held("pinned", id).cpu_quota_us, -1);
  const grpc::Status told = Update(kubelet::PodUpdate(pod, Exclusive()));
  EXPECT_TRUE(told.ok()) << told.error_message();
}

TEST_F(KubeletValuesTest, ABestEffortContainerHasTheLeastShares) {
  const std::string pod = KubeletsPod("spare", BestEffort());
  const std::string id = Start(pod, kubelet::Container("main", 0, "sleep 1000", BestEffort()));
  const uint64_t shares = Held("spare", id).cpu_shares.value_or(0);
  EXPECT_EQ(linux::CpuSharesToWeight(shares), linux::CpuSharesToWeight(2));
  EXPECT_EQ(Held("spare", id).cpu_quota_us, -1);
  EXPECT_EQ(Held("spare", id).memory_limit_bytes, -1);
  EXPECT_EQ(ExecOutput(id, "cat /proc/1/oom_score_adj"), "1000\n");
}

TEST_F(KubeletValuesTest, EachOomScoreIsTakenOrClippedAsAtTheNextUpdate) {
  const std::string pod = KubeletsPod("scores", Burstable(500, 64 * kMiB));
  for (const int64_t score : {-999, -998, -997, 2, 999, 1000}) {
    cri::ContainerConfig config = kubelet::Container(absl::StrCat("c", score + 1000), 0,
                                                     "sleep 1000", Burstable(500, 64 * kMiB));
    config.mutable_linux()->mutable_resources()->set_oom_score_adj(score);
    const std::string id = Start(pod, config);
    ASSERT_FALSE(id.empty()) << score;
    EXPECT_EQ(Status(id).resources().linux().oom_score_adj(), Lowest(score));
    cri::UpdateContainerResourcesRequest request;
    request.set_container_id(id);
    *request.mutable_linux() = config.linux().resources();
    const grpc::Status updated = Update(request);
    EXPECT_TRUE(updated.ok()) << score << ": " << updated.error_message();
    EXPECT_EQ(ExecOutput(id, "cat /proc/1/oom_score_adj"), absl::StrCat(Lowest(score), "\n"));
  }
}

// The CPU manager's reconciliation, every ten seconds: all but the CPU set stays.
TEST_F(KubeletValuesTest, ACpuSetAloneChangesNothingElse) {
  const std::string pod = KubeletsPod("web", Guaranteed(500, 64 * kMiB));
  const std::string id =
      Start(pod, kubelet::Container("main", 0, "sleep 1000", Guaranteed(500, 64 * kMiB)));
  linux::CgroupSettings before = Held("web", id);
  const grpc::Status pinned = Update(kubelet::PinCpus(id, "0"));
  ASSERT_TRUE(pinned.ok()) << pinned.error_message();
  before.cpuset_cpus = "0";
  EXPECT_EQ(Held("web", id), before);
}

// A pod whose group the client didn't make: it is Plimsoll's, with the pod's limits.
TEST_F(KubeletValuesTest, APodsOwnValuesAreThoseOfItsGroup) {
  const Resources resources = Guaranteed(500, 64 * kMiB);
  cri::PodSandboxConfig config = kubelet::PodSandbox(
      "own", absl::StrCat(node_.cgroup_parent(), "/unmade/pod1"), "", resources);
  *config.mutable_linux()->mutable_resources() = kubelet::LinuxResources(resources);
  std::string pod;
  const grpc::Status run = TryRunPod(config, &pod);
  ASSERT_TRUE(run.ok()) << run.error_message();
  const std::string group = config.linux().cgroup_parent();
  EXPECT_EQ(Cgroups().Read(group)->memory_limit_bytes, 64 * kMiB);
  cri::UpdatePodSandboxResourcesRequest request =
      kubelet::PodUpdate(pod, Guaranteed(500, 96 * kMiB));
  *request.mutable_resources() = kubelet::LinuxResources(Guaranteed(500, 96 * kMiB));
  const grpc::Status updated = Update(request);
  ASSERT_TRUE(updated.ok()) << updated.error_message();
  EXPECT_EQ(Cgroups().Read(group)->memory_limit_bytes, 96 * kMiB);
}

}  // namespace
}  // namespace plimsoll::testing
