// QoS classes through the services: over a mock engine and types whose kernel is a map.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "cri/mocks_for_test.h"
#include "gmock/gmock.h"
#include "qos/fake_type_for_test.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::Return;

// Doesn't give its class "gold" for an annotation.
class ShyType : public qos::FakeType {
 public:
  using qos::FakeType::FakeType;
  absl::Status CheckSource(absl::string_view name, qos::ClassSource source) const override {
    if (name != "gold" || source == qos::ClassSource::kMessage) return absl::OkStatus();
    return absl::FailedPreconditionError("class \"gold\" is not for annotations");
  }
};

class ClassesTest : public ServerFixture {
 protected:
  void SetUp() override {
    std::vector<std::unique_ptr<qos::ClassType>> types;
    types.push_back(std::make_unique<ShyType>(&kernel_, qos::FakeType::Options{}));
    types.push_back(
        std::make_unique<qos::FakeType>(&kernel_, qos::FakeType::Options{.name = "blockio",
                                                                         .level = qos::Level::kPod,
                                                                         .default_class = "gold",
                                                                         .immutable = true}));
    registry_ = *qos::Registry::Create(std::move(types));
    options_.info.classes.registry = registry_.get();
    options_.info.classes.annotations = {{"rdt", {"default"}}};
    sandbox_.id = "pod";
    v1::PodSandboxConfig config = PodConfig();
    (*config.mutable_annotations())["rdt.resources.beta.kubernetes.io/pod"] = "silver";
    sandbox_.client_config = config.SerializeAsString();
    ON_CALL(engine_, GetSandbox).WillByDefault(Return(sandbox_));
  }
  static v1::PodSandboxConfig PodConfig() {
    v1::PodSandboxConfig config;
    config.mutable_metadata()->set_name("pod");
    config.mutable_metadata()->set_uid("u");
    config.mutable_metadata()->set_namespace_("default");
    return config;
  }
  static v1::CreateContainerRequest Request() {
    v1::CreateContainerRequest request;
    request.set_pod_sandbox_id("pod");
    request.mutable_config()->mutable_metadata()->set_name("web");
    request.mutable_config()->mutable_image()->set_image("busybox");
    return request;
  }
  grpc::Status Create(const v1::CreateContainerRequest& request) {
    v1::CreateContainerResponse response;
    return Call(runtime_, &RuntimeStub::CreateContainer, request, &response);
  }

  qos::FakeKernel kernel_;
  std::unique_ptr<qos::Registry> registry_;
  runtime::SandboxRecord sandbox_;
};

TEST_F(ClassesTest, AnnotationsCountWhereThereIsNoMessage) {
  Start();
  EXPECT_CALL(engine_,
              CreateContainer(
                  absl::string_view("pod"),
                  Field(&runtime::ContainerSpec::classes, ElementsAre(Pair("rdt", "silver"))), _))
      .WillOnce(Return("c"));
  EXPECT_TRUE(Create(Request()).ok());
  // A message decides for all types, even an empty one.
  v1::CreateContainerRequest request = Request();
  request.mutable_config()->mutable_class_resources();
  EXPECT_CALL(engine_, CreateContainer(absl::string_view("pod"),
                                       Field(&runtime::ContainerSpec::classes, IsEmpty()), _))
      .WillOnce(Return("d"));
  EXPECT_TRUE(Create(request).ok());
}

TEST_F(ClassesTest, AClassThatIsDeniedToAnnotationsIsForMessages) {
  Start();
  v1::CreateContainerRequest request = Request();
  (*request.mutable_config()->mutable_annotations())["io.kubernetes.cri.rdt-class"] = "gold";
  const grpc::Status denied = Create(request);
  EXPECT_EQ(denied.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(denied.error_message(),
              HasSubstr("container web: annotation io.kubernetes.cri.rdt-class"));
  EXPECT_EQ(registry_->Refusals().at({"rdt", "annotation"}), 1u);
  (*request.mutable_config()->mutable_class_resources()->mutable_classes())["rdt"] = "gold";
  EXPECT_CALL(engine_,
              CreateContainer(
                  _, Field(&runtime::ContainerSpec::classes, ElementsAre(Pair("rdt", "gold"))), _))
      .WillOnce(Return("c"));
  EXPECT_TRUE(Create(request).ok());
}

// The refusal of an annotation counts as the refusal of a class does.
TEST_F(ClassesTest, AnAnnotationThatTheNodeDoesNotPermitIsCounted) {
  v1::PodSandboxConfig config = PodConfig();
  (*config.mutable_annotations())["rdt.class.plimsoll.dev/container.web"] = "silver";
  sandbox_.client_config = config.SerializeAsString();
  ON_CALL(engine_, GetSandbox).WillByDefault(Return(sandbox_));
  Start();
  EXPECT_CALL(engine_, CreateContainer).Times(0);
  const grpc::Status denied = Create(Request());
  EXPECT_EQ(denied.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(denied.error_message(),
            "container web: annotation rdt.class.plimsoll.dev/container.web: the configuration of "
            "this node does not permit it (classes.rdt.annotations would have to list "
            "\"container\")");
  EXPECT_EQ(registry_->Refusals().at({"rdt", "annotation"}), 1u);
  v1::RunPodSandboxRequest run;
  *run.mutable_config() = PodConfig();
  (*run.mutable_config()->mutable_annotations())["blockio.class.plimsoll.dev/sandbox"] = "gold";
  v1::RunPodSandboxResponse none;
  EXPECT_CALL(engine_, RunSandbox).Times(0);
  EXPECT_EQ(Call(runtime_, &RuntimeStub::RunPodSandbox, run, &none).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(registry_->Refusals().at({"blockio", "annotation"}), 1u);
  // An unknown type gets no label of its own: a client can make up any number.
  (*run.mutable_config()->mutable_annotations())["a.class.plimsoll.dev/sandbox"] = "gold";
  EXPECT_FALSE(Call(runtime_, &RuntimeStub::RunPodSandbox, run, &none).ok());
  EXPECT_EQ(registry_->Refusals().at({"", "annotation"}), 1u);
}

// The spec keeps the device's name, for the pod's picture.
TEST_F(ClassesTest, CdiDevicesOfTheSchedulerCount) {
  options_.info.classes.from = qos::ClassesFrom::kScheduler;
  sandbox_.spec.classes_from_scheduler = true;
  ON_CALL(engine_, GetSandbox).WillByDefault(Return(sandbox_));
  Start();
  const grpc::Status ungranted = Create(Request());
  EXPECT_EQ(ungranted.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(ungranted.error_message(), HasSubstr("class.plimsoll.dev/rdt.silver"));
  const std::string silver = "classes.plimsoll.dev/rdt=silver";
  v1::CreateContainerRequest field = Request();
  field.mutable_config()->add_cdi_devices()->set_name(silver);
  // A kubelet's device plugin.
  v1::CreateContainerRequest annotation = Request();
  (*annotation.mutable_config()->mutable_annotations())["cdi.k8s.io/plugin"] = silver;
  for (const v1::CreateContainerRequest& request : {field, annotation}) {
    EXPECT_CALL(
        engine_,
        CreateContainer(
            _,
            AllOf(Field(&runtime::ContainerSpec::classes, ElementsAre(Pair("rdt", "silver"))),
                  Field(&runtime::ContainerSpec::cdi_devices, ElementsAre(silver))),
            _))
        .WillOnce(Return("c"));
    EXPECT_TRUE(Create(request).ok());
  }
}

// The setting that the pod was made with decides over its containers, for good.
TEST_F(ClassesTest, ThePodKeepsWhetherTheSchedulerGaveOutClasses) {
  std::atomic<bool> scheduled = false;
  options_.info.classes.scheduled = [&scheduled] { return scheduled.load(); };
  Start();
  v1::RunPodSandboxRequest run;
  *run.mutable_config() = PodConfig();
  v1::RunPodSandboxResponse response;
  for (const bool now : {false, true}) {
    scheduled = now;
    EXPECT_CALL(engine_, RunSandbox(Field(&runtime::SandboxSpec::classes_from_scheduler, now), _))
        .WillOnce(Return("pod"));
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::RunPodSandbox, run, &response).ok());
  }
  EXPECT_CALL(
      engine_,
      CreateContainer(
          _, Field(&runtime::ContainerSpec::classes, ElementsAre(Pair("rdt", "silver"))), _))
      .WillOnce(Return("c"));
  EXPECT_TRUE(Create(Request()).ok()) << "of a pod from before";
}

// kubectl debug in a pod whose annotation is for all containers.
TEST_F(ClassesTest, AnEphemeralContainerRunsAndItsLackIsAnEvent) {
  options_.info.classes.from = qos::ClassesFrom::kScheduler;
  sandbox_.spec.classes_from_scheduler = true;
  ON_CALL(engine_, GetSandbox).WillByDefault(Return(sandbox_));
  runtime::ContainerRecord other;
  other.sandbox_id = "pod";
  other.spec.name = "app";
  other.spec.cdi_devices = {"classes.plimsoll.dev/rdt=silver"};
  ON_CALL(engine_, ListContainers)
      .WillByDefault(Return(std::vector<runtime::ContainerRecord>{other}));
  Start();
  EXPECT_CALL(engine_, CreateContainer(_, Field(&runtime::ContainerSpec::classes, IsEmpty()), _))
      .WillOnce(Return("c"));
  EXPECT_TRUE(Create(Request()).ok());
  const std::vector<runtime::Event> events = events_.Since(0);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].container_id, "c");
  EXPECT_THAT(events[0].message, HasSubstr("an ephemeral container can have no claim"));
}

TEST_F(ClassesTest, ClassesToldBeforehandAreThePods) {
  options_.info.classes.told_pod_classes = [](const std::string& uid) {
    return qos::ClassNames{{"blockio", uid == "u" ? "silver" : "none"}};
  };
  Start();
  v1::RunPodSandboxRequest run;
  *run.mutable_config() = PodConfig();
  v1::RunPodSandboxResponse response;
  EXPECT_CALL(
      engine_,
      RunSandbox(Field(&runtime::SandboxSpec::classes, ElementsAre(Pair("blockio", "silver"))), _))
      .WillOnce(Return("pod"));
  EXPECT_TRUE(Call(runtime_, &RuntimeStub::RunPodSandbox, run, &response).ok());
  run.mutable_config()->mutable_metadata()->set_uid("another");
  EXPECT_EQ(Call(runtime_, &RuntimeStub::RunPodSandbox, run, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(ClassesTest, NamesThatCannotBeAreInvalid) {
  Start();
  v1::CreateContainerRequest request = Request();
  auto& classes = *request.mutable_config()->mutable_class_resources()->mutable_classes();
  classes["rdt"] = "a b";
  const grpc::Status letters = Create(request);
  EXPECT_EQ(letters.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(
      letters.error_message(),
      "config.class_resources.classes[rdt] is \"a b\": may hold letters, digits, \"-\", \"_\", "
      "\".\" and \"/\" only");
  classes["rdt"] = std::string(100000, 'x');
  const grpc::Status status = Create(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_LT(status.error_message().size(), 1000u);
  EXPECT_THAT(status.error_message(), HasSubstr("must have at most 317 characters"));
  classes.clear();
  classes[""] = "gold";
  const grpc::Status nameless = Create(request);
  EXPECT_EQ(nameless.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(nameless.error_message(), HasSubstr("must name a class type"));
}

TEST_F(ClassesTest, StatusListsTypesAndClasses) {
  Start();
  v1::StatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, v1::StatusRequest(), &response).ok());
  const v1::ResourcesInfo& info = response.status().resources();
  ASSERT_EQ(info.container_class_resources_size(), 1);
  ASSERT_EQ(info.pod_class_resources_size(), 1);
  EXPECT_EQ(info.container_class_resources(0).name(), "rdt");
  EXPECT_FALSE(info.container_class_resources(0).immutable());
  EXPECT_EQ(info.container_class_resources(0).default_class(), "");
  ASSERT_EQ(info.container_class_resources(0).classes_size(), 3);
  EXPECT_EQ(info.container_class_resources(0).classes(0).capacity(), 0u) << "any number";
  EXPECT_EQ(info.container_class_resources(0).classes(1).name(), "silver");
  EXPECT_EQ(info.container_class_resources(0).classes(1).capacity(), 2u);
  EXPECT_TRUE(info.pod_class_resources(0).immutable());
  EXPECT_EQ(info.pod_class_resources(0).default_class(), "gold");
}

TEST_F(ClassesTest, StatusesHaveTheEffectiveClasses) {
  Start();
  runtime::ContainerRecord record;
  record.id = "c";
  record.sandbox_id = "pod";
  const MockEngine::Classes held = {{"rdt", {"gold", true, "thread 5 is elsewhere"}}};
  ON_CALL(engine_, GetContainer).WillByDefault(Return(record));
  ON_CALL(engine_, ReadResources).WillByDefault(Return(runtime::EffectiveResources()));
  EXPECT_CALL(engine_, ContainerClasses(absl::string_view("c"), true)).WillOnce(Return(held));
  EXPECT_CALL(engine_, SandboxClasses(absl::string_view("pod"), false)).WillOnce(Return(held));
  v1::ContainerStatusRequest request;
  request.set_container_id("c");
  request.set_verbose(true);
  v1::ContainerStatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::ContainerStatus, request, &response).ok());
  EXPECT_EQ(response.status().class_resources().classes().at("rdt"), "gold");
  EXPECT_EQ(response.info().at("classes"),
            R"({"rdt":{"class":"gold","drift":"thread 5 is elsewhere","implicit":true}})");
  v1::PodSandboxStatusRequest pod;
  pod.set_pod_sandbox_id("pod");
  v1::PodSandboxStatusResponse answer;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::PodSandboxStatus, pod, &answer).ok());
  EXPECT_EQ(answer.status().class_resources().class_().at("rdt"), "gold");
}

TEST_F(ClassesTest, UpdatesCarryClasses) {
  Start();
  v1::UpdateContainerResourcesRequest request;
  request.set_container_id("c");
  (*request.mutable_class_resources()->mutable_classes())["rdt"] = "gold";
  EXPECT_CALL(engine_,
              UpdateResources(absl::string_view("c"), Field(&runtime::ResourceUpdate::classes,
                                                            ElementsAre(Pair("rdt", "gold")))))
      .WillOnce(Return(absl::OkStatus()));
  v1::UpdateContainerResourcesResponse response;
  EXPECT_TRUE(Call(runtime_, &RuntimeStub::UpdateContainerResources, request, &response).ok());
  v1::UpdatePodSandboxConfigRequest pod;
  pod.set_pod_sandbox_id("pod");
  (*pod.mutable_class_resources()->mutable_class_())["blockio"] = "silver";
  EXPECT_CALL(engine_, UpdateSandboxClasses(absl::string_view("pod"),
                                            ElementsAre(Pair("blockio", "silver"))))
      .WillOnce(Return(absl::FailedPreconditionError("immutable")));
  v1::UpdatePodSandboxConfigResponse none;
  EXPECT_EQ(Call(runtime_, &RuntimeStub::UpdatePodSandboxConfig, pod, &none).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(ClassesTest, AnUpdateBesideTheSchedulersGrantIsAnEvent) {
  Start();
  runtime::ContainerRecord record;
  record.id = "c";
  record.sandbox_id = "pod";
  record.spec.cdi_devices = {"classes.plimsoll.dev/rdt=silver"};
  ON_CALL(engine_, GetContainer).WillByDefault(Return(record));
  ON_CALL(engine_, UpdateResources).WillByDefault(Return(absl::OkStatus()));
  v1::UpdateContainerResourcesRequest request;
  request.set_container_id("c");
  for (const char* name : {"silver", "gold"}) {
    EXPECT_TRUE(events_.Since(0).empty()) << name;
    (*request.mutable_class_resources()->mutable_classes())["rdt"] = name;
    v1::UpdateContainerResourcesResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::UpdateContainerResources, request, &response).ok());
  }
  const std::vector<runtime::Event> events = events_.Since(0);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].container_id, "c");
  EXPECT_THAT(events[0].message, HasSubstr("CDI device classes.plimsoll.dev/rdt=silver grants"));
}

// With the feature gate ClassResources off, no class is read or shown.
TEST_F(ClassesTest, SwitchedOffNothingIsRead) {
  options_.info.classes = {};
  Start();
  v1::CreateContainerRequest request = Request();
  (*request.mutable_config()->mutable_class_resources()->mutable_classes())["rdt"] = "no such";
  request.mutable_config()->add_cdi_devices()->set_name("classes.plimsoll.dev/rdt=another");
  EXPECT_CALL(engine_, CreateContainer(_, Field(&runtime::ContainerSpec::classes, IsEmpty()), _))
      .WillOnce(Return("c"));
  EXPECT_TRUE(Create(request).ok());
  v1::StatusResponse response;
  ASSERT_TRUE(Call(runtime_, &RuntimeStub::Status, v1::StatusRequest(), &response).ok());
  EXPECT_FALSE(response.status().has_resources());
  v1::UpdatePodSandboxConfigRequest pod;
  pod.set_pod_sandbox_id("pod");
  v1::UpdatePodSandboxConfigResponse none;
  EXPECT_EQ(Call(runtime_, &RuntimeStub::UpdatePodSandboxConfig, pod, &none).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace plimsoll::cri
