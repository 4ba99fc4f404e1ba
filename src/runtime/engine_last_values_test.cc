// The reported resources of ended containers.
#include <algorithm>
#include <atomic>

#include "linux/process.h"
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

// The fakes' containers have the test's own values, whatever is asked for, and can't have less.
class EngineLastValuesTest : public EngineTest {
 protected:
  std::string MakeOne() {
    const std::string pod = *engine_->RunSandbox(PodSpec(), "");
    ContainerSpec spec = Spec();
    spec.oom_score_adj = own_ == -997 ? -996 : -997;
    return *engine_->CreateContainer(pod, spec, "");
  }
  int Higher() const { return std::min(1000, own_ + 7); }
  int Shown(const std::string& id) { return engine_->ReadResources(id)->oom_score_adj; }
  void End(const std::string& id) { runtime_.EndMonitor(id, ExitRecord{0, 1}); }

  const int own_ = *linux::ReadOomScoreAdj(host_, *linux::IdentifyProcess(host_, getpid()));
};

TEST_F(EngineLastValuesTest, AScoreThatNobodyLookedAtIsThatOfItsStart) {
  const std::string id = MakeOne();
  End(id);
  Wait(id);
  EXPECT_EQ(Shown(id), own_);
  StartEngine();
  EXPECT_EQ(Shown(id), own_);
}

TEST_F(EngineLastValuesTest, AScoreIsThatWhichWasSeenLast) {
  const std::string id = MakeOne();
  // Set by the process itself, or by root.
  ASSERT_TRUE(linux::WriteOomScoreAdj(host_, engine_->GetContainer(id)->init, Higher()).ok());
  EXPECT_EQ(Shown(id), Higher());
  End(id);
  Wait(id);
  EXPECT_EQ(Shown(id), Higher());
  EXPECT_FALSE(engine_->ReadResources(id)->live);
  StartEngine();
  EXPECT_EQ(Shown(id), Higher());
}

TEST_F(EngineLastValuesTest, AnUpdatesScoreIsKnownToTheNextDaemon) {
  const std::string id = MakeOne();
  ASSERT_TRUE(engine_->UpdateResources(id, {.oom_score_adj = Higher()}).ok());
  engine_.reset();
  End(id);  // and no daemon sees it
  StartEngine();
  Wait(id);
  EXPECT_EQ(Shown(id), Higher());
}

TEST_F(EngineLastValuesTest, AStopSeesTheScore) {
  const std::string id = MakeOne();
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(linux::WriteOomScoreAdj(host_, engine_->GetContainer(id)->init, Higher()).ok());
  ASSERT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
  EXPECT_EQ(Shown(id), Higher());
}

// The container's group vanishes file by file.
TEST_F(EngineLastValuesTest, WhatEndsWhileItIsReadShowsNoHalfOfIt) {
  const std::string id = MakeOne();
  ASSERT_TRUE(
      engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 100, .cpuset_cpus = "0"}}).ok());
  std::atomic<bool> first = true;
  cgroups_.on_read = [&] {
    if (!first.exchange(false)) return;
    End(id);
    Wait(id);
    ASSERT_TRUE(cgroups_.Apply("", {.cpu_shares = 100}).ok());
  };
  const EffectiveResources read = *engine_->ReadResources(id);
  EXPECT_FALSE(read.live);
  EXPECT_EQ(read.cgroup.cpu_shares, 100u);
  EXPECT_EQ(read.cgroup.cpuset_cpus, "0");
}

// The requested raw files, as the kernel spells their values.
TEST_F(EngineLastValuesTest, RawFilesAreShownToo) {
  ContainerSpec spec = Spec();
  spec.resources.unified = {{"memory.low", "4k"}, {"memory.none", "1"}};
  const std::string id = *engine_->CreateContainer(*engine_->RunSandbox(PodSpec(), ""), spec, "");
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.unified = {{"memory.high", "1G"}}}}).ok());
  const std::string group = engine_->GetContainer(id)->cgroup_path;
  cgroups_.files = {{group + "/memory.low", "4096"},
                    {group + "/memory.high", "max"},
                    {group + "/memory.max", "max"}};
  const auto shown = [&] { return engine_->ReadResources(id)->cgroup.unified; };
  const std::map<std::string, std::string> expected = {{"memory.low", "4096"},
                                                       {"memory.high", "max"}};
  EXPECT_EQ(shown(), expected);
  cgroups_.machine = linux::CgroupLayout::kHybrid;
  EXPECT_THAT(shown(), ::testing::IsEmpty());
  cgroups_.machine = linux::CgroupLayout::kV2;
  End(id);
  Wait(id);
  cgroups_.files.clear();
  EXPECT_EQ(shown(), expected);
  StartEngine();
  EXPECT_EQ(shown(), expected);
}

}  // namespace
}  // namespace plimsoll::runtime
