// Resize in place.
#include "gmock/gmock.h"
#include "kubelet/kubelet_test.h"

namespace plimsoll::testing {
namespace {

using kubelet::BestEffort;
using kubelet::Burstable;
using kubelet::Guaranteed;
using kubelet::kMiB;
using kubelet::Resources;

class KubeletResizeTest : public KubeletTest {
 protected:
  explicit KubeletResizeTest(const std::string& extra_config = "") : KubeletTest(extra_config) {}

  // In kubelet's order: tell the pod, raise its group, resize the container.
  void ResizesFromTo(const std::string& name, const Resources& before, const Resources& after) {
    SCOPED_TRACE(name);
    const std::string pod = KubeletsPod(name, before);
    const std::string id = Start(pod, kubelet::Container("main", 0, "sleep 1000", before));
    ASSERT_FALSE(id.empty());
    EXPECT_EQ(Status(id).resources().linux().oom_score_adj(),
              Lowest(kubelet::LinuxResources(before).oom_score_adj()));
    const grpc::Status told = Update(kubelet::PodUpdate(pod, after));
    ASSERT_TRUE(told.ok()) << told.error_message();
    WriteGroup(name, after);
    const grpc::Status resized = Update(kubelet::Resize(id, after));
    ASSERT_TRUE(resized.ok()) << resized.error_message();
    const linux::CgroupSettings held = Held(name, id);
    if (after.cpu_limit_milli != 0) {
      EXPECT_EQ(held.cpu_quota_us, after.cpu_limit_milli * 100);
    }
    if (after.memory_limit_bytes != 0) {
      EXPECT_EQ(held.memory_limit_bytes, after.memory_limit_bytes);
    }
    const cri::LinuxContainerResources shown = Status(id).resources().linux();
    EXPECT_EQ(shown.oom_score_adj(), Lowest(kubelet::LinuxResources(after).oom_score_adj()));
    EXPECT_EQ(shown.memory_limit_in_bytes(), held.memory_limit_bytes);
    EXPECT_EQ(ExecOutput(id, "cat /proc/1/oom_score_adj"),
              absl::StrCat(shown.oom_score_adj(), "\n"));
  }
};

TEST_F(KubeletResizeTest, EveryQosClass) {
  ResizesFromTo("guaranteed", Guaranteed(500, 64 * kMiB), Guaranteed(1000, 128 * kMiB));
  ResizesFromTo("burstable", Burstable(500, 64 * kMiB), Burstable(1000, 128 * kMiB));
  ResizesFromTo("besteffort", BestEffort(), BestEffort());
}

TEST_F(KubeletResizeTest, DownAgain) {
  const std::string pod = KubeletsPod("web", Guaranteed(1000, 128 * kMiB));
  const std::string id =
      Start(pod, kubelet::Container("main", 0, "sleep 1000", Guaranteed(1000, 128 * kMiB)));
  for (const int64_t size : {96, 64, 160}) {
    const Resources after = Guaranteed(size * 10, size * kMiB);
    if (size == 160) WriteGroup("web", after);  // the pod is raised first, and lowered last
    const grpc::Status resized = Update(kubelet::Resize(id, after));
    ASSERT_TRUE(resized.ok()) << resized.error_message();
    if (size != 160) WriteGroup("web", after);
    EXPECT_EQ(Held("web", id).memory_limit_bytes, size * kMiB);
    EXPECT_EQ(Held("web", id).cpu_quota_us, size * 1000);
  }
}

// The recorded limits exceed the machine; a restarted daemon has to live with them.
TEST_F(KubeletResizeTest, AfterARestartOfTheDaemonToo) {
  const std::string pod = KubeletsPod("web", Guaranteed(500, 64 * kMiB));
  const std::string id =
      Start(pod, kubelet::Container("main", 0, "sleep 1000", Guaranteed(500, 64 * kMiB)));
  node_.KillDaemon();
  // A kill in the middle of an update.
  ASSERT_TRUE(
      Host().ReplaceFile(absl::StrCat(node_.run_directory(), "/updates/", id), "", 0600).ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_THAT(node_.Log(), ::testing::Not(::testing::HasSubstr("interrupted")));
  const Resources after = Guaranteed(1000, 128 * kMiB);
  WriteGroup("web", after);
  const grpc::Status resized = Update(kubelet::Resize(id, after));
  ASSERT_TRUE(resized.ok()) << resized.error_message();
  EXPECT_EQ(Held("web", id).memory_limit_bytes, 128 * kMiB);
}

// A failed resize leaves the container as it was: here its quota, which is above its pod's.
TEST_F(KubeletResizeTest, AFailureIsNotHalfDone) {
  if (Cgroups().layout() == linux::CgroupLayout::kV2) {
    GTEST_SKIP() << "only cgroup v1 refuses a quota above the pod's";
  }
  const std::string pod = KubeletsPod("web", Guaranteed(500, 64 * kMiB));
  const std::string id =
      Start(pod, kubelet::Container("main", 0, "sleep 1000", Guaranteed(500, 64 * kMiB)));
  const linux::CgroupSettings before = Held("web", id);
  EXPECT_FALSE(Update(kubelet::Resize(id, Guaranteed(1000, 64 * kMiB))).ok());
  EXPECT_EQ(Held("web", id), before);
  EXPECT_EQ(Status(id).resources().linux().oom_score_adj(), Lowest(-997));
}

class RestrictedOomScoreTest : public KubeletResizeTest {
 protected:
  RestrictedOomScoreTest() : KubeletResizeTest("restrict_oom_score_adj: \"true\"\n") {}
};

TEST_F(RestrictedOomScoreTest, AGuaranteedContainerIsResized) {
  const std::string pod = KubeletsPod("web", Guaranteed(500, 64 * kMiB));
  const std::string id =
      Start(pod, kubelet::Container("main", 0, "sleep 1000", Guaranteed(500, 64 * kMiB)));
  const int64_t own = Status(id).resources().linux().oom_score_adj();
  EXPECT_GE(own, 0);
  const grpc::Status resized = Update(kubelet::Resize(id, Guaranteed(500, 96 * kMiB)));
  EXPECT_FALSE(resized.ok() && Held("web", id).memory_limit_bytes != 96 * kMiB);
  EXPECT_TRUE(resized.ok()) << resized.error_message();
  EXPECT_EQ(Status(id).resources().linux().oom_score_adj(), own);
}

}  // namespace
}  // namespace plimsoll::testing
