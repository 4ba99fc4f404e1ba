// Pods and containers over a mock engine, through a real socket.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/wait_until_for_test.h"
#include "cri/messages/object_caches.h"
#include "cri/pod_rpcs.h"
#include "cri/services_fixture_for_test.h"
#include "gmock/gmock.h"
#include "runtime/objects/event_log.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Invoke;
using ::testing::IsEmpty;
using ::testing::Return;
using ::testing::UnorderedElementsAre;

v1::PodSandboxConfig PodConfig(const std::string& app = "web") {
  v1::PodSandboxConfig config;
  config.mutable_metadata()->set_name("pod");
  config.mutable_metadata()->set_uid("u");
  config.mutable_metadata()->set_namespace_("default");
  (*config.mutable_labels())["app"] = app;
  return config;
}

v1::ContainerConfig MainConfig(const std::string& app = "web") {
  v1::ContainerConfig config;
  config.mutable_metadata()->set_name("main");
  config.mutable_image()->set_image("busybox");
  (*config.mutable_labels())["app"] = app;
  (*config.mutable_labels())["tier"] = "front";
  return config;
}

runtime::SandboxRecord Pod(const std::string& id, runtime::SandboxState state,
                           const std::string& app = "web") {
  runtime::SandboxRecord record;
  record.id = id;
  record.state = state;
  record.client_config = PodConfig(app).SerializeAsString();
  return record;
}

runtime::ContainerRecord Main(const std::string& id, const std::string& sandbox,
                              runtime::ContainerState state, const std::string& app = "web") {
  runtime::ContainerRecord record;
  record.id = id;
  record.sandbox_id = sandbox;
  record.state = state;
  record.client_config = MainConfig(app).SerializeAsString();
  return record;
}

TEST_F(ServicesTest, ThePodOfAClientThatHasLeftIsRemoved) {
  ObjectCaches caches(&engine_);
  runtime::EventLog events;
  PodRpcs rpcs(&engine_, &events, {}, &caches);
  v1::RunPodSandboxRequest request;
  *request.mutable_config() = PodConfig();
  v1::RunPodSandboxResponse response;
  EXPECT_CALL(engine_, RunSandbox(_, _)).WillRepeatedly(Return("id1"));
  EXPECT_CALL(engine_, RemoveSandbox(absl::string_view("id1")))
      .WillOnce(Return(absl::OkStatus()))
      .WillOnce(Return(absl::InternalError("no room")));
  CallContext call;
  EXPECT_TRUE(rpcs.RunPodSandbox(call, request, &response).ok());
  call.cancellation->Cancel();
  EXPECT_TRUE(absl::IsCancelled(rpcs.RunPodSandbox(call, request, &response)));
  EXPECT_THAT(events.Since(0), IsEmpty());
  EXPECT_TRUE(absl::IsCancelled(rpcs.RunPodSandbox(call, request, &response)));
  EXPECT_THAT(events.Since(0),
              ElementsAre(Field(&runtime::Event::message, HasSubstr("can't be removed: no room"))));
  call.deadline = absl::Now();  // the client may still be there, and lists pods
  EXPECT_TRUE(rpcs.RunPodSandbox(call, request, &response).ok());
}

TEST_F(ServicesTest, RunPodSandboxGivesSpecAndMessageToTheEngine) {
  v1::RunPodSandboxRequest request;
  *request.mutable_config() = PodConfig();
  // A field of a newer client survives in the stored message.
  request.mutable_config()
      ->GetReflection()
      ->MutableUnknownFields(request.mutable_config())
      ->AddVarint(20000, 1);
  EXPECT_CALL(engine_, RunSandbox(Field(&runtime::SandboxSpec::name, "pod"),
                                  request.config().SerializeAsString()))
      .WillOnce(Return("id1"));
  v1::RunPodSandboxResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::RunPodSandbox, request, &response).ok());
  EXPECT_EQ(response.pod_sandbox_id(), "id1");
}

TEST_F(ServicesTest, InvalidRequestsDoNotReachTheEngine) {
  EXPECT_CALL(engine_, RunSandbox(_, _)).Times(0);
  v1::RunPodSandboxRequest request;
  EXPECT_EQ(Code(runtime_, &RuntimeStub::RunPodSandbox, request),
            absl::StatusCode::kInvalidArgument);
  *request.mutable_config() = PodConfig();
  request.set_runtime_handler("kata");
  v1::RunPodSandboxResponse response;
  const grpc::Status status = Call(runtime_, &RuntimeStub::RunPodSandbox, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("runtime_handler is \"kata\""));
}

TEST_F(ServicesTest, WarningsBecomeEvents) {
  v1::RunPodSandboxRequest request;
  *request.mutable_config() = PodConfig();
  request.mutable_config()
      ->mutable_linux()
      ->mutable_security_context()
      ->mutable_selinux_options()
      ->set_level("s0");
  EXPECT_CALL(engine_, RunSandbox(_, _)).WillOnce(Return("id1"));
  EXPECT_EQ(Code(runtime_, &RuntimeStub::RunPodSandbox, request), absl::StatusCode::kOk);
  const std::vector<runtime::Event> events = events_.Since(0);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, runtime::EventType::kWarning);
  EXPECT_EQ(events[0].sandbox_id, "id1");
  EXPECT_THAT(events[0].message, HasSubstr("selinux_options"));
}

TEST_F(ServicesTest, AContainerThatCannotBeMadeIsAnEventOfItsPod) {
  v1::CreateContainerRequest create;
  create.set_pod_sandbox_id("p");
  *create.mutable_config() = MainConfig();
  ON_CALL(engine_, GetSandbox(_)).WillByDefault(Return(Pod("p", runtime::SandboxState::kReady)));
  EXPECT_CALL(engine_, CreateContainer(_, _, _))
      .WillOnce(Return(absl::FailedPreconditionError("no such volume")));
  EXPECT_EQ(Code(runtime_, &RuntimeStub::CreateContainer, create),
            absl::StatusCode::kFailedPrecondition);
  create.mutable_config()->mutable_metadata()->clear_name();
  EXPECT_EQ(Code(runtime_, &RuntimeStub::CreateContainer, create),
            absl::StatusCode::kInvalidArgument);
  const std::vector<runtime::Event> events = events_.Since(0);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, runtime::EventType::kWarning);
  EXPECT_EQ(events[0].message, "creating container main failed: no such volume");
  EXPECT_EQ(events[0].container_id, "");
}

TEST_F(ServicesTest, StoppingAndRemovingTheUnknownIsOk) {
  ON_CALL(engine_, StopSandbox(_)).WillByDefault(Return(absl::NotFoundError("no")));
  ON_CALL(engine_, RemoveSandbox(_)).WillByDefault(Return(absl::NotFoundError("no")));
  ON_CALL(engine_, GetSandbox(_)).WillByDefault(Return(absl::NotFoundError("no")));
  ON_CALL(engine_, StopContainer(_, _)).WillByDefault(Return(absl::NotFoundError("no")));
  ON_CALL(engine_, RemoveContainer(_)).WillByDefault(Return(absl::NotFoundError("no")));
  v1::StopPodSandboxRequest stop_pod;
  v1::RemovePodSandboxRequest remove_pod;
  v1::StopContainerRequest stop;
  v1::RemoveContainerRequest remove;
  const auto codes = [&] {
    return std::vector<absl::StatusCode>{Code(runtime_, &RuntimeStub::StopPodSandbox, stop_pod),
                                         Code(runtime_, &RuntimeStub::RemovePodSandbox, remove_pod),
                                         Code(runtime_, &RuntimeStub::StopContainer, stop),
                                         Code(runtime_, &RuntimeStub::RemoveContainer, remove)};
  };
  EXPECT_THAT(codes(), ::testing::Each(absl::StatusCode::kInvalidArgument)) << "ids are missing";
  stop_pod.set_pod_sandbox_id("x");
  remove_pod.set_pod_sandbox_id("x");
  stop.set_container_id("x");
  remove.set_container_id("x");
  EXPECT_THAT(codes(), ::testing::Each(absl::StatusCode::kOk));
}

TEST_F(ServicesTest, WhatAPodLacksIsNoSignThatItIsGone) {
  ON_CALL(engine_, StopSandbox(_)).WillByDefault(Return(absl::NotFoundError("its network")));
  ON_CALL(engine_, RemoveSandbox(_)).WillByDefault(Return(absl::NotFoundError("its network")));
  ON_CALL(engine_, GetSandbox(_)).WillByDefault(Return(runtime::SandboxRecord()));
  v1::StopPodSandboxRequest stop;
  stop.set_pod_sandbox_id("x");
  EXPECT_EQ(Code(runtime_, &RuntimeStub::StopPodSandbox, stop), absl::StatusCode::kNotFound);
  v1::RemovePodSandboxRequest remove;
  remove.set_pod_sandbox_id("x");
  EXPECT_EQ(Code(runtime_, &RuntimeStub::RemovePodSandbox, remove), absl::StatusCode::kNotFound);
}

TEST_F(ServicesTest, EngineErrorsKeepCodeAndMessage) {
  EXPECT_CALL(engine_, StartContainer(absl::string_view("c")))
      .WillOnce(Return(absl::FailedPreconditionError("c is Running")));
  v1::StartContainerRequest request;
  request.set_container_id("c");
  v1::StartContainerResponse response;
  const grpc::Status status = Call(runtime_, &RuntimeStub::StartContainer, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "c is Running");
}

TEST_F(ServicesTest, StatusOfTheUnknownIsNotFound) {
  ON_CALL(engine_, GetSandbox(_)).WillByDefault(Return(absl::NotFoundError("no")));
  ON_CALL(engine_, GetContainer(_)).WillByDefault(Return(absl::NotFoundError("no")));
  v1::PodSandboxStatusRequest pod;
  pod.set_pod_sandbox_id("x");
  EXPECT_EQ(Code(runtime_, &RuntimeStub::PodSandboxStatus, pod), absl::StatusCode::kNotFound);
  v1::ContainerStatusRequest container;
  container.set_container_id("x");
  EXPECT_EQ(Code(runtime_, &RuntimeStub::ContainerStatus, container), absl::StatusCode::kNotFound);
  v1::CreateContainerRequest create;
  create.set_pod_sandbox_id("x");
  *create.mutable_config() = MainConfig();
  EXPECT_EQ(Code(runtime_, &RuntimeStub::CreateContainer, create), absl::StatusCode::kNotFound);
}

TEST_F(ServicesTest, PodFiltersAreCombined) {
  using runtime::SandboxState;
  ON_CALL(engine_, ListSandboxes())
      .WillByDefault(Return(std::vector<runtime::SandboxRecord>{
          Pod("aa1", SandboxState::kReady), Pod("aa2", SandboxState::kNotReady),
          Pod("bb1", SandboxState::kReady, "db"), Pod("cc1", SandboxState::kCreating)}));
  v1::PodSandboxFilter filter;
  EXPECT_THAT(Pods(filter), UnorderedElementsAre("aa1", "aa2", "bb1"));
  filter.set_id("aa");
  EXPECT_THAT(Pods(filter), UnorderedElementsAre("aa1", "aa2"));
  filter.mutable_state()->set_state(v1::SANDBOX_READY);
  EXPECT_THAT(Pods(filter), ElementsAre("aa1"));
  filter.clear_id();
  (*filter.mutable_label_selector())["app"] = "db";
  EXPECT_THAT(Pods(filter), ElementsAre("bb1"));
  filter.mutable_state()->set_state(v1::SANDBOX_NOTREADY);
  EXPECT_THAT(Pods(filter), IsEmpty());
}

TEST_F(ServicesTest, ContainerFiltersAreCombined) {
  using runtime::ContainerState;
  ON_CALL(engine_, ListContainers())
      .WillByDefault(Return(std::vector<runtime::ContainerRecord>{
          Main("a1", "p1", ContainerState::kRunning), Main("a2", "p1", ContainerState::kExited),
          Main("b1", "p2", ContainerState::kRunning, "db"),
          Main("x", "p1", ContainerState::kCreating)}));
  v1::ContainerFilter filter;
  EXPECT_THAT(Containers(filter), UnorderedElementsAre("a1", "a2", "b1"));
  filter.mutable_state()->set_state(v1::CONTAINER_RUNNING);
  EXPECT_THAT(Containers(filter), UnorderedElementsAre("a1", "b1"));
  filter.set_pod_sandbox_id("p1");
  EXPECT_THAT(Containers(filter), ElementsAre("a1"));
  filter.Clear();
  (*filter.mutable_label_selector())["tier"] = "front";
  EXPECT_EQ(Containers(filter).size(), 3u);
  (*filter.mutable_label_selector())["app"] = "db";
  EXPECT_THAT(Containers(filter), ElementsAre("b1"));
  (*filter.mutable_label_selector())["none"] = "";
  EXPECT_THAT(Containers(filter), IsEmpty());
  filter.Clear();
  filter.set_id("a");
  EXPECT_THAT(Containers(filter), UnorderedElementsAre("a1", "a2"));
}

// Parsing a thousand containers' messages would be most of a list's cost.
TEST_F(ServicesTest, EachContainersMessageIsParsedOnce) {
  std::vector<runtime::ContainerRecord> records;
  for (int i = 0; i < 1000; ++i) {
    records.push_back(
        Main(absl::StrCat("c", i), "p", runtime::ContainerState::kRunning, i % 2 ? "a" : "b"));
  }
  ON_CALL(engine_, ListContainers()).WillByDefault(Return(records));
  EXPECT_EQ(Containers({}).size(), 1000u);
  // A list that parsed these again would see no label.
  for (runtime::ContainerRecord& record : records) record.client_config.clear();
  records.push_back(Main("new", "p", runtime::ContainerState::kRunning, "a"));
  ON_CALL(engine_, ListContainers()).WillByDefault(Return(records));
  EXPECT_EQ(Containers({}).size(), 1001u);
  v1::ContainerFilter filter;
  (*filter.mutable_label_selector())["app"] = "a";
  EXPECT_EQ(Containers(filter).size(), 501u);
  (*filter.mutable_label_selector())["app"] = "b";
  EXPECT_EQ(Containers(filter).size(), 500u);
}

TEST_F(ServicesTest, ContainerStatusHasTheKernelsResources) {
  ON_CALL(engine_, GetContainer(absl::string_view("a")))
      .WillByDefault(Return(Main("a", "p", runtime::ContainerState::kRunning)));
  runtime::EffectiveResources effective;
  effective.cgroup.memory_limit_bytes = 4096;
  effective.oom_score_adj = 7;
  EXPECT_CALL(engine_, ReadResources(absl::string_view("a"))).WillOnce(Return(effective));
  v1::ContainerStatusRequest request;
  request.set_container_id("a");
  request.set_verbose(true);
  v1::ContainerStatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::ContainerStatus, request, &response).ok());
  EXPECT_EQ(response.status().resources().linux().memory_limit_in_bytes(), 4096);
  EXPECT_EQ(response.status().resources().linux().oom_score_adj(), 7);
  EXPECT_EQ(response.status().labels().at("app"), "web");
  EXPECT_THAT(response.info().at("info"), HasSubstr("\"sandboxID\":\"p\""));
}

TEST_F(ServicesTest, UpdateIsValidatedWholeAndPassedOn) {
  v1::UpdateContainerResourcesRequest request;
  request.set_container_id("a");
  request.mutable_linux()->set_cpu_shares(1);
  request.mutable_linux()->set_memory_limit_in_bytes(4096);
  EXPECT_CALL(engine_, UpdateResources(_, _)).Times(0);
  EXPECT_EQ(Code(runtime_, &RuntimeStub::UpdateContainerResources, request),
            absl::StatusCode::kInvalidArgument);
  ::testing::Mock::VerifyAndClearExpectations(&engine_);
  request.mutable_linux()->set_cpu_shares(512);
  EXPECT_CALL(engine_, UpdateResources(absl::string_view("a"), _))
      .WillOnce(Invoke([](auto, const runtime::ResourceUpdate& update) {
        EXPECT_EQ(update.cgroup.cpu_shares, 512u);
        EXPECT_EQ(update.cgroup.memory_limit_bytes, 4096);
        EXPECT_EQ(update.oom_score_adj, std::nullopt);
        return absl::OkStatus();
      }));
  EXPECT_EQ(Code(runtime_, &RuntimeStub::UpdateContainerResources, request), absl::StatusCode::kOk);
}

TEST_F(ServicesTest, WhatThePodsAuthorWroteIsKeptAndGivenBack) {
  v1::RunPodSandboxRequest run;
  *run.mutable_config() = PodConfig();
  v1::ContainerResourceConfig* web =
      run.mutable_config()->mutable_pod_resources()->add_containers();
  web->set_name("main");
  web->set_type(v1::ContainerResourceConfig::CONTAINER);
  (*web->mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string("0.50");
  runtime::SandboxRecord pod = Pod("p", runtime::SandboxState::kReady);
  EXPECT_CALL(engine_, RunSandbox(_, _)).WillOnce(Invoke([&](const auto& spec, auto) {
    pod.spec.pod_resources = spec.pod_resources;
    return pod.id;
  }));
  ASSERT_EQ(Code(runtime_, &RuntimeStub::RunPodSandbox, run), absl::StatusCode::kOk);
  EXPECT_CALL(engine_, GetSandbox(absl::string_view("p"))).WillRepeatedly(Return(pod));
  v1::PodSandboxStatusRequest status;
  status.set_pod_sandbox_id("p");
  v1::PodSandboxStatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::PodSandboxStatus, status, &response).ok());
  EXPECT_EQ(response.status().pod_resources().SerializeAsString(),
            run.config().pod_resources().SerializeAsString());

  v1::UpdateContainerResourcesRequest update;
  update.set_container_id("a");
  (*update.mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string("-1");
  EXPECT_EQ(Code(runtime_, &RuntimeStub::UpdateContainerResources, update),
            absl::StatusCode::kInvalidArgument);
  (*update.mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string("1.0");
  runtime::ContainerRecord container = Main("a", "p", runtime::ContainerState::kRunning);
  EXPECT_CALL(engine_, UpdateResources(absl::string_view("a"), _))
      .WillOnce(Invoke([&](auto, const runtime::ResourceUpdate& asked) {
        container.spec.kubernetes_resources = asked.kubernetes_resources.value();
        return absl::OkStatus();
      }));
  EXPECT_EQ(Code(runtime_, &RuntimeStub::UpdateContainerResources, update), absl::StatusCode::kOk);
  ON_CALL(engine_, GetContainer(absl::string_view("a"))).WillByDefault(Return(container));
  ON_CALL(engine_, ReadResources(_)).WillByDefault(Return(runtime::EffectiveResources()));
  v1::ContainerStatusRequest look;
  look.set_container_id("a");
  v1::ContainerStatusResponse seen;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::ContainerStatus, look, &seen).ok());
  EXPECT_EQ(seen.status().kubernetes_resources().limits().at("cpu").string(), "1.0");
}

TEST_F(ServicesTest, WhatIsThereAndEmptyIsGivenBackToo) {
  runtime::ContainerRecord container = Main("a", "p", runtime::ContainerState::kRunning);
  ON_CALL(engine_, GetSandbox(_)).WillByDefault(Return(Pod("p", runtime::SandboxState::kReady)));
  ON_CALL(engine_, ReadResources(_)).WillByDefault(Return(runtime::EffectiveResources()));
  const auto is_shown = [&] {
    ON_CALL(engine_, GetContainer(absl::string_view("a"))).WillByDefault(Return(container));
    v1::ContainerStatusRequest look;
    look.set_container_id("a");
    v1::ContainerStatusResponse seen;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::ContainerStatus, look, &seen).ok());
    return seen.status().has_kubernetes_resources();
  };
  EXPECT_FALSE(is_shown());
  v1::CreateContainerRequest create;
  create.set_pod_sandbox_id("p");
  *create.mutable_config() = MainConfig();
  for (const bool is_there : {false, true}) {
    if (is_there) create.mutable_config()->mutable_kubernetes_resources();
    EXPECT_CALL(engine_, CreateContainer(_, _, _))
        .WillOnce(Invoke([&](auto, const auto& spec, auto) {
          container.spec.kubernetes_resources = spec.kubernetes_resources;
          return std::string("a");
        }));
    ASSERT_EQ(Code(runtime_, &RuntimeStub::CreateContainer, create), absl::StatusCode::kOk);
    EXPECT_EQ(is_shown(), is_there);
  }
  container.spec.kubernetes_resources = {};
  v1::UpdateContainerResourcesRequest update;
  update.set_container_id("a");
  update.mutable_kubernetes_resources();
  EXPECT_CALL(engine_, UpdateResources(absl::string_view("a"), _))
      .WillOnce(Invoke([&](auto, const runtime::ResourceUpdate& asked) {
        container.spec.kubernetes_resources = asked.kubernetes_resources.value();
        return absl::OkStatus();
      }));
  ASSERT_EQ(Code(runtime_, &RuntimeStub::UpdateContainerResources, update), absl::StatusCode::kOk);
  EXPECT_TRUE(is_shown());
}

TEST_F(ServicesTest, AnUpdateOfAPodHasItsAnnotationsToo) {
  ON_CALL(engine_, GetSandbox(_)).WillByDefault(Return(Pod("p", runtime::SandboxState::kReady)));
  v1::UpdatePodSandboxResourcesRequest request;
  request.set_pod_sandbox_id("p");
  (*request.mutable_annotations())["example.com/option"] = "fast";
  const std::map<std::string, std::string> sent = {{"example.com/option", "fast"}};
  EXPECT_CALL(engine_, UpdateSandboxResources(absl::string_view("p"), _))
      .WillOnce(Invoke([&](auto, const runtime::SandboxUpdate& update) {
        EXPECT_EQ(update.annotations, sent);
        EXPECT_FALSE(update.shrink_memory);
        return absl::OkStatus();
      }))
      .WillOnce(Invoke([](auto, const runtime::SandboxUpdate& update) {
        EXPECT_TRUE(update.shrink_memory);
        return absl::OkStatus();
      }));
  const auto update = [&] {
    return Code(runtime_, &RuntimeStub::UpdatePodSandboxResources, request);
  };
  EXPECT_EQ(update(), absl::StatusCode::kOk);
  std::string& shrink = (*request.mutable_annotations())["plimsoll.dev/memory-shrink"];
  shrink = "please";
  EXPECT_EQ(update(), absl::StatusCode::kInvalidArgument);
  shrink = "best-effort";
  EXPECT_EQ(update(), absl::StatusCode::kOk);
}

// Only the client's own score is lost; the warning comes once, since clients repeat their updates.
TEST_F(ServicesTest, APodsOomScoreIsWarnedOfOnce) {
  ON_CALL(engine_, GetSandbox(_)).WillByDefault(Return(Pod("p", runtime::SandboxState::kReady)));
  EXPECT_CALL(engine_, RunSandbox(_, _)).WillOnce(Return("p")).WillOnce(Return("q"));
  EXPECT_CALL(engine_, UpdateSandboxResources(_, _)).WillRepeatedly(Return(absl::OkStatus()));
  const auto warnings = [&](const std::string& pod) {
    std::vector<std::string> messages;
    for (const runtime::Event& event : events_.Since(0)) {
      if (event.type == runtime::EventType::kWarning && event.sandbox_id == pod) {
        messages.push_back(event.message);
      }
    }
    return messages;
  };
  v1::RunPodSandboxRequest run;
  *run.mutable_config() = PodConfig();
  ASSERT_EQ(Code(runtime_, &RuntimeStub::RunPodSandbox, run), absl::StatusCode::kOk);
  v1::UpdatePodSandboxResourcesRequest update;
  update.set_pod_sandbox_id("p");
  const auto updated = [&] {
    return Code(runtime_, &RuntimeStub::UpdatePodSandboxResources, update);
  };
  ASSERT_EQ(updated(), absl::StatusCode::kOk);
  EXPECT_THAT(warnings("p"), IsEmpty());
  update.mutable_resources()->set_oom_score_adj(500);
  ASSERT_EQ(updated(), absl::StatusCode::kOk);
  ASSERT_EQ(updated(), absl::StatusCode::kOk);
  EXPECT_THAT(warnings("p"),
              ElementsAre(HasSubstr("oom_score_adj 500 of the pod's resources has no effect")));
  run.mutable_config()->mutable_linux()->mutable_overhead()->set_oom_score_adj(-5);
  ASSERT_EQ(Code(runtime_, &RuntimeStub::RunPodSandbox, run), absl::StatusCode::kOk);
  EXPECT_THAT(warnings("q"),
              ElementsAre(HasSubstr("oom_score_adj -5 of the pod's overhead has no effect")));
}

TEST_F(ServicesTest, ExecSyncGivesOutputBackAndIsBoundByTheClient) {
  EXPECT_CALL(engine_.mock_commands, ExecSync(absl::string_view("a"), _))
      .WillOnce(Invoke([](auto, const runtime::ExecRequest& request) {
        EXPECT_THAT(request.argv, ElementsAre("echo", "hi"));
        EXPECT_EQ(request.timeout, absl::Seconds(3));
        return runtime::ExecResult{4, "out\xff", "err"};
      }))
      .WillOnce(Invoke([](auto, const runtime::ExecRequest& request) {
        EXPECT_GT(request.timeout, absl::ZeroDuration());
        EXPECT_LE(request.timeout, absl::Seconds(31));  // gRPC rounds on the wire
        return runtime::ExecResult();
      }));
  v1::ExecSyncRequest request;
  request.set_container_id("a");
  request.add_cmd("echo");
  request.add_cmd("hi");
  request.set_timeout(3);
  v1::ExecSyncResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::ExecSync, request, &response).ok());
  EXPECT_EQ(response.exit_code(), 4);
  EXPECT_EQ(response.stdout(), "out\xff");
  EXPECT_EQ(response.stderr(), "err");
  request.clear_timeout();
  EXPECT_EQ(Code(runtime_, &RuntimeStub::ExecSync, request), absl::StatusCode::kOk);
  request.set_timeout(-1);
  EXPECT_EQ(Code(runtime_, &RuntimeStub::ExecSync, request), absl::StatusCode::kInvalidArgument);
  request.clear_timeout();
  request.clear_cmd();
  EXPECT_EQ(Code(runtime_, &RuntimeStub::ExecSync, request), absl::StatusCode::kInvalidArgument);
}

TEST_F(ServicesTest, ExecSyncsOutputIsBoundToWhatOneMessageAndTheDaemonHold) {
  EXPECT_CALL(engine_.mock_commands, ExecSync(_, _))
      .WillOnce(Invoke([](auto, const runtime::ExecRequest& request) {
        EXPECT_LT(request.max_output_bytes, 16u << 20);
        EXPECT_EQ(request.output_share->Take(1u << 30), 32u << 20);
        return runtime::ExecResult{0, std::string(request.max_output_bytes, 'o'), ""};
      }))
      // The answer has left and released its share.
      .WillOnce(Invoke([](auto, const runtime::ExecRequest& request) {
        EXPECT_TRUE(WaitUntil([&] { return request.output_share->Take(1u << 30) > 0; }));
        return runtime::ExecResult{1, "", "e"};
      }));
  v1::ExecSyncRequest request;
  request.set_container_id("a");
  request.add_cmd("yes");
  v1::ExecSyncResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::ExecSync, request, &response).ok());
  EXPECT_EQ(response.stdout().size(), (16u << 20) - 4096);
  response.Clear();
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::ExecSync, request, &response).ok());
  EXPECT_EQ(response.ShortDebugString(), "stderr: \"e\" exit_code: 1");
}

}  // namespace
}  // namespace plimsoll::cri
