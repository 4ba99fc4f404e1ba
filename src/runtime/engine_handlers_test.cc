// Runtime handlers of kind vm and with fixed resources, over stand-ins; tests/ has real containers.
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "cdi/registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PodResources Announcing(const std::string& cpu, const std::string& memory) {
  AnnouncedContainer web = {.name = "container", .type = AnnouncedContainer::Type::kContainer};
  web.kubernetes_resources.limits = {{"cpu", cpu}, {"memory", memory}};
  AnnouncedContainer job = {.name = "job", .type = AnnouncedContainer::Type::kContainer};
  job.kubernetes_resources.limits = {{"cpu", "500m"}, {"memory", "512Mi"}};
  return {.containers = {web, job}};
}

class EngineHandlersTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    Handler& vm = handlers_["vm"];
    vm.program = "/opt/vm-runtime";
    vm.is_vm = true;
    Handler& fixed = handlers_["fixed"];
    fixed.is_fixed = true;
  }
  SandboxSpec Spec(const std::string& handler) {
    SandboxSpec spec = PodSpec();
    spec.runtime_handler = handler;
    spec.pod_resources = Announcing("1", "1Gi");
    spec.overhead.memory_limit_bytes = 256 << 20;  // of the virtual machine itself
    return spec;
  }
  std::string Pod(const SandboxSpec& spec) {
    const auto pod = engine_->RunSandbox(spec, "");
    EXPECT_TRUE(pod.ok()) << pod.status();
    return pod.value_or("");
  }
  static ContainerSpec Web(const std::string& cpu = "1", const std::string& memory = "1Gi") {
    ContainerSpec spec = EngineTest::Spec("container");
    spec.kubernetes_resources.limits = {{"cpu", cpu}, {"memory", memory}};
    return spec;
  }
  std::string Create(const std::string& pod, const ContainerSpec& spec) {
    const auto id = engine_->CreateContainer(pod, spec, "");
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  static ResourceUpdate To(const std::string& cpu, const std::string& memory) {
    ResourceUpdate update;
    update.kubernetes_resources = KubernetesResources{.limits = {{"cpu", cpu}, {"memory", memory}}};
    return update;
  }
  std::string Annotation(const std::string& name) { return runtime_.last_annotations[name]; }
  // An update command that notes what it is given, and then ends with what is in `exit`.
  void SetUpdateCommand(const std::string& handler) {
    const std::string script = absl::StrCat("#!/bin/sh\ncat \"$2\" >> ", dir_.path(),
                                            "/told\nexit $(cat ", dir_.path(), "/exit)\n");
    ASSERT_TRUE(dir_.root().ReplaceFile("resize", script, 0755).ok());
    ExitWith(0);
    handlers_[handler].update_command = {dir_.path() + "/resize", "--resize"};
  }
  void ExitWith(int code) {
    ASSERT_TRUE(dir_.root().ReplaceFile("exit", absl::StrCat(code, "\n")).ok());
  }
  // Since the last call.
  std::string Told() {
    const std::string told = dir_.root().Read("told").value_or("");
    EXPECT_TRUE(dir_.root().RemoveFile("told").ok());
    return told;
  }
};

TEST_F(EngineHandlersTest, AVirtualMachineIsToldItsSize) {
  const std::string pod = Pod(Spec("vm"));
  Create(pod, Web());
  EXPECT_EQ(runtime_.last_program, "/opt/vm-runtime");
  // Of all containers, those to come too, without the overhead.
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

// What containers have of it they keep; only the size can't be told.
TEST_F(EngineHandlersTest, ACdiFileThatIsRemovedIsNoMissingContainer) {
  const std::string file = "cdi/gpu.json";
  const std::string text = R"({"cdiVersion":"0.5.0","kind":"v.com/gpu","devices":[{"name":"a",)"
                           R"("containerEdits":{"env":["A=1"]}}]})";
  ASSERT_TRUE(dir_.root().MakeDirs("cdi").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile(file, text).ok());
  devices_ = std::make_unique<cdi::Registry>(host_, std::vector{dir_.path() + "/cdi"});
  StartEngine();
  SetUpdateCommand("vm");
  SandboxSpec spec = Spec("vm");
  spec.pod_resources.containers[0].cdi_devices = {"v.com/gpu=a"};
  const std::string pod = Pod(spec);
  ContainerSpec web = Web();
  web.cdi_devices = {"v.com/gpu=a"};
  const std::string id = Create(pod, web);
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(dir_.root().RemoveFile(file).ok());
  const absl::Status refused = engine_->UpdateResources(id, To("2", "1Gi"));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("container container: no CDI device v.com/gpu=a"));
  EXPECT_THAT(refused.message(), HasSubstr("put its file (back) there"));
  ASSERT_TRUE(dir_.root().ReplaceFile(file, text).ok());
  EXPECT_TRUE(engine_->UpdateResources(id, To("2", "1Gi")).ok());
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
  // One that nobody announced, and that adds nothing.
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
  // Back to what it was is no growth.
  ASSERT_TRUE(engine_->UpdateResources(id, To("1", "1Gi")).ok());
  ResourceUpdate linux_alone;
  linux_alone.cgroup.memory_limit_bytes = int64_t{2} << 30;
  EXPECT_THAT(engine_->UpdateResources(id, linux_alone).message(),
              HasSubstr("a memory limit of 2147483648 bytes, announced were 1536Mi"));
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
  EXPECT_THAT(refused.message(), HasSubstr("no memory limit, on record are 1073741824 bytes, "
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
  EXPECT_EQ(engine_->GetContainer(id)->spec, web);

  EXPECT_THAT(engine_->UpdateSandboxResources(pod, {.resources = lifted.cgroup}).message(),
              HasSubstr("no memory limit, on record are 1610612736 bytes, announced were 1536Mi"));
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

// kubelet writes -1 where there is no limit.
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

TEST_F(EngineHandlersTest, TheHandlerIsToldBeforeAnUpdate) {
  SetUpdateCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->UpdateResources(id, To("3500m", "1Gi")).ok());
  std::string told = Told();
  EXPECT_THAT(told, HasSubstr(absl::StrCat(R"({"id":")", pod, R"(","name":"pod")")));
  EXPECT_THAT(told, HasSubstr(R"("size":{"vcpus":4,"memory_bytes":1610612736)"));
  EXPECT_THAT(told, HasSubstr(R"("picture":"complete","total":)"));
  EXPECT_THAT(*run_.List("sandboxes/" + pod), Not(::testing::Contains("wanted-resources.json")));
  ASSERT_TRUE(engine_->UpdateSandboxResources(pod, {.pod_resources = Announcing("1", "2Gi")}).ok());
  // The container's own later word stands.
  EXPECT_THAT(Told(), HasSubstr(R"("size":{"vcpus":4,)"));
}

TEST_F(EngineHandlersTest, WhatTheHandlerRefusesIsNotDone) {
  SetUpdateCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ExitWith(3);
  ResourceUpdate update = To("2", "1Gi");
  update.cgroup.memory_limit_bytes = 1 << 30;
  const absl::Status refused = engine_->UpdateResources(id, update);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("the update command of runtime handler vm"));
  const ContainerRecord record = *engine_->GetContainer(id);
  EXPECT_EQ(record.spec.kubernetes_resources, Web().kubernetes_resources);
  EXPECT_EQ(record.spec.resources, linux::CgroupSettings());
  EXPECT_FALSE(cgroups_.Read(record.cgroup_path)->memory_limit_bytes.has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      engine_->UpdateSandboxResources(pod, {.pod_resources = Announcing("9", "9Gi")})));
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.pod_resources, Announcing("1", "1Gi"));
}

TEST_F(EngineHandlersTest, AnUpdateThatFailsAfterwardsIsTakenBack) {
  SetUpdateCommand("vm");
  const std::string id = Create(Pod(Spec("vm")), Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ResourceUpdate update = To("2500m", "1Gi");
  update.cgroup.memory_limit_bytes = 1 << 30;
  cgroups_.faults.FailNext("Apply", absl::PermissionDeniedError("memory.max: no"));
  EXPECT_FALSE(engine_->UpdateResources(id, update).ok());
  const std::string told = Told();
  const size_t first = told.find(R"("vcpus":3)");
  EXPECT_NE(first, std::string::npos) << told;
  EXPECT_NE(told.find(R"("vcpus":2)", first), std::string::npos) << told;
}

// It may have acted before it failed, or was killed.
TEST_F(EngineHandlersTest, AnUpdateCommandThatFailsIsToldBack) {
  SetUpdateCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const auto expect_told_back = [&] {
    const std::string told = Told();
    const size_t first = told.find(R"("vcpus":4)");
    EXPECT_NE(first, std::string::npos) << told;
    EXPECT_NE(told.find(R"("vcpus":2)", first), std::string::npos) << told;
  };
  ExitWith(3);
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->UpdateResources(id, To("3500m", "1Gi"))));
  expect_told_back();
  PodResources wanted = Announcing("1", "1Gi");
  wanted.containers[1].kubernetes_resources.limits["cpu"] = "3";
  EXPECT_TRUE(
      absl::IsFailedPrecondition(engine_->UpdateSandboxResources(pod, {.pod_resources = wanted})));
  expect_told_back();
  // Only the first call is slow.
  const std::string script =
      absl::StrCat("#!/bin/sh\ncat \"$2\" >> ", dir_.path(), "/told\n[ -e ", dir_.path(),
                   "/slow ] || exit 0\nrm ", dir_.path(), "/slow\nexec sleep 300\n");
  ASSERT_TRUE(dir_.root().ReplaceFile("resize", script, 0755).ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("slow", "").ok());
  handlers_["vm"].update_timeout_seconds = 3;
  const absl::Status late = engine_->UpdateResources(id, To("3500m", "1Gi"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  expect_told_back();
}

TEST_F(EngineHandlersTest, AnUpdateCommandThatIsNotThereIsCalledOnce) {
  SetUpdateCommand("vm");
  const std::string id = Create(Pod(Spec("vm")), Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(dir_.root().RemoveFile("resize").ok());
  const absl::Status refused = engine_->UpdateResources(id, To("2", "1Gi"));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  for (const Event& event : events_.Since(0)) EXPECT_NE(event.type, EventType::kWarning);
}

TEST_F(EngineHandlersTest, AHandlerThatIsGoneIsNamed) {
  const std::string pod = Pod(Spec("vm"));
  handlers_.clear();
  const auto refused = engine_->CreateContainer(pod, Web(), "");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(refused.status().message(), HasSubstr("the runtime handler vm of sandbox"));
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
}

TEST_F(EngineHandlersTest, WithoutItsHandlerWhatIsNotFixedCanBeUpdated) {
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  SandboxSpec spec = Spec("fixed");
  spec.name = "other";
  const std::string fixed = Pod(spec);
  const std::string held = Create(fixed, Web());
  ASSERT_TRUE(engine_->StartContainer(held).ok());
  handlers_.clear();
  const absl::Status updated = engine_->UpdateResources(id, To("2", "1Gi"));
  EXPECT_TRUE(updated.ok()) << updated;
  EXPECT_TRUE(engine_->UpdateSandboxResources(pod, {.pod_resources = Announcing("2", "2Gi")}).ok());
  for (const absl::Status& refused :
       {engine_->UpdateResources(held, To("500m", "1Gi")),
        engine_->UpdateSandboxResources(fixed, {.pod_resources = Announcing("1", "512Mi")})}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr("the runtime handler fixed of sandbox"));
  }
}

}  // namespace
}  // namespace plimsoll::runtime
