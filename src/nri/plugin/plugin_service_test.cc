#include "nri/plugin/plugin_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace plimsoll::nri {
namespace {

using ::testing::ElementsAre;

// Overrides nothing.
class PlainPlugin : public Plugin {};

class Recorder : public Plugin {
 public:
  std::vector<api::Event> Events() const override {
    return {api::RUN_POD_SANDBOX, api::CREATE_CONTAINER, api::VALIDATE_CONTAINER_ADJUSTMENT};
  }
  absl::Status Configure(const api::ConfigureRequest& request) override {
    if (request.config() == "wrong") return absl::InvalidArgumentError("config: wrong");
    heard.push_back(request.config());
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<api::ContainerUpdate>> Synchronize(
      const std::vector<api::PodSandbox>& pods,
      const std::vector<api::Container>& containers) override {
    if (fails) return absl::AbortedError("not now");
    for (const api::PodSandbox& pod : pods) heard.push_back("pod " + pod.id());
    for (const api::Container& one : containers) heard.push_back("container " + one.id());
    std::vector<api::ContainerUpdate> updates(1);
    updates[0].set_container_id("c");
    return updates;
  }
  void Shutdown() override { heard.push_back("shutdown"); }
  absl::StatusOr<api::CreateContainerResponse> CreateContainer(
      const api::CreateContainerRequest& request) override {
    heard.push_back("create " + request.container().id());
    api::CreateContainerResponse response;
    response.mutable_adjust()->add_args("true");
    return response;
  }
  absl::StatusOr<api::StopContainerResponse> StopContainer(
      const api::StopContainerRequest&) override {
    return absl::FailedPreconditionError("it still works");
  }
  absl::Status StateChange(const api::StateChangeEvent& event) override {
    heard.push_back(absl::StrCat("state ", event.event()));
    return absl::OkStatus();
  }

  std::vector<std::string> heard;
  bool fails = false;
};

api::SynchronizeResponse SynchronizeWith(PluginService& service, const std::string& pod,
                                         const std::string& container, bool more) {
  api::SynchronizeRequest request;
  if (!pod.empty()) request.add_pods()->set_id(pod);
  if (!container.empty()) request.add_containers()->set_id(container);
  request.set_more(more);
  api::SynchronizeResponse response;
  response.ParseFromString(*service.Serve("Synchronize", request.SerializeAsString()));
  return response;
}

TEST(EventMaskTest, SetsTheBitBelowTheEventsNumber) {
  EXPECT_EQ(EventMask({}), 0);
  EXPECT_EQ(EventMask({api::RUN_POD_SANDBOX}), 1);
  EXPECT_EQ(EventMask({api::RUN_POD_SANDBOX, api::VALIDATE_CONTAINER_ADJUSTMENT}), 0x2001);
}

TEST(PluginServiceTest, AnswersConfigureWithTheEvents) {
  Recorder plugin;
  PluginService service(plugin);
  api::ConfigureRequest request;
  request.set_config("text");
  api::ConfigureResponse response;
  ASSERT_TRUE(response.ParseFromString(*service.Serve("Configure", request.SerializeAsString())));
  EXPECT_EQ(response.events(), 0x2009);
  EXPECT_THAT(plugin.heard, ElementsAre("text"));
  request.set_config("wrong");
  EXPECT_EQ(service.Serve("Configure", request.SerializeAsString()).status(),
            absl::InvalidArgumentError("config: wrong"));
}

TEST(PluginServiceTest, PutsThePartsOfSynchronizeTogether) {
  Recorder plugin;
  PluginService service(plugin);
  for (int round = 0; round < 2; ++round) {
    plugin.heard.clear();
    api::SynchronizeResponse response = SynchronizeWith(service, "p1", "", true);
    EXPECT_TRUE(response.more());
    EXPECT_EQ(response.update_size(), 0);
    EXPECT_TRUE(SynchronizeWith(service, "p2", "c1", true).more());
    EXPECT_THAT(plugin.heard, ElementsAre());
    response = SynchronizeWith(service, "", "c2", false);
    EXPECT_FALSE(response.more());
    EXPECT_EQ(response.update_size(), 1);
    EXPECT_THAT(plugin.heard, ElementsAre("pod p1", "pod p2", "container c1", "container c2"));
  }
}

TEST(PluginServiceTest, ForgetsThePartsOfAFailedSynchronize) {
  Recorder plugin;
  PluginService service(plugin);
  EXPECT_TRUE(SynchronizeWith(service, "p1", "", true).more());
  plugin.fails = true;
  EXPECT_EQ(service.Serve("Synchronize", "").status(), absl::AbortedError("not now"));
  plugin.fails = false;
  SynchronizeWith(service, "p2", "", false);
  EXPECT_THAT(plugin.heard, ElementsAre("pod p2"));
}

TEST(PluginServiceTest, RefusesAnEndlessSynchronize) {
  PlainPlugin plugin;
  PluginService service(plugin);
  api::SynchronizeRequest request;
  request.add_pods()->set_id(std::string(16 << 20, 'p'));
  request.set_more(true);
  const std::string bytes = request.SerializeAsString();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(service.Serve("Synchronize", bytes).ok());
  EXPECT_EQ(service.Serve("Synchronize", bytes).status(),
            absl::ResourceExhaustedError("the pods and containers take more than 67108864 bytes"));
  EXPECT_TRUE(service.Serve("Synchronize", bytes).ok());
}

TEST(PluginServiceTest, PassesCallsAndErrorsOn) {
  Recorder plugin;
  PluginService service(plugin);
  api::CreateContainerRequest request;
  request.mutable_container()->set_id("c");
  api::CreateContainerResponse response;
  ASSERT_TRUE(
      response.ParseFromString(*service.Serve("CreateContainer", request.SerializeAsString())));
  EXPECT_EQ(response.adjust().args(0), "true");
  EXPECT_EQ(service.Serve("StopContainer", "").status(),
            absl::FailedPreconditionError("it still works"));
  api::StateChangeEvent event;
  event.set_event(api::START_CONTAINER);
  EXPECT_EQ(*service.Serve("StateChange", event.SerializeAsString()), "");
  EXPECT_THAT(plugin.heard, ElementsAre("create c", "state 6"));
}

TEST(PluginServiceTest, AnswersUnimplementedForWhatThePluginLeavesOut) {
  PlainPlugin plugin;
  PluginService service(plugin);
  for (const char* method :
       {"RunPodSandbox", "UpdatePodSandbox", "PostUpdatePodSandbox", "StopPodSandbox",
        "RemovePodSandbox", "CreateContainer", "PostCreateContainer", "StartContainer",
        "PostStartContainer", "UpdateContainer", "PostUpdateContainer", "StopContainer",
        "RemoveContainer", "ValidateContainerAdjustment", "StateChange"}) {
    EXPECT_EQ(service.Serve(method, "").status(), absl::UnimplementedError(method));
  }
  EXPECT_EQ(service.Serve("Dance", "").status(), absl::UnimplementedError("method Dance"));
  EXPECT_EQ(*service.Serve("Configure", ""), "");
  EXPECT_EQ(*service.Serve("Synchronize", ""), "");
}

TEST(PluginServiceTest, RefusesWhatIsNoMessage) {
  Recorder plugin;
  PluginService service(plugin);
  for (const char* method : {"Configure", "Synchronize", "StateChange", "CreateContainer"}) {
    EXPECT_EQ(service.Serve(method, "\xff").status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(service.Serve("CreateContainer", "\xff").status().message(),
            "the payload is no nri.pkg.api.v1alpha1.CreateContainerRequest");
}

TEST(PluginServiceTest, RemembersShutdown) {
  Recorder plugin;
  PluginService service(plugin);
  EXPECT_FALSE(service.HasShutDown());
  EXPECT_EQ(*service.Serve("Shutdown", ""), "");
  EXPECT_TRUE(service.HasShutDown());
  EXPECT_THAT(plugin.heard, ElementsAre("shutdown"));
}

}  // namespace
}  // namespace plimsoll::nri
