// The services over a mock engine and image store, through a real socket.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "cri/list_parts.h"
#include "cri/mocks_for_test.h"
#include "gmock/gmock.h"
#include "image/skopeo_errors.h"

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

image::Image Busybox() {
  image::Image image;
  image.record.id = "sha256:b";
  image.record.repo_tags = {"docker.io/library/busybox:latest"};
  image.record.size_bytes = 7;
  image.config.user = "1000:5";
  return image;
}

class ServicesTest : public ServerFixture {
 protected:
  void SetUp() override { Start(); }

  template <typename Stub, typename Request, typename Response>
  absl::StatusCode Code(const std::unique_ptr<Stub>& stub,
                        grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        const Request& request) {
    Response response;
    return static_cast<absl::StatusCode>(Call(stub, method, request, &response).error_code());
  }

  std::vector<std::string> Containers(const v1::ContainerFilter& filter) {
    v1::ListContainersRequest request;
    *request.mutable_filter() = filter;
    v1::ListContainersResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::ListContainers, request, &response).ok());
    std::vector<std::string> ids;
    for (const v1::Container& container : response.containers()) ids.push_back(container.id());
    return ids;
  }

  std::vector<std::string> Pods(const v1::PodSandboxFilter& filter) {
    v1::ListPodSandboxRequest request;
    *request.mutable_filter() = filter;
    v1::ListPodSandboxResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::ListPodSandbox, request, &response).ok());
    std::vector<std::string> ids;
    for (const v1::PodSandbox& pod : response.items()) ids.push_back(pod.id());
    return ids;
  }
};

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

TEST_F(ServicesTest, StoppingAndRemovingTheUnknownIsOk) {
  ON_CALL(engine_, StopSandbox(_)).WillByDefault(Return(absl::NotFoundError("no")));
  ON_CALL(engine_, RemoveSandbox(_)).WillByDefault(Return(absl::NotFoundError("no")));
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

// Of each list of a thousand, parsing their messages would be the most.
TEST_F(ServicesTest, EachContainersMessageIsParsedOnce) {
  std::vector<runtime::ContainerRecord> records;
  for (int i = 0; i < 1000; ++i) {
    records.push_back(
        Main(absl::StrCat("c", i), "p", runtime::ContainerState::kRunning, i % 2 ? "a" : "b"));
  }
  ON_CALL(engine_, ListContainers()).WillByDefault(Return(records));
  EXPECT_EQ(Containers({}).size(), 1000u);
  // Whoever read these would see no label.
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

TEST_F(ServicesTest, ExecSyncGivesOutputBackAndIsBoundByTheClient) {
  EXPECT_CALL(engine_, ExecSync(absl::string_view("a"), _))
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

TEST_F(ServicesTest, ExecSyncOutputIsCutToFitOneMessage) {
  EXPECT_CALL(engine_, ExecSync(_, _))
      .WillOnce(Return(runtime::ExecResult{0, std::string(16 << 20, 'o'), "all of it"}));
  v1::ExecSyncRequest request;
  request.set_container_id("a");
  request.add_cmd("yes");
  v1::ExecSyncResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::ExecSync, request, &response).ok());
  EXPECT_LT(response.ByteSizeLong(), 16u << 20);
  EXPECT_EQ(response.stderr(), "all of it");
  EXPECT_THAT(response.stdout().substr(response.stdout().size() - 100), HasSubstr("truncated"));
}

TEST_F(ServicesTest, StatusNamesBothConditions) {
  v1::StatusRequest request;
  request.set_verbose(true);
  v1::StatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, request, &response).ok());
  ASSERT_EQ(response.status().conditions_size(), 2);
  EXPECT_EQ(response.status().conditions(0).type(), "RuntimeReady");
  EXPECT_TRUE(response.status().conditions(0).status());
  EXPECT_EQ(response.status().conditions(1).type(), "NetworkReady");
  EXPECT_FALSE(response.status().conditions(1).status());
  EXPECT_EQ(response.status().conditions(1).reason(), "NetworkPluginNotReady");
  EXPECT_THAT(response.status().conditions(1).message(), HasSubstr("CNI"));
  ASSERT_EQ(response.runtime_handlers_size(), 1);
  EXPECT_EQ(response.runtime_handlers(0).name(), "");
  EXPECT_FALSE(response.runtime_handlers(0).features().user_namespaces());
  EXPECT_TRUE(response.features().supplemental_groups_policy());
  EXPECT_TRUE(response.features().mount_options());
  EXPECT_THAT(response.info().at("config"), HasSubstr("\"version\":\"1.2.3\""));
  EXPECT_THAT(response.info().at("config"), HasSubstr("\"selinux\":false"));
  EXPECT_EQ(response.info().at("limitations"), "[]");
}

class HandlersTest : public ServicesTest {
 protected:
  HandlersTest() {
    options_.info.runtime_handlers = {"machine", "plain"};
    options_.info.recursive_read_only_mounts = false;
    options_.info.handlers_with_recursive_read_only_mounts = {"plain"};
    options_.info.user_namespaces = true;
    options_.info.handlers_without_user_namespaces = {"machine"};
  }
};

TEST_F(HandlersTest, HaveFeaturesOfTheirOwn) {
  v1::StatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, v1::StatusRequest(), &response).ok());
  std::vector<std::string> seen;
  for (const v1::RuntimeHandler& handler : response.runtime_handlers()) {
    seen.push_back(absl::StrCat(handler.name(), " ",
                                handler.features().recursive_read_only_mounts(), " ",
                                handler.features().user_namespaces()));
  }
  EXPECT_THAT(seen, ElementsAre(" 0 1", "machine 0 0", "plain 1 1"));
}

class NetworkedTest : public ServicesTest {
 protected:
  NetworkedTest() {
    options_.info.network_ready = [] { return absl::OkStatus(); };
    options_.info.set_pod_cidr = [this](const std::string& cidr) {
      cidr_ = cidr;
      return cidr == "bad" ? absl::InvalidArgumentError("no prefix") : absl::OkStatus();
    };
  }
  std::string cidr_ = "unset";
};

TEST_F(NetworkedTest, TheNetworkIsReadyAndIsToldOfPrefixes) {
  v1::StatusResponse status;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, {}, &status).ok());
  EXPECT_EQ(status.status().conditions(1).type(), "NetworkReady");
  EXPECT_TRUE(status.status().conditions(1).status());
  v1::UpdateRuntimeConfigRequest request;
  EXPECT_EQ(Code(runtime_, &RuntimeStub::UpdateRuntimeConfig, request), absl::StatusCode::kOk);
  EXPECT_EQ(cidr_, "unset");
  auto* config = request.mutable_runtime_config()->mutable_network_config();
  config->set_pod_cidr("10.1.0.0/24,fd00::/64");
  EXPECT_EQ(Code(runtime_, &RuntimeStub::UpdateRuntimeConfig, request), absl::StatusCode::kOk);
  EXPECT_EQ(cidr_, "10.1.0.0/24,fd00::/64");
  config->set_pod_cidr("bad");
  EXPECT_EQ(Code(runtime_, &RuntimeStub::UpdateRuntimeConfig, request),
            absl::StatusCode::kInvalidArgument);
}

class UnreadyTest : public ServicesTest {
 protected:
  UnreadyTest() {
    options_.info.ready = [] {
      return absl::FailedPreconditionError("RuntimeProgramMissing: execute /x/monitor: gone");
    };
  }
};

TEST_F(UnreadyTest, StatusSaysWhatIsMissing) {
  v1::StatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, {}, &response).ok());
  EXPECT_FALSE(response.status().conditions(0).status());
  EXPECT_EQ(response.status().conditions(0).reason(), "RuntimeProgramMissing");
  EXPECT_EQ(response.status().conditions(0).message(), "execute /x/monitor: gone");
}

class MisfitTest : public ServicesTest {
 protected:
  MisfitTest() {
    options_.info.node_resources = [this] {
      return fits_ ? absl::OkStatus()
                   : absl::FailedPreconditionError("LastGoodStays: cpus.list: CPUs 3: no");
    };
  }
  v1::RuntimeCondition Condition() {
    v1::StatusResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::Status, {}, &response).ok());
    EXPECT_EQ(response.status().conditions_size(), 3);
    return response.status().conditions(response.status().conditions_size() - 1);
  }
  std::atomic<bool> fits_ = true;
};

TEST_F(MisfitTest, StatusSaysWhyOlderResourcesAreInForce) {
  EXPECT_EQ(Condition().type(), "NodeResourcesReady");
  EXPECT_TRUE(Condition().status());
  fits_ = false;
  EXPECT_FALSE(Condition().status());
  EXPECT_EQ(Condition().reason(), "LastGoodStays");
  EXPECT_EQ(Condition().message(), "cpus.list: CPUs 3: no");
}

TEST_F(ServicesTest, ImageOfUnknownNameIsAnEmptyAnswer) {
  ON_CALL(images_, Find(_)).WillByDefault(Return(absl::NotFoundError("no")));
  v1::ImageStatusRequest request;
  request.mutable_image()->set_image("x");
  v1::ImageStatusResponse response;
  EXPECT_TRUE(Call(image_, &ImageStub::ImageStatus, request, &response).ok());
  EXPECT_FALSE(response.has_image());
  v1::ListImagesRequest list;
  list.mutable_filter()->mutable_image()->set_image("x");
  v1::ListImagesResponse listed;
  EXPECT_TRUE(Call(image_, &ImageStub::ListImages, list, &listed).ok());
  EXPECT_EQ(listed.images_size(), 0);
}

TEST_F(ServicesTest, ImagesAreShown) {
  image::Image named = Busybox();
  named.record.id = "sha256:c";
  named.config.user = "nobody";
  ON_CALL(images_, List()).WillByDefault(Return(std::vector<image::Image>{Busybox(), named}));
  v1::ListImagesResponse response;
  ASSERT_TRUE(Call(image_, &ImageStub::ListImages, v1::ListImagesRequest(), &response).ok());
  ASSERT_EQ(response.images_size(), 2);
  EXPECT_EQ(response.images(0).id(), "sha256:b");
  EXPECT_EQ(response.images(0).uid().value(), 1000);
  EXPECT_EQ(response.images(0).size(), 7u);
  EXPECT_EQ(response.images(0).spec().image(), "docker.io/library/busybox:latest");
  EXPECT_FALSE(response.images(1).has_uid());
  EXPECT_EQ(response.images(1).username(), "nobody");
}

TEST_F(ServicesTest, PullPassesCredentialsAndGivesTheId) {
  EXPECT_CALL(images_, Pull(absl::string_view("busybox"), _, _))
      .WillOnce(Invoke([](auto, const image::PullOptions& options, const auto&) {
        EXPECT_EQ(options.credentials.username, "bob");
        EXPECT_EQ(options.credentials.password, "pw");
        EXPECT_LE(options.timeout, absl::Seconds(31)) << "the client's deadline";
        EXPECT_FALSE(options.cancelled());
        return Busybox();
      }));
  v1::PullImageRequest request;
  request.mutable_image()->set_image("busybox");
  request.mutable_auth()->set_username("bob");
  request.mutable_auth()->set_password("pw");
  v1::PullImageResponse response;
  ASSERT_TRUE(Call(image_, &ImageStub::PullImage, request, &response).ok());
  EXPECT_EQ(response.image_ref(), "sha256:b");
}

TEST_F(ServicesTest, APullsFailureHasTheNameThatKubeletKnows) {
  const auto pull = [this](const absl::Status& failure) {
    EXPECT_CALL(images_, Pull(_, _, _)).WillOnce(Return(failure));
    v1::PullImageRequest request;
    request.mutable_image()->set_image("busybox");
    v1::PullImageResponse response;
    return Call(image_, &ImageStub::PullImage, request, &response);
  };
  const grpc::Status off = pull(absl::UnavailableError("pull x: connection refused"));
  EXPECT_EQ(off.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(off.error_message(), "RegistryUnavailable: pull x: connection refused");
  const grpc::Status unsigned_image = pull(image::TranslateSkopeoError(
      "level=fatal msg=\"Source image rejected: A signature was required\"", "x", {}));
  EXPECT_EQ(unsigned_image.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(unsigned_image.error_message(),
            "SignatureValidationFailed: pull x: Source image rejected: A signature was required");
  EXPECT_EQ(pull(absl::NotFoundError("pull x: no")).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServicesTest, APullForAnUnknownHandlerIsRefused) {
  v1::PullImageRequest request;
  request.mutable_image()->set_image("busybox");
  request.mutable_image()->set_runtime_handler("nobody");
  v1::PullImageResponse response;
  const grpc::Status status = Call(image_, &ImageStub::PullImage, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("image.runtime_handler is \"nobody\""));
}

TEST_F(ServicesTest, StreamedImagesAreThoseOfTheList) {
  std::vector<image::Image> many(250, Busybox());
  for (size_t i = 0; i < many.size(); ++i) {
    many[i].record.id = absl::StrCat("sha256:", i);
    many[i].record.repo_tags = {std::string(10'000, 'x')};
  }
  ON_CALL(images_, List()).WillByDefault(Return(many));
  const auto stream = [this](const v1::StreamImagesRequest& request,
                             std::vector<std::string>* ids) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    const auto reader = image_->StreamImages(&context, request);
    v1::StreamImagesResponse part;
    int parts = 0;
    for (; reader->Read(&part); ++parts) {
      for (const v1::Image& each : part.images()) ids->push_back(each.id());
      EXPECT_LT(part.ByteSizeLong(), kPartBytes + 50'000);
    }
    EXPECT_TRUE(reader->Finish().ok());
    return parts;
  };
  std::vector<std::string> ids;
  EXPECT_EQ(stream({}, &ids), 5);
  ASSERT_EQ(ids.size(), many.size());
  EXPECT_EQ(ids.front(), "sha256:0");
  EXPECT_EQ(ids.back(), "sha256:249");

  ON_CALL(images_, Find(_)).WillByDefault(Return(absl::NotFoundError("no")));
  v1::StreamImagesRequest filtered;
  filtered.mutable_filter()->mutable_image()->set_image("x");
  ids.clear();
  EXPECT_EQ(stream(filtered, &ids), 0);
}

TEST_F(ServicesTest, ImageFsInfoSumsWritableLayers) {
  auto layers = std::make_shared<runtime::WritableLayers>();
  layers->directory = "/var/lib/plimsoll/containers";
  layers->unix_nanos = 5;
  layers->total = {.bytes = 4096, .inodes = 2};
  ON_CALL(images_, Usage()).WillByDefault(Return(image::ImageUsage{}));
  EXPECT_CALL(engine_, WritableLayersUsage)
      .WillOnce(Return(std::shared_ptr<const runtime::WritableLayers>(layers)));
  v1::ImageFsInfoResponse response;
  ASSERT_TRUE(Call(image_, &ImageStub::ImageFsInfo, v1::ImageFsInfoRequest(), &response).ok());
  ASSERT_EQ(response.container_filesystems_size(), 1);
  const v1::FilesystemUsage& usage = response.container_filesystems(0);
  EXPECT_EQ(usage.fs_id().mountpoint(), "/var/lib/plimsoll/containers");
  EXPECT_EQ(usage.timestamp(), 5);
  EXPECT_EQ(usage.used_bytes().value(), 4096u);
  EXPECT_EQ(usage.inodes_used().value(), 2u);
}

TEST_F(ServicesTest, ImageFsInfoNamesTheStore) {
  ON_CALL(images_, Usage()).WillByDefault(Return(image::ImageUsage{100, 3}));
  ON_CALL(images_, directory()).WillByDefault(Return("/var/lib/plimsoll/images"));
  v1::ImageFsInfoResponse response;
  ASSERT_TRUE(Call(image_, &ImageStub::ImageFsInfo, v1::ImageFsInfoRequest(), &response).ok());
  ASSERT_EQ(response.image_filesystems_size(), 1);
  EXPECT_EQ(response.image_filesystems(0).used_bytes().value(), 100u);
  EXPECT_EQ(response.image_filesystems(0).inodes_used().value(), 3u);
  EXPECT_EQ(response.image_filesystems(0).fs_id().mountpoint(), "/var/lib/plimsoll/images");
  EXPECT_GT(response.image_filesystems(0).timestamp(), 0);
}

}  // namespace
}  // namespace plimsoll::cri
