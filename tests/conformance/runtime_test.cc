// The runtime about itself: Version, Status, RuntimeConfig, UpdateRuntimeConfig; and its answers to
// calls that it can't or won't serve.
#include <set>

#include "absl/strings/str_cat.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

class RuntimeTest : public CriTest {
 protected:
  // These calls need no image.
  void SetUp() override {}
};

PROMISE_TEST(RuntimeTest, VersionNamesRuntimeAndInterface,
             "Version gives the runtime's name and version, and v1 as the interface's") {
  cri::VersionRequest request;
  request.set_version("0.1.0");  // kubelet's version
  const auto version = client_.Ask<cri::VersionResponse>(request);
  ASSERT_OK(version);
  EXPECT_THAT(version->version(), Not(IsEmpty()));
  EXPECT_THAT(version->runtime_name(), Not(IsEmpty()));
  EXPECT_THAT(version->runtime_version(), Not(IsEmpty()));
  EXPECT_EQ(version->runtime_api_version(), "v1");
}

PROMISE_TEST(RuntimeTest, StatusHasBothConditions,
             "Status has the conditions RuntimeReady, which is true, and NetworkReady") {
  const cri::StatusResponse status = RuntimeStatus();
  std::map<std::string, bool> conditions;
  for (const cri::RuntimeCondition& condition : status.status().conditions()) {
    conditions[condition.type()] = condition.status();
  }
  EXPECT_TRUE(conditions["RuntimeReady"]);
  EXPECT_TRUE(conditions.contains("NetworkReady"));
}

PROMISE_TEST(RuntimeTest, AFalseConditionSaysWhy,
             "A condition of Status that is false has a reason and a message") {
  const cri::StatusResponse status = RuntimeStatus();
  for (const cri::RuntimeCondition& condition : status.status().conditions()) {
    if (condition.status()) continue;
    EXPECT_THAT(condition.reason(), Not(IsEmpty())) << condition.type();
    EXPECT_THAT(condition.message(), Not(IsEmpty())) << condition.type();
  }
}

PROMISE_TEST(RuntimeTest, StatusHasInfoOnlyWhenVerbose,
             "Status has info when it is asked to be verbose, and none otherwise") {
  EXPECT_EQ(RuntimeStatus().info_size(), 0);
  cri::StatusRequest request;
  request.set_verbose(true);
  const auto status = client_.Ask<cri::StatusResponse>(request);
  ASSERT_OK(status);
  EXPECT_GT(status->info_size(), 0);
}

PROMISE_TEST(RuntimeTest, HandlersAreListedOnceAndTheDefaultIsAmongThem,
             "Status lists each runtime handler once, the default one under the empty name") {
  const cri::StatusResponse status = RuntimeStatus();
  if (status.runtime_handlers().empty()) GTEST_SKIP() << "Status lists no runtime handlers";
  std::set<std::string> names;
  for (const cri::RuntimeHandler& handler : status.runtime_handlers()) {
    EXPECT_TRUE(names.insert(handler.name()).second) << handler.name() << " is listed twice";
  }
  EXPECT_TRUE(names.contains(""));
}

PROMISE_TEST(RuntimeTest, AnUnknownHandlerIsRefused,
             "RunPodSandbox with a handler that is not configured fails, and no pod is made") {
  const auto id = TryRunPod(PodConfig(), absl::StrCat("none-of-", session_.run()));
  EXPECT_FALSE(id.ok());
  EXPECT_THAT(id.status().message(), Not(IsEmpty()));
  EXPECT_THAT(PodsOfRun(), IsEmpty());
}

PROMISE_TEST(RuntimeTest, RuntimeConfigHasACgroupDriver,
             "RuntimeConfig names the cgroup driver that kubelet is to use") {
  const auto config = client_.Ask<cri::RuntimeConfigResponse>(cri::RuntimeConfigRequest());
  if (IsLacking(config.status())) GTEST_SKIP() << config.status().message();
  ASSERT_OK(config);
  ASSERT_TRUE(config->has_linux());
  EXPECT_TRUE(cri::CgroupDriver_IsValid(config->linux().cgroup_driver()));
}

PROMISE_TEST(RuntimeTest, UpdateRuntimeConfigOfNothingChangesNothing,
             "UpdateRuntimeConfig without a pod CIDR is no error") {
  cri::UpdateRuntimeConfigRequest request;
  request.mutable_runtime_config()->mutable_network_config();
  EXPECT_OK(client_.Ask<cri::UpdateRuntimeConfigResponse>(request));
}

PROMISE_TEST(RuntimeTest, UpdateRuntimeConfigTakesAPodCidr,
             "UpdateRuntimeConfig takes the CIDR that pods get addresses of") {
  if (!session_.own_runtime()) {
    GTEST_SKIP() << "it would change the pod network of a node that is somebody's";
  }
  cri::UpdateRuntimeConfigRequest request;
  request.mutable_runtime_config()->mutable_network_config()->set_pod_cidr("10.231.0.0/24");
  EXPECT_OK(client_.Ask<cri::UpdateRuntimeConfigResponse>(request));
}

// Requests without an id, an image or a config.
PROMISE_TEST(RuntimeTest, EmptyRequestsAreAnswered,
             "Every call of the contract answers an empty request: by an answer, or by an error "
             "with a message; the runtime goes on") {
  for (const Method& method : MethodsOfTheContract()) {
    if (method.name == "GetContainerEvents") continue;  // never ends
    absl::Status status;
    if (method.streams) {
      const auto stream = client_.Open(*method.request, absl::Seconds(30));
      ASSERT_NE(stream, nullptr);
      while (stream->Read(method.response.get())) {
      }
      status = stream->Finish();
    } else {
      status = client_.Call(*method.request, method.response.get());
    }
    EXPECT_FALSE(absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status))
        << method.name << ": " << status;
    if (!status.ok()) {
      EXPECT_THAT(status.message(), Not(IsEmpty())) << method.name;
    }
  }
  EXPECT_OK(client_.Ask<cri::VersionResponse>(cri::VersionRequest()));
}

// A runtime may serve checkpoints; one that doesn't must refuse in a way that kubelet understands.
PROMISE_TEST(RuntimeTest, CheckpointsThatAreNotServedAreUnimplemented,
             "CheckpointContainer, CheckpointPod and RestorePod, where they are not served, are "
             "UNIMPLEMENTED with a message") {
  cri::CheckpointContainerRequest container;
  container.set_container_id(absl::StrCat("none-of-", session_.run()));
  container.set_location(session_.directory().PathOf("checkpoint.tar"));
  cri::CheckpointPodRequest pod;
  pod.set_pod_sandbox_id(absl::StrCat("none-of-", session_.run()));
  pod.set_output_path(session_.directory().PathOf("pod.tar"));
  cri::RestorePodRequest restore;
  restore.set_checkpoint_path(session_.directory().PathOf("not-there.tar"));
  const std::map<std::string, absl::Status> answers = {
      {"CheckpointContainer", client_.Ask<cri::CheckpointContainerResponse>(container).status()},
      {"CheckpointPod", client_.Ask<cri::CheckpointPodResponse>(pod).status()},
      {"RestorePod", client_.Ask<cri::RestorePodResponse>(restore).status()}};
  for (const auto& [call, status] : answers) {
    EXPECT_FALSE(status.ok()) << call;
    EXPECT_THAT(status.message(), Not(IsEmpty())) << call;
    if (session_.own_runtime()) {
      EXPECT_TRUE(absl::IsUnimplemented(status)) << call << ": " << status;
    }
  }
}

}  // namespace
}  // namespace plimsoll::conformance
