// Runtime handlers of kind vm and with fixed resources, over stand-ins; tests/ has real containers.
#include <sys/stat.h>

#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/wait_until_for_test.h"
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
  // One that, where `slow` is there, notes what it is given and then takes longer than any test.
  void SetSlowCommand(const std::string& handler) {
    SetUpdateCommand(handler);
    const std::string script =
        absl::StrCat("#!/bin/sh\nif [ -e ", dir_.path(), "/slow ]; then rm ", dir_.path(),
                     "/slow; cat \"$2\" >> ", dir_.path(),
                     "/told; exec sleep 300; fi\ncat \"$2\" >> ", dir_.path(), "/told\n");
    ASSERT_TRUE(dir_.root().ReplaceFile("resize", script, 0755).ok());
    handlers_[handler].update_timeout_seconds = 200;
  }
  // What `update` comes to, which runs until `meanwhile` has ended the slow command.
  absl::Status Slowly(absl::FunctionRef<absl::Status()> update,
                      absl::FunctionRef<void()> meanwhile) {
    EXPECT_TRUE(dir_.root().ReplaceFile("slow", "").ok());
    absl::Status status;
    std::thread client([&] { status = update(); });
    EXPECT_TRUE(WaitUntil([&] {
      return !dir_.root().Exists("slow") && !dir_.root().Read("told").value_or("").empty();
    }));
    meanwhile();
    client.join();
    return status;
  }
  // Gives pods a part of the node, which reaches the container.
  void FollowsShare(const std::string& id) {
    const std::string group = engine_->GetContainer(id)->cgroup_path;
    engine_->SetNodeShare({*resources::CpuSet::Parse("2-5"), *resources::CpuSet::Parse("0"),
                           /*is_whole=*/false});
    EXPECT_TRUE(WaitUntil([&] { return cgroups_.cpuset(group).first == "2-5"; }));
  }
  static size_t Times(const std::string& text, const std::string& what) {
    size_t times = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++times;
    return times;
  }
  std::string WantedFile(const std::string& pod) {
    return absl::StrCat("sandboxes/", pod, "/wanted-resources.json");
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

// Of a container that is there, and of one that is to come.
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
  // What the file says when the container is made is what it has.
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
  // A new attempt has to be given the device itself.
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

// No single one is above what was announced in all.
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
  EXPECT_EQ(engine_->GetContainer(id)->spec, web);
  // As much as there was, in other words; less; and back again.
  EXPECT_EQ(update({.cpu_quota_us = 50000, .cpu_period_us = 50000}), absl::OkStatus());
  EXPECT_EQ(update({.memory_limit_bytes = int64_t{512} << 20}), absl::OkStatus());
  EXPECT_EQ(update({.memory_limit_bytes = int64_t{1} << 30}), absl::OkStatus());
}

// A client may have made it with more, of which later updates may make less by and by.
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

// A command may take ten minutes; it also waits for another's turn.
TEST_F(EngineHandlersTest, AStopDoesNotWaitForTheUpdateCommand) {
  SetSlowCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string web = Create(pod, Web());
  const std::string job = Create(pod, EngineTest::Spec("job"));
  ASSERT_TRUE(engine_->StartContainer(web).ok());
  ASSERT_TRUE(engine_->StartContainer(job).ok());
  const absl::Status cancelled = Slowly(
      [&] { return engine_->UpdateResources(web, To("3500m", "1Gi")); },
      [&] {
        // It waits for its turn, unless the stop has been quicker.
        absl::Status waited;
        std::thread waiting([&] { waited = engine_->UpdateResources(job, To("2500m", "1Gi")); });
        EXPECT_TRUE(engine_->StopContainer(job, absl::ZeroDuration()).ok());
        waiting.join();
        EXPECT_TRUE(absl::IsFailedPrecondition(waited)) << waited;
        EXPECT_TRUE(engine_->StopContainer(web, absl::ZeroDuration()).ok());
      });
  EXPECT_TRUE(absl::IsFailedPrecondition(cancelled)) << cancelled;
  EXPECT_THAT(cancelled.message(), HasSubstr("is being stopped or removed"));
  EXPECT_EQ(engine_->GetContainer(web)->spec.kubernetes_resources, Web().kubernetes_resources);
  // The pod goes on, so its machine is told what holds.
  const std::string told = Told();
  const size_t first = told.find(R"("vcpus":4)");
  EXPECT_NE(first, std::string::npos) << told;
  EXPECT_NE(told.find(R"("vcpus":2)", first), std::string::npos) << told;
  EXPECT_FALSE(run_.Exists(WantedFile(pod)));
}

TEST_F(EngineHandlersTest, ARemovalOfAContainerDoesNotWaitForTheUpdateCommand) {
  SetSlowCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());  // of one that was never started
  const absl::Status cancelled =
      Slowly([&] { return engine_->UpdateResources(id, To("3500m", "1Gi")); },
             [&] { EXPECT_TRUE(engine_->RemoveContainer(id).ok()); });
  EXPECT_TRUE(absl::IsFailedPrecondition(cancelled)) << cancelled;
  EXPECT_THAT(engine_->ListContainers(), IsEmpty());
}

TEST_F(EngineHandlersTest, ARemovalOfThePodDoesNotWaitForTheUpdateCommand) {
  SetSlowCommand("vm");
  PodResources wanted = Announcing("1", "1Gi");
  wanted.containers[1].kubernetes_resources.limits["cpu"] = "3";
  for (const bool is_stopped_first : {true, false}) {
    const std::string pod = Pod(Spec("vm"));
    const absl::Status cancelled =
        Slowly([&] { return engine_->UpdateSandboxResources(pod, {.pod_resources = wanted}); },
               [&] {
                 if (is_stopped_first) {
                   EXPECT_TRUE(engine_->StopSandbox(pod).ok());
                   EXPECT_EQ(engine_->GetSandbox(pod)->spec.pod_resources, Announcing("1", "1Gi"));
                 }
                 EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
               });
    EXPECT_TRUE(absl::IsFailedPrecondition(cancelled)) << cancelled;
    EXPECT_THAT(cancelled.message(), HasSubstr("is being stopped or removed"));
    EXPECT_EQ(Times(Told(), R"("vcpus":)"), 1u) << "of a pod that goes nothing is told back";
  }
  for (const Event& event : events_.Since(0)) EXPECT_NE(event.type, EventType::kWarning);
  ExpectNothingLeft();
}

TEST_F(EngineHandlersTest, TheEndOfTheDaemonDoesNotWaitForTheUpdateCommand) {
  SetSlowCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  ASSERT_TRUE(run_.ReplaceFile(WantedFile(pod), "").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("slow", "").ok());
  StartEngine();  // which tells what holds, beside what it serves
  ASSERT_TRUE(WaitUntil([&] { return !dir_.root().Read("told").value_or("").empty(); }));
  StartEngine();
  EXPECT_TRUE(WaitUntil([&] { return !run_.Exists(WantedFile(pod)); }));
  EXPECT_EQ(Times(Told(), R"("vcpus":2)"), 2u);
  for (const Event& event : events_.Since(0)) {
    EXPECT_THAT(event.message, Not(HasSubstr("tell what holds"))) << "it was waited for";
  }
}

// Four of them run at a time.
TEST_F(EngineHandlersTest, CommandsOfAStartKeepNothingElseWaiting) {
  SetUpdateCommand("vm");
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    SandboxSpec spec = Spec("vm");
    spec.name = name;
    ASSERT_TRUE(run_.ReplaceFile(WantedFile(Pod(spec)), "").ok());
  }
  const std::string id = Create(Pod(PodSpec("other")), Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const std::string script =
      absl::StrCat("#!/bin/sh\necho begun >> ", dir_.path(), "/told\nexec sleep 300\n");
  ASSERT_TRUE(dir_.root().ReplaceFile("resize", script, 0755).ok());
  handlers_["vm"].update_timeout_seconds = 200;
  StartEngine();
  EXPECT_TRUE(
      WaitUntil([&] { return Times(dir_.root().Read("told").value_or(""), "begun") == 4; }));
  FollowsShare(id);
}

TEST_F(EngineHandlersTest, TheNodesShareDoesNotWaitForTheUpdateCommand) {
  SetSlowCommand("vm");
  const std::string id = Create(Pod(Spec("vm")), Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  const absl::Status cancelled =
      Slowly([&] { return engine_->UpdateResources(id, To("3500m", "1Gi")); },
             [&] {
               FollowsShare(id);
               EXPECT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
             });
  EXPECT_TRUE(absl::IsFailedPrecondition(cancelled)) << cancelled;
}

// As after a kill between the update command and the update: the handler was told of more.
TEST_F(EngineHandlersTest, AKillAfterTheUpdateCommandIsToldBackAtTheNextStart) {
  SetUpdateCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Create(pod, Web());
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  // The command sees the file that stays there until its update is whole.
  bool was_there = false;
  cgroups_.on_apply = [&] { was_there = run_.Exists(WantedFile(pod)); };
  ResourceUpdate update = To("3500m", "1Gi");
  update.cgroup.cpu_shares = 100;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  cgroups_.on_apply = nullptr;
  EXPECT_TRUE(was_there);
  EXPECT_FALSE(run_.Exists(WantedFile(pod)));
  EXPECT_THAT(Told(), HasSubstr(R"("vcpus":4)"));
  ASSERT_TRUE(engine_->UpdateResources(id, To("1", "1Gi")).ok());
  Told();

  ASSERT_TRUE(run_.ReplaceFile(WantedFile(pod), "").ok());
  ExitWith(3);
  StartEngine();
  const auto warns = [&] {
    for (const Event& event : events_.Since(0)) {
      if (event.type == EventType::kWarning && event.sandbox_id == pod) return true;
    }
    return false;
  };
  EXPECT_TRUE(WaitUntil(warns)) << "the command has failed";
  EXPECT_TRUE(run_.Exists(WantedFile(pod))) << "so the next start tries again";
  ExitWith(0);
  Told();
  StartEngine();
  EXPECT_TRUE(WaitUntil([&] { return !run_.Exists(WantedFile(pod)); }));
  EXPECT_THAT(Told(), HasSubstr(R"("vcpus":2)"));
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
