// Pods whose client announces nothing, by kubelet's word, over stand-ins; tests/ has a daemon and
// sockets.
#include "absl/strings/str_cat.h"
#include "cdi/registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_handlers_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class EngineKubeletTest : public EngineHandlersTest {
 protected:
  // Kubelet's word about a pod of the containers "container" and "job".
  static PodFacts Facts(const std::string& cpu) {
    PodFacts facts = {.resources = Announcing(cpu, "1Gi"), .has_spec = true};
    facts.has_grants = true;
    return facts;
  }
  // A pod with such a word, whose own settings agree with 1 CPU for "container".
  SandboxSpec Silent(const std::string& handler = "") {
    SandboxSpec spec = Spec(handler);
    spec.pod_resources = {};
    spec.facts = Facts("1");
    spec.resources.cpu_quota_us = 150000;
    spec.resources.cpu_period_us = 100000;
    return spec;
  }
  static ContainerSpec Made(const std::string& name, int64_t quota) {
    ContainerSpec spec = EngineTest::Spec(name);
    spec.resources.cpu_quota_us = quota;
    spec.resources.cpu_period_us = 100000;
    return spec;
  }
  std::string Shown(const std::string& pod) {
    return run_.Read("sandboxes/" + pod + "/picture/pod-resources.json").value_or("");
  }
  std::vector<std::string> Warnings() {
    std::vector<std::string> messages;
    for (const Event& event : events_.Since(0)) {
      if (event.type == EventType::kWarning) messages.push_back(event.message);
    }
    return messages;
  }
};

TEST_F(EngineKubeletTest, TheWordReachesFileHooksAndTheNextDaemon) {
  const std::string pod = Pod(Silent());
  EXPECT_THAT(Shown(pod), HasSubstr(R"({"picture":"partial","total":{"requests":{"cpu":"1500m")"));
  Create(pod, Made("container", 100000));
  Create(pod, Made("job", 50000));
  const std::string now = runtime_.last_annotations["plimsoll.dev/pod-resources"];
  EXPECT_THAT(now, HasSubstr(R"("picture":"complete")"));
  EXPECT_EQ(Shown(pod), now + "\n");
  ASSERT_TRUE(run_.RemoveTree("sandboxes/" + pod + "/picture").ok());
  StartEngine();
  EXPECT_EQ(Shown(pod), now + "\n");
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.facts, Facts("1"));
  EXPECT_THAT(Warnings(), IsEmpty());
}

TEST_F(EngineKubeletTest, ALaterWordReplacesIt) {
  const std::string pod = Pod(Silent());
  ASSERT_TRUE(engine_->TakeFacts(pod, Facts("500m")).ok());
  EXPECT_THAT(Shown(pod), HasSubstr(R"("kubernetes_resources":{"limits":{"cpu":"500m")"));
  EXPECT_EQ((*store_.LoadSandboxes()).at(0).spec.facts, Facts("500m"));
  EXPECT_TRUE(absl::IsNotFound(engine_->TakeFacts("gone", Facts("1"))));
  // The client has announced something meanwhile.
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.pod_resources = Announcing("1", "1Gi")}).ok());
  ASSERT_TRUE(engine_->TakeFacts(pod, Facts("2")).ok());
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.facts, Facts("500m"));
  EXPECT_THAT(Shown(pod), HasSubstr(R"("sources":{"total":"message")"));
}

TEST_F(EngineKubeletTest, TheFirstWordMayComeAfterTheStart) {
  SandboxSpec spec = Silent();
  spec.facts.reset();
  const std::string pod = Pod(spec);
  EXPECT_EQ(Shown(pod), "");
  ASSERT_TRUE(engine_->TakeFacts(pod, Facts("1")).ok());
  EXPECT_THAT(Shown(pod), HasSubstr(R"("sources":{"total":"kubelet")"));
}

TEST_F(EngineKubeletTest, ASocketThatIsSilentThisTimeTakesNothingBack) {
  const std::string pod = Pod(Silent());
  PodFacts grants_alone;
  grants_alone.has_grants = true;
  grants_alone.grants["container"].exclusive_cpus = "2";
  grants_alone.missing = {"requests and limits: no answer in time"};
  ASSERT_TRUE(engine_->TakeFacts(pod, grants_alone).ok());
  PodFacts expected = Facts("1");
  expected.grants = grants_alone.grants;
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.facts, expected);
  PodFacts spec_alone = Facts("500m");
  spec_alone.has_grants = false;
  ASSERT_TRUE(engine_->TakeFacts(pod, spec_alone).ok());
  expected.resources = spec_alone.resources;
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.facts, expected);
}

TEST_F(EngineKubeletTest, HalvesMakeAWhole) {
  SandboxSpec spec = Silent();
  PodFacts& half = *spec.facts;
  half = {};
  half.has_grants = true;
  half.missing = {"mounts", "requests and limits"};
  const std::string pod = Pod(spec);
  PodFacts other = Facts("1");
  other.has_grants = false;
  other.missing = {"mounts", "devices"};
  ASSERT_TRUE(engine_->TakeFacts(pod, other).ok());
  const PodFacts now = *engine_->GetSandbox(pod)->spec.facts;
  EXPECT_TRUE(now.has_spec && now.has_grants);
  EXPECT_THAT(now.missing, ElementsAre("mounts"));
}

// The spec on record is older than the update.
TEST_F(EngineKubeletTest, AnAnswerWithoutTheSpecContradictsNothing) {
  const std::string pod = Pod(Silent());
  const std::string id = Create(pod, Made("container", 100000));
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ResourceUpdate update;
  update.cgroup.cpu_quota_us = 200000;
  update.cgroup.cpu_period_us = 100000;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  PodFacts grants_alone;
  grants_alone.has_grants = true;
  ASSERT_TRUE(engine_->TakeFacts(pod, grants_alone).ok());
  EXPECT_THAT(Warnings(), IsEmpty());
}

TEST_F(EngineKubeletTest, AWordThatCannotBeSavedIsNotTaken) {
  const std::string pod = Pod(Silent());
  store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->TakeFacts(pod, Facts("2"))));
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.facts, Facts("1"));
}

// The resize of a running pod: kubelet's spec as wished may be ahead of the allocation.
TEST_F(EngineKubeletTest, AContradictionIsToldOnceAndLinuxHolds) {
  const std::string pod = Pod(Silent());
  const std::string id = Create(pod, Made("container", 100000));
  ASSERT_TRUE(engine_->TakeFacts(pod, Facts("2500m")).ok());
  const std::string of_container =
      "container container: the resources that kubelet reports contradict linux, and linux holds: "
      "the limit of cpu is 2500m, linux has a quota of 100000 in 100000 microseconds (1000m)";
  EXPECT_THAT(
      Warnings(),
      ElementsAre(HasSubstr("pod default/pod: the resources that kubelet reports"), of_container));
  EXPECT_THAT(Shown(pod), HasSubstr(R"("total":{"requests":{"cpu":"1500m")"));
  EXPECT_THAT(Shown(pod), HasSubstr(R"("by_linux":["limits[cpu]"])"));
  ASSERT_TRUE(engine_->TakeFacts(pod, Facts("2500m")).ok());
  StartEngine();
  ASSERT_TRUE(engine_->TakeFacts(pod, Facts("2500m")).ok());
  EXPECT_EQ(Warnings().size(), 2u) << "not told twice";
  // The allocation follows.
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ResourceUpdate update;
  update.cgroup.cpu_quota_us = 250000;
  update.cgroup.cpu_period_us = 100000;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_THAT(Shown(pod), HasSubstr(R"("limits":{"cpu":"2500m")"));
  ASSERT_TRUE(engine_
                  ->UpdateSandboxResources(
                      pod, {.resources = {.cpu_quota_us = 300000, .cpu_period_us = 100000}})
                  .ok());
  ASSERT_TRUE(engine_->TakeFacts(pod, Facts("2500m")).ok());
  EXPECT_EQ(Warnings().size(), 2u);
  EXPECT_THAT(Shown(pod), Not(HasSubstr("by_linux")));
}

// The word is older than the update: a contradiction is reported once the next word has it too.
TEST_F(EngineKubeletTest, AnUpdateIsComparedWithTheNextWord) {
  const std::string pod = Pod(Silent());
  const std::string id = Create(pod, Made("container", 100000));
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ResourceUpdate update;
  update.cgroup.cpu_quota_us = 200000;
  update.cgroup.cpu_period_us = 100000;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_THAT(Warnings(), IsEmpty());
  ASSERT_TRUE(engine_->TakeFacts(pod, Facts("1")).ok());
  EXPECT_THAT(Warnings(), ElementsAre(HasSubstr("the limit of cpu is 1, linux has a quota of "
                                                "200000")));
}

TEST_F(EngineKubeletTest, AVirtualMachineIsSizedByTheWord) {
  SandboxSpec spec = Silent("vm");
  spec.resources = {};
  const std::string pod = Pod(spec);
  Create(pod, EngineTest::Spec("container"));
  EXPECT_EQ(Annotation("io.kubernetes.cri.sandbox-cpu-quota"), "150000");
  EXPECT_EQ(Annotation("io.kubernetes.cri.sandbox-memory"), absl::StrCat(1536 << 20));
  EXPECT_EQ(Annotation("io.katacontainers.config.hypervisor.default_vcpus"), "2");
}

TEST_F(EngineKubeletTest, CdiDevicesOfTheWordThatAreUnknownHereAreLeftOut) {
  ASSERT_TRUE(dir_.root().MakeDirs("cdi").ok());
  devices_ = std::make_unique<cdi::Registry>(host_, std::vector{dir_.path() + "/cdi"});
  StartEngine();
  SandboxSpec spec = Silent("vm");
  spec.facts->grants["container"].cdi_devices = {"classes.plimsoll.dev/rdt=gold"};
  Pod(spec);
  EXPECT_THAT(Warnings(), IsEmpty());
}

TEST_F(EngineKubeletTest, AWordOfADeviceThatIsNotHereKeepsNoPodFromStarting) {
  ASSERT_TRUE(dir_.root().MakeDirs("cdi").ok());
  ASSERT_TRUE(
      dir_.root()
          .ReplaceFile("cdi/gpu.json",
                       R"({"cdiVersion":"0.5.0","kind":"v.com/gpu","devices":[{"name":"a",)"
                       R"("containerEdits":{"deviceNodes":[{"path":"/dev/vfio/999999"}]}}]})")
          .ok());
  devices_ = std::make_unique<cdi::Registry>(host_, std::vector{dir_.path() + "/cdi"});
  StartEngine();
  SandboxSpec spec = Silent("vm");
  PodFacts facts = Facts("1");
  facts.grants["container"].cdi_devices = {"v.com/gpu=a"};  // of a group that isn't here
  spec.facts = facts;
  const std::string pod = Pod(spec);
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.facts, std::nullopt);
  EXPECT_THAT(Warnings(), ElementsAre(HasSubstr("kubelet's word about the pod is not used: ")));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(absl::IsFailedPrecondition(engine_->TakeFacts(pod, facts)));
  }
  EXPECT_EQ(Warnings().size(), 2u) << "once";
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.facts, std::nullopt);
}

// The pod's client promised nothing.
TEST_F(EngineKubeletTest, APodWithFixedResourcesIsNotHeldToTheWord) {
  SandboxSpec spec = Silent("fixed");
  spec.resources = {};
  const std::string pod = Pod(spec);
  const std::string id = Create(pod, Made("container", 400000));
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ResourceUpdate update;
  update.cgroup.cpu_quota_us = 900000;
  update.cgroup.cpu_period_us = 100000;
  EXPECT_EQ(engine_->UpdateResources(id, update), absl::OkStatus());
}

TEST_F(EngineKubeletTest, WithTheGateOffTheWordIsKeptAndNotShown) {
  show_pictures_ = false;
  StartEngine();
  const std::string pod = Pod(Silent());
  EXPECT_EQ(Shown(pod), "");
  EXPECT_THAT(Warnings(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::runtime
