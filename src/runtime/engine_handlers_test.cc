// Pods of runtime handlers, over stand-ins: the information that kind vm gets, and the refusals of
// fixed resources. tests/ has real containers.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cdi/registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_handlers_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(EngineHandlersTest, AVirtualMachineHasNoUserNamespaceOfTheHosts) {
  SandboxSpec spec = Spec("vm");
  spec.namespaces.uid_mappings = {{300000, 0, 65536}};
  spec.namespaces.gid_mappings = {{300000, 0, 65536}};
  const absl::Status refused = engine_->RunSandbox(spec, "").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("virtual machines"));
}

TEST_F(EngineHandlersTest, AVirtualMachineIsToldItsSize) {
  const std::string pod = Pod(Spec("vm"));
  Create(pod, Web());
  EXPECT_EQ(runtime_.last_program, "/opt/vm-runtime");
  // The sum of all containers, future ones too, without the overhead.
  EXPECT_EQ(Annotation("io.kubernetes.cri.sandbox-cpu-quota"), "150000");
  EXPECT_EQ(Annotation("io.kubernetes.cri.sandbox-cpu-period"), "100000");
  EXPECT_EQ(Annotation("io.kubernetes.cri.sandbox-memory"), absl::StrCat(1536 << 20));
  EXPECT_EQ(Annotation("io.katacontainers.config.hypervisor.default_vcpus"), "2");
  EXPECT_THAT(Annotation("plimsoll.dev/sandbox-size"),
              HasSubstr(R"({"vcpus":2,"memory_bytes":1610612736)"));
}

TEST_F(EngineHandlersTest, ADeviceThatIsNotThereMakesNoSandbox) {
  SandboxSpec spec = Spec("vm");
  spec.pod_resources.containers[0].devices = {
      {.container_path = "/dev/vfio/999999", .host_path = "/dev/vfio/999999"}};
  const auto refused = engine_->RunSandbox(spec, "");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(refused.status().message(), HasSubstr("device /dev/vfio/999999"));
  EXPECT_THAT(engine_->ListSandboxes(), IsEmpty());
  spec.pod_resources.containers[0].devices.clear();
  Pod(spec);  // its name is free
}

// An update for an existing container, and one for a future container.
TEST_F(EngineHandlersTest, AnUpdateNeedsNoCdiFileAnyMore) {
  const std::string file = "cdi/gpu.json";
  const std::string text =
      R"({"cdiVersion":"0.5.0","kind":"v.com/gpu","devices":[{"name":"a",)"
      R"("containerEdits":{"deviceNodes":[{"path":"/dev/gpu","hostPath":"/dev/null"}]}}]})";
  ASSERT_TRUE(dir_.root().MakeDirs("cdi").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile(file, text).ok());
  devices_ = std::make_unique<cdi::Registry>(host_, std::vector{dir_.path() + "/cdi"});
  StartEngine();
  SetUpdateCommand("vm");
  SandboxSpec spec = Spec("vm");
  spec.pod_resources.containers[0].cdi_devices = {"v.com/gpu=a"};
  const std::string pod = Pod(spec);
  const std::string kept = absl::StrCat("sandboxes/", pod, "/cdi-devices.json");
  EXPECT_EQ(run_.Read(kept).value_or("none"), R"({"v.com/gpu=a":["/dev/null"]})");
  const std::string job = Create(pod, EngineTest::Spec("job"));
  ContainerSpec web = Web();
  web.cdi_devices = {"v.com/gpu=a"};
  // A container keeps the devices that the file gave it at its creation.
  ASSERT_TRUE(dir_.root().ReplaceFile(file, absl::StrReplaceAll(text, {{"/null", "/zero"}})).ok());
  const std::string id = Create(pod, web);
  EXPECT_EQ(run_.Read(kept).value_or("none"), R"({"v.com/gpu=a":["/dev/zero"]})");
  ASSERT_TRUE(dir_.root().RemoveFile(file).ok());
  for (int restarts = 0; restarts < 2; ++restarts) {
    EXPECT_EQ(engine_->UpdateResources(id, To("2", "1Gi")), absl::OkStatus());
    EXPECT_EQ(engine_->UpdateResources(job, To("1", "1Gi")), absl::OkStatus());
    SandboxUpdate update = {.pod_resources = spec.pod_resources};
    EXPECT_EQ(engine_->UpdateSandboxResources(pod, update), absl::OkStatus());
    update.pod_resources->containers[1].cdi_devices = {"v.com/gpu=b"};
    const absl::Status refused = engine_->UpdateSandboxResources(pod, update);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr("container job: no CDI device v.com/gpu=b"));
    EXPECT_EQ(run_.Read(kept).value_or("none"), R"({"v.com/gpu=a":["/dev/zero"]})");
    StartEngine();
  }
  // A new attempt must be given the device itself.
  web.attempt = 1;
  EXPECT_TRUE(absl::IsNotFound(engine_->CreateContainer(pod, web, "").status()));
}

TEST_F(EngineHandlersTest, OtherHandlersAreAsTheyWere) {
  const std::string pod = Pod(Spec(""));
  Create(pod, Web("2"));
  EXPECT_EQ(runtime_.last_program, "");
  EXPECT_EQ(Annotation("plimsoll.dev/sandbox-size"), "");
}

TEST_F(EngineHandlersTest, OfFixedResourcesADifferenceIsRefused) {
  const std::string pod = Pod(Spec("fixed"));
  ContainerSpec spec = Web("2");
  spec.devices = {{.container_path = "/dev/fuse", .host_path = "/dev/fuse"}};
  const auto refused = engine_->CreateContainer(pod, spec, "");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(refused.status().message(), HasSubstr("limit of cpu is 2, announced was 1"));
  EXPECT_THAT(refused.status().message(), HasSubstr("device at /dev/fuse was not announced"));
  EXPECT_THAT(refused.status().message(), HasSubstr("runtime handler fixed has fixed resources"));
  EXPECT_THAT(engine_->ListContainers(), IsEmpty());
  Create(pod, Web());
  // An unannounced container that adds nothing.
  Create(pod, EngineTest::Spec("debug"));
}

TEST_F(EngineHandlersTest, OfFixedResourcesGrowthIsRefused) {
  const std::string pod = Pod(Spec("fixed"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->UpdateResources(id, To("250m", "512Mi")).ok());
  for (int restarts = 0; restarts < 2; ++restarts) {
    const absl::Status refused = engine_->UpdateResources(id, To("1200m", "1Gi"));
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(refused.message(),
                HasSubstr("limits of cpu would be 1700m in all, announced were 1500m"));
    EXPECT_EQ(engine_->GetContainer(id)->spec.kubernetes_resources.limits["cpu"], "250m");
    StartEngine();
  }
  // A return to the old value is no growth.
  ASSERT_TRUE(engine_->UpdateResources(id, To("1", "1Gi")).ok());
  ResourceUpdate linux_alone;
  linux_alone.cgroup.memory_limit_bytes = int64_t{2} << 30;
  EXPECT_THAT(engine_->UpdateResources(id, linux_alone).message(),
              HasSubstr("a memory limit of 2 GiB (2147483648 bytes), announced were 1536Mi"));
  linux_alone = {};
  linux_alone.cgroup.cpu_quota_us = 200000;
  EXPECT_THAT(engine_->UpdateResources(id, linux_alone).message(),
              HasSubstr("a CPU quota of 2000m, announced were 1500m"));
  EXPECT_THAT(
      engine_->UpdateSandboxResources(pod, {.pod_resources = Announcing("1", "2Gi")}).message(),
      HasSubstr("limits of memory would be"));
  EXPECT_TRUE(
      engine_->UpdateSandboxResources(pod, {.pod_resources = Announcing("1", "512Mi")}).ok());
}

// No limit exceeds the announced sum alone.
TEST_F(EngineHandlersTest, OfFixedResourcesLimitsOfTheKernelAreAddedUp) {
  const std::string pod = Pod(Spec("fixed"));
  ContainerSpec web = Web();
  web.resources = {.cpu_quota_us = 100000, .memory_limit_bytes = int64_t{1} << 30};
  ContainerSpec job = EngineTest::Spec("job");
  job.resources = {.cpu_quota_us = 50000, .memory_limit_bytes = int64_t{512} << 20};
  const std::string id = Create(pod, web);
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->StartContainer(Create(pod, job)).ok());
  const auto update = [&](const linux::CgroupSettings& limits) {
    return engine_->UpdateResources(id, {.cgroup = limits});
  };
  const absl::Status memory = update({.memory_limit_bytes = int64_t{1280} << 20});
  EXPECT_TRUE(absl::IsFailedPrecondition(memory)) << memory;
  EXPECT_THAT(memory.message(), HasSubstr("limits of memory would be 1792Mi in all in the kernel, "
                                          "announced were 1536Mi"));
  const absl::Status cpu = update({.cpu_quota_us = 130000});
  EXPECT_TRUE(absl::IsFailedPrecondition(cpu)) << cpu;
  EXPECT_THAT(cpu.message(), HasSubstr("limits of cpu would be 1800m in all in the kernel, "
                                       "announced were 1500m"));
  ExpectAsked(id, web);
  // The old amount in other words; less; and back again.
  EXPECT_EQ(update({.cpu_quota_us = 50000, .cpu_period_us = 50000}), absl::OkStatus());
  EXPECT_EQ(update({.memory_limit_bytes = int64_t{512} << 20}), absl::OkStatus());
  EXPECT_EQ(update({.memory_limit_bytes = int64_t{1} << 30}), absl::OkStatus());
}

// A client may have made the container with more; later updates may lower that step by step.
TEST_F(EngineHandlersTest, OfFixedResourcesWhatIsAboveMayBecomeLess) {
  const std::string pod = Pod(Spec("fixed"));
  ContainerSpec web = Web();
  web.resources.memory_limit_bytes = int64_t{1400} << 20;
  const std::string id = Create(pod, web);
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const auto update = [&](int64_t mib) {
    return engine_->UpdateResources(id, {.cgroup = {.memory_limit_bytes = mib << 20}});
  };
  EXPECT_EQ(update(1300), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(update(1350)));
  EXPECT_EQ(update(1300), absl::OkStatus());
}

// The kernel takes no quota below a hundredth of a CPU.
TEST_F(EngineHandlersTest, OfFixedResourcesARoundedQuotaIsNoGrowth) {
  SandboxSpec spec = Spec("fixed");
  for (AnnouncedContainer& each : spec.pod_resources.containers) {
    each.kubernetes_resources.limits["cpu"] = "5m";
  }
  const std::string id = Create(Pod(spec), Web("5m"));
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  EXPECT_EQ(engine_->UpdateResources(id, {.cgroup = {.cpu_quota_us = 1000}}), absl::OkStatus());
}

TEST_F(EngineHandlersTest, OfFixedResourcesALimitThatGoesIsGrowth) {
  SandboxSpec spec = Spec("fixed");
  spec.resources.memory_limit_bytes = int64_t{1536} << 20;
  const std::string pod = Pod(spec);
  ContainerSpec web = Web();
  web.resources.memory_limit_bytes = 1 << 30;
  web.resources.cpu_quota_us = 100000;
  const std::string id = Create(pod, web);
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ResourceUpdate lifted;
  lifted.cgroup.memory_limit_bytes = -1;
  lifted.cgroup.cpu_quota_us = -1;
  absl::Status refused = engine_->UpdateResources(id, lifted);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(),
              HasSubstr("no memory limit, on record are 1 GiB (1073741824 bytes), "
                        "announced were 1536Mi"));
  EXPECT_THAT(refused.message(), HasSubstr("no CPU quota, on record are 100000 microseconds"));
  ResourceUpdate dropped;
  dropped.kubernetes_resources = KubernetesResources{.requests = {}, .limits = {{"cpu", "1"}}};
  refused = engine_->UpdateResources(id, dropped);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("the limit of memory, 1Gi, would be gone"));
  dropped.kubernetes_resources = KubernetesResources();
  EXPECT_THAT(engine_->UpdateResources(id, dropped).message(),
              HasSubstr("the limit of cpu, 1, would be gone"));
  ExpectAsked(id, web);

  EXPECT_THAT(
      engine_->UpdateSandboxResources(pod, {.resources = lifted.cgroup}).message(),
      HasSubstr(
          "no memory limit, on record are 1.5 GiB (1610612736 bytes), announced were 1536Mi"));
  PodResources without = Announcing("1", "1Gi");
  without.containers[1].kubernetes_resources.limits.erase("memory");
  refused = engine_->UpdateSandboxResources(pod, {.pod_resources = without});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(),
              HasSubstr("container job: the limit of memory, 512Mi, would be gone"));
  EXPECT_THAT(engine_->UpdateSandboxResources(pod, {.pod_resources = PodResources()}).message(),
              HasSubstr("would be gone"));
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.pod_resources, spec.pod_resources);
}

// kubelet writes -1 for no limit.
TEST_F(EngineHandlersTest, OfFixedResourcesWhatHadNoLimitMayStayWithout) {
  SandboxSpec spec = Spec("fixed");
  spec.pod_resources.containers[0].kubernetes_resources = {.requests = {{"cpu", "1"}},
                                                           .limits = {}};
  const std::string pod = Pod(spec);
  ContainerSpec web = EngineTest::Spec("container");
  web.kubernetes_resources.requests = {{"cpu", "1"}};
  const std::string id = Create(pod, web);
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ResourceUpdate update;
  update.cgroup.memory_limit_bytes = -1;
  update.cgroup.cpu_quota_us = -1;
  update.kubernetes_resources = KubernetesResources{.requests = {{"cpu", "500m"}}, .limits = {}};
  EXPECT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_TRUE(engine_->UpdateSandboxResources(pod, {.resources = update.cgroup}).ok());
}

TEST_F(EngineHandlersTest, APodMayAskForMoreThanItsLimits) {
  SandboxSpec spec = Spec("fixed");
  KubernetesResources& other = spec.pod_resources.containers[1].kubernetes_resources;
  other = {.requests = {{"cpu", "8"}}, .limits = {}};
  const std::string id = Create(Pod(spec), Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const absl::Status less = engine_->UpdateResources(id, To("500m", "1Gi"));
  EXPECT_TRUE(less.ok()) << less;
  EXPECT_THAT(engine_->UpdateResources(id, To("2", "1Gi")).message(),
              HasSubstr("requests of cpu would be 10 in all, announced were 9"));
}

TEST_F(EngineHandlersTest, APodThatAnnouncedNothingIsHeldToNothing) {
  SandboxSpec spec = Spec("fixed");
  spec.pod_resources = {};
  const std::string id = Create(Pod(spec), Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  EXPECT_TRUE(engine_->UpdateResources(id, To("4", "4Gi")).ok());
}

}  // namespace
}  // namespace plimsoll::runtime
