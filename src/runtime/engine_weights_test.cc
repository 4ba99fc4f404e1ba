// Weights of CPU on cgroup v2, by the OCI runtime's formula.
#include "linux/cgroup/cpu_weight.h"
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using linux::CpuWeightFormula;

class EngineWeightsTest : public EngineTest {
 protected:
  std::string MakeOne(std::optional<uint64_t> shares) {
    pod_ = *engine_->RunSandbox(PodSpec(), "");
    ContainerSpec spec = Spec();
    spec.resources.cpu_shares = shares;
    return *engine_->CreateContainer(pod_, spec, "");
  }
  void Update(const std::string& id, uint64_t shares) {
    const absl::Status updated = engine_->UpdateResources(id, {.cgroup = {.cpu_shares = shares}});
    EXPECT_TRUE(updated.ok()) << updated;
  }
  uint64_t Shown(const std::string& id) {
    return engine_->ReadResources(id)->cgroup.cpu_shares.value_or(0);
  }
  // The shares of the group that was written last.
  uint64_t Written() { return cgroups_.Read("")->cpu_shares.value_or(0); }
  uint64_t Weight() { return linux::CpuSharesToWeight(Written()); }
  void SetWeight(uint64_t weight) {
    ASSERT_TRUE(cgroups_.Apply("", {.cpu_shares = linux::CpuWeightToShares(weight)}).ok());
  }

  std::string pod_;
};

TEST_F(EngineWeightsTest, AnUpdateGoesByTheRuntimesFormula) {
  const std::string id = MakeOne(512);
  Update(id, 1024);
  EXPECT_EQ(Weight(), 39u);
  runtime_.weight = CpuWeightFormula::kQuadratic;
  Update(id, 1024);
  EXPECT_EQ(Weight(), 100u);
  EXPECT_EQ(Shown(id), 1024u);
}

TEST_F(EngineWeightsTest, AHandlersProgramHasItsOwnFormula) {
  const std::string id = MakeOne(512);
  runtime_.weights[id] = CpuWeightFormula::kQuadratic;
  Update(id, 1024);
  EXPECT_EQ(Weight(), 100u);
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod_, {.resources = {.cpu_shares = 1024}}).ok());
  EXPECT_EQ(Weight(), 39u) << "pods stand beside each other";
}

TEST_F(EngineWeightsTest, APodsOwnGroupGoesByTheDefaultRuntimesFormula) {
  runtime_.weight = CpuWeightFormula::kQuadratic;
  SandboxSpec spec = PodSpec();
  spec.resources.cpu_shares = 2048;
  const std::string pod = *engine_->RunSandbox(spec, "");
  EXPECT_EQ(Weight(), 174u);
  EXPECT_EQ(engine_->ReadSandboxResources(pod)->cgroup.cpu_shares, 2048u);
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.resources = {.cpu_shares = 1024}}).ok());
  EXPECT_EQ(Weight(), 100u);
}

// systemd is given the weight that the runtime wrote.
TEST_F(EngineWeightsTest, ANewGroupIsRegisteredWithTheRuntimesWeight) {
  runtime_.weight = CpuWeightFormula::kQuadratic;
  MakeOne(1024);
  ASSERT_EQ(cgroups_.registered.size(), 1u);
  EXPECT_EQ(linux::CpuSharesToWeight(*cgroups_.registered[0].settings.cpu_shares), 100u);
}

// The container was made before an upgrade of the OCI runtime.
TEST_F(EngineWeightsTest, AnOlderWeightIsReportedAsTheSharesItWasMadeOf) {
  const std::string id = MakeOne(1024);
  SetWeight(39);
  runtime_.weight = CpuWeightFormula::kQuadratic;
  StartEngine();
  EXPECT_EQ(Shown(id), 1024u);
  EXPECT_EQ(Weight(), 39u) << "nobody has changed it";
  Update(id, 2048);
  EXPECT_EQ(Weight(), 174u);
  EXPECT_EQ(Shown(id), 2048u);
}

TEST_F(EngineWeightsTest, AnotherWeightIsReportedByTheRuntimesFormula) {
  const std::string id = MakeOne(1024);
  SetWeight(50);
  EXPECT_EQ(Shown(id), linux::CpuWeightToShares(50, CpuWeightFormula::kLinear));
  runtime_.weight = CpuWeightFormula::kQuadratic;
  EXPECT_EQ(Shown(id), linux::CpuWeightToShares(50, CpuWeightFormula::kQuadratic));
  runtime_.EndMonitor(id, ExitRecord{0, 1});
  Wait(id);
  EXPECT_EQ(Shown(id), linux::CpuWeightToShares(50, CpuWeightFormula::kQuadratic))
      << "its last value";
}

TEST_F(EngineWeightsTest, AContainerWithoutSharesHasTheKernelsDefault) {
  const std::string id = MakeOne(std::nullopt);
  SetWeight(100);
  runtime_.weight = CpuWeightFormula::kQuadratic;
  EXPECT_EQ(linux::CpuSharesToWeight(Shown(id), CpuWeightFormula::kQuadratic), 100u);
}

TEST_F(EngineWeightsTest, OnV1SharesAreHeldAsTheyAre) {
  cgroups_.machine = linux::CgroupLayout::kV1;
  runtime_.weight = CpuWeightFormula::kQuadratic;
  const std::string id = MakeOne(512);
  Update(id, 1024);
  EXPECT_EQ(Written(), 1024u);
  EXPECT_EQ(Shown(id), 1024u);
}

}  // namespace
}  // namespace plimsoll::runtime
