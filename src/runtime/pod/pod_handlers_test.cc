#include "runtime/pod/pod_handlers.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/handlers/handler.h"
#include "runtime/handlers/pod_size.h"
#include "runtime/objects/parts_fixture_for_test.h"
#include "runtime/objects/sandbox_place.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;

class PodHandlersTest : public PartsTest {
 protected:
  PodHandlersTest() {
    handlers_["plain"].program = "/opt/plain";
    handlers_["vm"].program = "/opt/vm";
    handlers_["vm"].is_vm = true;
    handlers_["fixed"].is_fixed = true;
    options_.handlers = &handlers_;
    EXPECT_TRUE(run_.MakeDirs("sandboxes/pod").ok());
  }
  static ContainerSpec Web(const std::string& cpu, const std::string& memory) {
    ContainerSpec spec;
    spec.name = "web";
    spec.kubernetes_resources.limits = {{"cpu", cpu}, {"memory", memory}};
    spec.said = {.made = 1, .resources = 1};
    return spec;
  }
  // A pod that announced the container "web".
  static SandboxRecord Pod(const std::string& handler, const std::string& cpu = "2",
                           const std::string& memory = "1Gi") {
    SandboxRecord record = SandboxOf("pod");
    record.spec.runtime_handler = handler;
    AnnouncedContainer web = {.name = "web", .type = AnnouncedContainer::Type::kContainer};
    web.kubernetes_resources = Web(cpu, memory).kubernetes_resources;
    record.spec.pod_resources.containers = {web};
    return record;
  }

  HandlerMap handlers_;
  PodPictures pictures_{options_, &objects_};
  PodHandlers pod_handlers_{options_, &pictures_};
};

TEST_F(PodHandlersTest, AHandlerIsFoundByItsName) {
  EXPECT_EQ(*pod_handlers_.Find(Pod("")), nullptr);
  EXPECT_EQ((*pod_handlers_.Find(Pod("vm")))->program, "/opt/vm");
  const absl::Status unknown = pod_handlers_.Find(Pod("gone")).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(unknown)) << unknown;
  EXPECT_TRUE(absl::IsFailedPrecondition(pod_handlers_.CheckSize(Pod("gone"))));
  EXPECT_TRUE(absl::IsFailedPrecondition(pod_handlers_.KeepAnnounced(Pod("gone"))));
  options_.handlers = nullptr;
  EXPECT_EQ(*pod_handlers_.Find(Pod("gone")), nullptr) << "no handler is configured at all";
}

TEST_F(PodHandlersTest, AVirtualMachineIsToldItsSizeWithoutTheOverhead) {
  SandboxRecord pod = Pod("vm");
  pod.spec.overhead.memory_limit_bytes = 256 << 20;
  const absl::StatusOr<PodSize> size = pod_handlers_.SizeOf(handlers_["vm"], pod, nullptr);
  ASSERT_TRUE(size.ok()) << size.status();
  ContainerSpec made = Web("2", "1Gi");
  CreateRequest request;
  request.spec = &made;
  ASSERT_TRUE(pod_handlers_.ApplyTo(pod, &made, &request).ok());
  EXPECT_EQ(request.program, "/opt/vm");
  EXPECT_THAT(made.annotations["plimsoll.dev/sandbox-size"],
              HasSubstr(absl::StrCat(R"({"vcpus":2,"memory_bytes":)", 1 << 30)));
}

TEST_F(PodHandlersTest, AnotherHandlerGetsItsProgramAlone) {
  ContainerSpec made = Web("2", "1Gi");
  CreateRequest request;
  request.spec = &made;
  ASSERT_TRUE(pod_handlers_.ApplyTo(Pod("plain"), &made, &request).ok());
  EXPECT_EQ(request.program, "/opt/plain");
  EXPECT_TRUE(made.annotations.empty());
}

TEST_F(PodHandlersTest, FixedResourcesMayShrinkAndNotGrow) {
  const SandboxRecord pod = Pod("fixed");
  ASSERT_TRUE(pod_handlers_.KeepAnnounced(pod).ok());
  const ContainerSpec had = Web("2", "1Gi");
  const auto check = [&](const ContainerSpec& wanted, const linux::CgroupSettings& limits) {
    ContainerSpec later = wanted;
    later.said.resources = 2;
    return pod_handlers_.CheckFixed(pod, had, later, limits);
  };
  EXPECT_TRUE(check(Web("1", "512Mi"), {}).ok());
  const absl::Status grown = check(Web("3", "1Gi"), {});
  EXPECT_TRUE(absl::IsFailedPrecondition(grown)) << grown;
  EXPECT_THAT(grown.message(), HasSubstr("runtime handler fixed has fixed resources: "));
  EXPECT_TRUE(absl::IsFailedPrecondition(check(had, {.memory_limit_bytes = int64_t{2} << 30})));
  ContainerSpec lifted = had;
  lifted.kubernetes_resources.limits.erase("memory");
  EXPECT_TRUE(absl::IsFailedPrecondition(check(lifted, {})));
}

TEST_F(PodHandlersTest, AFixedPodIsHeldToWhatItAnnouncedFirst) {
  ASSERT_TRUE(pod_handlers_.KeepAnnounced(Pod("fixed")).ok());
  EXPECT_TRUE(pod_handlers_.CheckFixed(Pod("fixed"), Pod("fixed", "1"), {}).ok());
  EXPECT_TRUE(pod_handlers_.CheckFixed(Pod("fixed", "1"), Pod("fixed", "2"), {}).ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(pod_handlers_.CheckFixed(Pod("fixed"), Pod("fixed", "3"), {})));
}

TEST_F(PodHandlersTest, WhoAnnouncedNothingIsHeldToNothing) {
  SandboxRecord pod = SandboxOf("pod");
  pod.spec.runtime_handler = "fixed";
  ASSERT_TRUE(pod_handlers_.KeepAnnounced(pod).ok());
  EXPECT_FALSE(run_.Exists(AnnouncedFileOf("pod")));
  EXPECT_TRUE(pod_handlers_.CheckFixed(pod, Web("1", "1Gi"), Web("9", "9Gi"), {}).ok());
}

TEST_F(PodHandlersTest, ADifferenceMattersOnlyToFixedResources) {
  EXPECT_TRUE(pod_handlers_.CheckAnnounced(Pod("vm"), "container web differs").ok());
  EXPECT_TRUE(pod_handlers_.CheckAnnounced(Pod("fixed"), "").ok());
  const absl::Status refused = pod_handlers_.CheckAnnounced(Pod("fixed"), "container web differs");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("container web differs; runtime handler fixed"));
}

TEST_F(PodHandlersTest, UpdatesTakeTurnsWhereEachDependsOnTheLast) {
  EXPECT_FALSE(*pod_handlers_.TakesTurns(Pod("")));
  EXPECT_FALSE(*pod_handlers_.TakesTurns(Pod("vm")));
  EXPECT_TRUE(*pod_handlers_.TakesTurns(Pod("fixed")));
  handlers_["vm"].update_command = {"/bin/true"};
  EXPECT_TRUE(*pod_handlers_.TakesTurns(Pod("vm")));
  // A handler that is configured no more: the pod's fixed resources stay fixed.
  ASSERT_TRUE(pod_handlers_.KeepAnnounced(Pod("fixed")).ok());
  handlers_.erase("fixed");
  EXPECT_TRUE(absl::IsFailedPrecondition(pod_handlers_.TakesTurns(Pod("fixed")).status()));
  ASSERT_TRUE(run_.RemoveFile(AnnouncedFileOf("pod")).ok());
  EXPECT_FALSE(*pod_handlers_.TakesTurns(Pod("fixed")));
}

}  // namespace
}  // namespace plimsoll::runtime
