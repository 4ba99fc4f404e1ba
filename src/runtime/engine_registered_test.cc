// Containers whose groups another manager must know of, as systemd does, and which go with their
// last process.
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class EngineRegisteredTest : public EngineTest {
 protected:
  EngineRegisteredTest() { cgroups_.ends_with_processes = true; }

  absl::StatusOr<std::string> MakeOne() {
    const std::string pod = *engine_->RunSandbox(PodSpec(), "");
    ContainerSpec spec = Spec();
    spec.resources = {.cpu_quota_us = 12345,
                      .memory_limit_bytes = 1 << 20,
                      .unified = {{"memory.low", "0"}, {"memory.oom.group", "1"}}};
    return engine_->CreateContainer(pod, spec, "");
  }
};

TEST_F(EngineRegisteredTest, AContainerIsRegisteredWithItsInit) {
  const std::string id = *MakeOne();
  const ContainerRecord record = *engine_->GetContainer(id);
  ASSERT_THAT(cgroups_.registered, SizeIs(1));
  EXPECT_EQ(cgroups_.registered[0].group, record.cgroup_path);
  EXPECT_EQ(cgroups_.registered[0].pid, record.init.pid);
  EXPECT_EQ(cgroups_.registered[0].settings, record.spec.resources);
}

TEST_F(EngineRegisteredTest, OneThatCantBeRegisteredIsNotMade) {
  cgroups_.faults.FailNext("Register", absl::UnavailableError("no connection to systemd"));
  EXPECT_TRUE(absl::IsUnavailable(MakeOne().status()));
  EXPECT_THAT(*runtime_.ListTraces(), IsEmpty());
  EXPECT_THAT(*store_.LoadContainers(), IsEmpty());
}

TEST_F(EngineRegisteredTest, TheNextDaemonRegistersWhatLives) {
  const std::string id = *MakeOne();
  const std::string group = engine_->GetContainer(id)->cgroup_path;
  cgroups_.registered.clear();
  StartEngine();
  ASSERT_THAT(cgroups_.registered, SizeIs(1));
  EXPECT_EQ(cgroups_.registered[0].group, group);
  const linux::CgroupSettings lost = {.cpu_quota_us = 12345,
                                      .unified = {{"memory.oom.group", "1"}}};
  EXPECT_EQ(cgroups_.registered[0].settings, lost) << "what a reload rounds or clears meanwhile";
}

TEST_F(EngineRegisteredTest, AnUpdatesValuesOutliveTheGroup) {
  const std::string id = *MakeOne();
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_shares = 100}}).ok());
  cgroups_.is_gone = true;
  runtime_.EndMonitor(id, ExitRecord{0, 1});
  Wait(id);
  EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 100u);
  StartEngine();
  EXPECT_EQ(engine_->ReadResources(id)->cgroup.cpu_shares, 100u);
}

}  // namespace
}  // namespace plimsoll::runtime
