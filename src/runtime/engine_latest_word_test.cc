// For each container and field the latest word holds, whichever call said it: over stand-ins.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_handlers_fixture_for_test.h"
#include "runtime/requests/pod_picture.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EngineLatestWordTest : public EngineHandlersTest {
 protected:
  std::string CpuNow(const std::string& pod) {
    const PodPicture picture = *engine_->Picture(pod);
    return picture.total.requests.at("cpu").Canonical();
  }
  std::vector<std::string> Warnings() {
    std::vector<std::string> messages;
    for (const Event& event : events_.Since(0)) {
      if (event.type == EventType::kWarning) messages.push_back(event.message);
    }
    return messages;
  }
  void Announce(const std::string& pod, const std::string& cpu) {
    const absl::Status done =
        engine_->UpdateSandboxResources(pod, {.pod_resources = Announcing(cpu, "1Gi")});
    EXPECT_TRUE(done.ok()) << done;
  }
  std::string Attempt(const std::string& pod, uint32_t attempt, const std::string& cpu) {
    ContainerSpec spec = Web(cpu);
    spec.attempt = attempt;
    const std::string id = Create(pod, spec);
    EXPECT_TRUE(engine_->StartContainer(id).ok());
    return id;
  }
};

// The latest word in the picture, and over restarts.
TEST_F(EngineLatestWordTest, OfAnExitedAttemptAndTheNext) {
  const std::string pod = Pod(Spec(""));
  const std::string first = Attempt(pod, 0, "1");
  ASSERT_TRUE(engine_->UpdateResources(first, To("2", "1Gi")).ok());
  EXPECT_EQ(CpuNow(pod), "2500m") << "the job's 500m among it";
  ASSERT_TRUE(engine_->StopContainer(first, absl::ZeroDuration()).ok());
  Announce(pod, "4");
  for (int restarts = 0; restarts < 2; ++restarts) {
    EXPECT_EQ(CpuNow(pod), "4500m");
    EXPECT_THAT(ToJson(*engine_->Picture(pod)), HasSubstr(R"({"cpu":"4","memory":"1Gi"})"));
    StartEngine();
  }
  const std::string second = Attempt(pod, 1, "4");
  EXPECT_THAT(Warnings(), IsEmpty()) << "it is as announced";
  EXPECT_EQ(CpuNow(pod), "4500m");
  ASSERT_TRUE(engine_->UpdateResources(second, To("3", "1Gi")).ok());
  EXPECT_EQ(CpuNow(pod), "3500m");
  StartEngine();
  EXPECT_EQ(CpuNow(pod), "3500m");
  Announce(pod, "1");
  EXPECT_EQ(CpuNow(pod), "1500m") << "a word of after the restart is later than those before";
}

TEST_F(EngineLatestWordTest, TheUpdateCommandIsToldIt) {
  SetUpdateCommand("vm");
  const std::string pod = Pod(Spec("vm"));
  const std::string id = Attempt(pod, 0, "1");
  ASSERT_TRUE(engine_->UpdateResources(id, To("3", "1Gi")).ok());
  EXPECT_THAT(Told(), HasSubstr(R"("size":{"vcpus":4,)"));
  Announce(pod, "7");
  EXPECT_THAT(Told(), HasSubstr(R"("size":{"vcpus":8,)"));
  // An update without resources leaves the earlier word.
  ResourceUpdate linux_alone;
  linux_alone.cgroup.cpu_shares = 100;
  ASSERT_TRUE(engine_->UpdateResources(id, linux_alone).ok());
  EXPECT_THAT(Told(), HasSubstr(R"("size":{"vcpus":8,)"));
  ASSERT_TRUE(engine_->UpdateResources(id, To("1", "1Gi")).ok());
  EXPECT_THAT(Told(), HasSubstr(R"("size":{"vcpus":2,)"));
}

// With fixed resources, an attempt must stay within the pod's total.
TEST_F(EngineLatestWordTest, AnAttemptAsAnnouncedIsNotRefused) {
  const std::string pod = Pod(Spec("fixed"));
  const std::string first = Attempt(pod, 0, "1");
  ASSERT_TRUE(engine_->UpdateResources(first, To("250m", "1Gi")).ok());
  ASSERT_TRUE(engine_->StopContainer(first, absl::ZeroDuration()).ok());
  Announce(pod, "750m");
  StartEngine();
  ContainerSpec stale = Web("250m");
  stale.attempt = 1;
  const absl::Status refused = engine_->CreateContainer(pod, stale, "").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("limit of cpu is 250m, announced was 750m"));
  const std::string second = Attempt(pod, 1, "750m");
  // The sum uses the later word, too.
  EXPECT_TRUE(engine_->UpdateResources(second, To("1", "1Gi")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->UpdateResources(second, To("1100m", "1Gi"))));
  EXPECT_THAT(Warnings(), IsEmpty());
}

// An update of the container holds for all later attempts, until the pod says more.
TEST_F(EngineLatestWordTest, AttemptsAreHeldToTheUpdateOfOneBefore) {
  const std::string pod = Pod(Spec("fixed"));
  const std::string first = Attempt(pod, 0, "1");
  ASSERT_TRUE(engine_->UpdateResources(first, To("250m", "1Gi")).ok());
  for (uint32_t attempt = 1; attempt < 3; ++attempt) {
    const std::string id = Attempt(pod, attempt, "250m");
    ASSERT_TRUE(engine_->StopContainer(id, absl::ZeroDuration()).ok());
    StartEngine();
  }
  ContainerSpec grown = Web("1");
  grown.attempt = 3;
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->CreateContainer(pod, grown, "").status()));
}

// The word about resources holds, whatever else differs in an attempt.
TEST_F(EngineLatestWordTest, AnUpdateOutlivesAnAttemptWithAnotherDevice) {
  const std::string pod = Pod(Spec(""));
  const std::string first = Attempt(pod, 0, "1");
  ASSERT_TRUE(engine_->UpdateResources(first, To("250m", "1Gi")).ok());
  ContainerSpec other = Web("250m");
  other.attempt = 1;
  other.devices = {{"/dev/fuse", "/dev/fuse", "rw"}};
  Create(pod, other);
  EXPECT_THAT(Warnings(), ElementsAre(HasSubstr("device at /dev/fuse was not announced")));
  Attempt(pod, 2, "250m");
  EXPECT_THAT(Warnings(), ElementsAre(HasSubstr("device at /dev/fuse was not announced")))
      << "it is as the update said";
  Attempt(pod, 3, "1");
  EXPECT_THAT(Warnings(), Contains(HasSubstr("limit of cpu is 1, announced was 250m")));
}

// The next attempt is not held to one that was made differently.
TEST_F(EngineLatestWordTest, AnAttemptThatDiffersDoesNotMakeTheNextDiffer) {
  const std::string pod = Pod(Spec(""));
  ContainerSpec other = Web("2");
  other.devices = {{"/dev/fuse", "/dev/fuse", "rw"}};
  Create(pod, other);
  EXPECT_THAT(Warnings(), ElementsAre(HasSubstr("device at /dev/fuse was not announced")));
  Attempt(pod, 1, "1");
  EXPECT_THAT(Warnings(), ElementsAre(HasSubstr("device at /dev/fuse was not announced")));
}

// The machine's size includes the devices that a container was made with.
TEST_F(EngineLatestWordTest, WhatAContainerWasMadeWithIsInThePicture) {
  const std::string pod = Pod(Spec("vm"));
  ContainerSpec web = Web();
  web.devices = {{.container_path = "/dev/vfio/999999", .host_path = "/dev/vfio/999999"}};
  const absl::Status refused = engine_->CreateContainer(pod, web, "").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("device /dev/vfio/999999"));
  web.devices = {{.container_path = "/dev/x", .host_path = "/dev/null", .permissions = "rw"}};
  web.mounts = {{.container_path = "/data", .host_path = "/srv"}};
  Create(pod, web);
  const AnnouncedContainer now = engine_->Picture(pod)->now.containers.at(0);
  EXPECT_EQ(now.devices, web.devices);
  EXPECT_EQ(now.mounts, web.mounts);
}

TEST_F(EngineLatestWordTest, WhatContradictsLinuxIsAnEvent) {
  SandboxSpec spec = Spec("");
  spec.pod_resources.containers[0].kubernetes_resources = {.requests = {{"cpu", "500m"}},
                                                           .limits = {{"memory", "2Gi"}}};
  const std::string pod = Pod(spec);
  ContainerSpec web = EngineTest::Spec("container");
  web.kubernetes_resources = spec.pod_resources.containers[0].kubernetes_resources;
  web.resources = {.cpu_shares = 512, .memory_limit_bytes = int64_t{2} << 30};
  const std::string id = Create(pod, web);
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  EXPECT_THAT(Warnings(), IsEmpty());
  ResourceUpdate update;
  update.cgroup.memory_limit_bytes = int64_t{1} << 30;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  const std::string told =
      "container container: the written resources contradict linux, and linux holds: the limit "
      "of memory is 2Gi, linux has 1 GiB (1073741824 bytes)";
  EXPECT_THAT(Warnings(), ElementsAre(told));
  EXPECT_EQ(cgroups_.Read(engine_->GetContainer(id)->cgroup_path)->memory_limit_bytes, 1 << 30);
  // The warning comes once, not with every update.
  update.cgroup.cpu_shares = 512;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_THAT(Warnings(), ElementsAre(told));
  // The same for an attempt that is made with a contradiction, and for a pod.
  web.attempt = 1;
  web.resources.cpu_shares = 1024;
  Create(pod, web);
  EXPECT_THAT(Warnings(), Contains("container container: the written resources contradict linux, "
                                   "and linux holds: the request of cpu is 500m, linux has 1024 "
                                   "shares (1000m)"));
  ASSERT_TRUE(
      engine_->UpdateSandboxResources(pod, {.resources = {.memory_limit_bytes = 1 << 20}}).ok());
  EXPECT_THAT(Warnings(), Contains("pod default/pod: the written resources contradict linux, and "
                                   "linux holds: the limit of memory is 2560Mi, linux has 1 MiB "
                                   "(1048576 bytes)"));
}

TEST_F(EngineLatestWordTest, WithoutTheGateNothingIsComparedWithLinux) {
  show_pictures_ = false;
  StartEngine();
  ContainerSpec web = Web("1");
  web.resources.cpu_quota_us = 200000;
  Create(Pod(Spec("")), web);
  EXPECT_THAT(Warnings(), IsEmpty());
}

TEST_F(EngineLatestWordTest, APodsGroupHasItsOverheadToo) {
  SandboxSpec spec = PodSpec();
  spec.resources = {.cpu_shares = 512, .memory_limit_bytes = 1 << 30};
  spec.overhead = {.cpu_shares = 256, .memory_limit_bytes = 1 << 20};
  const std::string pod = Pod(spec);
  const std::string group = engine_->GetSandbox(pod)->cgroup_path;
  EXPECT_EQ(
      *cgroups_.Read(group),
      (linux::CgroupSettings{.cpu_shares = 768, .memory_limit_bytes = (1 << 30) + (1 << 20)}));
  EXPECT_EQ(engine_->GetSandbox(pod)->spec.resources, spec.resources);
  ASSERT_TRUE(
      engine_->UpdateSandboxResources(pod, {.resources = {.memory_limit_bytes = 1 << 25}}).ok());
  EXPECT_EQ(cgroups_.Read(group)->memory_limit_bytes, (1 << 25) + (1 << 20));
  // An update of the overhead alone, and the state after a kill before the kernel's write.
  ASSERT_TRUE(
      engine_->UpdateSandboxResources(pod, {.overhead = {.memory_limit_bytes = 1 << 22}}).ok());
  EXPECT_EQ(cgroups_.Read(group)->memory_limit_bytes, (1 << 25) + (1 << 22));
  ASSERT_TRUE(cgroups_.Apply(group, {.memory_limit_bytes = 1 << 25}).ok());
  ASSERT_TRUE(run_.ReplaceFile("updates/" + pod,
                               absl::StrCat("{\"memory_limit_bytes\":", (1 << 25) + (1 << 22), "}"))
                  .ok());
  StartEngine();
  EXPECT_EQ(cgroups_.Read(group)->memory_limit_bytes, (1 << 25) + (1 << 22));
  EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::runtime
