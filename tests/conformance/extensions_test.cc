// The proposals' additions to the contract, in fields that other runtimes don't know: KEP-2273,
// KEP-3008 and KEP-4112. A runtime that ignores such a field is skipped.
#include "absl/strings/str_cat.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

class UpdateByResourcesTest : public CriTest {
 protected:
  void SetUp() override {
    CriTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    cri::ContainerConfig config = Sleeper();
    config.mutable_linux()->mutable_resources()->set_memory_limit_in_bytes(64 << 20);
    id_ = Start(RunPod(), config);
    request_.set_container_id(id_);
    request_.mutable_resources()->mutable_linux()->set_memory_limit_in_bytes(96 << 20);
    EXPECT_OK(Update());
    if (Memory() == 64 << 20 && !session_.own_runtime()) {
      GTEST_SKIP() << "the runtime ignores UpdateContainerResourcesRequest.resources (KEP-2273)";
    }
  }
  absl::Status Update() {
    return client_.Ask<cri::UpdateContainerResourcesResponse>(request_).status();
  }
  int64_t Memory() { return Status(id_).resources().linux().memory_limit_in_bytes(); }

  std::string id_;
  cri::UpdateContainerResourcesRequest request_;
};

PROMISE_TEST(UpdateByResourcesTest, AloneItStandsForLinux,
             "An update by resources.linux alone (KEP-2273) changes what linux would") {
  EXPECT_EQ(Memory(), 96 << 20);
}

PROMISE_TEST(UpdateByResourcesTest, BothMayBeFilledAlike,
             "An update may have linux and resources.linux with the same values (KEP-2273)") {
  request_.mutable_resources()->mutable_linux()->set_memory_limit_in_bytes(80 << 20);
  *request_.mutable_linux() = request_.resources().linux();
  EXPECT_OK(Update());
  EXPECT_EQ(Memory(), 80 << 20);
}

PROMISE_TEST(UpdateByResourcesTest, ADifferenceIsRefusedByName,
             "An update whose linux and resources.linux differ is INVALID_ARGUMENT, names the "
             "member and changes nothing, where one of them is empty as well (KEP-2273)") {
  request_.mutable_linux()->set_memory_limit_in_bytes(70 << 20);
  for (const int64_t other : {80 << 20, 0}) {
    request_.mutable_resources()->mutable_linux()->set_memory_limit_in_bytes(other);
    const absl::Status refused = Update();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("memory_limit_in_bytes"));
    EXPECT_EQ(Memory(), 96 << 20);
  }
}

class ClassResourcesTest : public CriTest {
 protected:
  void SetUp() override {
    CriTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    const cri::StatusResponse response = RuntimeStatus();
    for (const cri::ClassResourceInfo& type :
         response.status().resources().container_class_resources()) {
      if (type.immutable() || type.classes_size() < 2) continue;
      type_ = type.name();
      first_ = type.classes(0).name();
      second_ = type.classes(1).name();
    }
    if (type_.empty() && !session_.own_runtime()) {
      GTEST_SKIP() << "the runtime has no type of container class with two classes to change "
                      "between (RuntimeStatus.resources, KEP-3008)";
    }
    ASSERT_NE(type_, "");
  }
  cri::ContainerConfig Classed(const std::string& name) {
    cri::ContainerConfig config = Sleeper();
    (*config.mutable_class_resources()->mutable_classes())[type_] = name;
    return config;
  }
  std::string ClassOf(const std::string& id) {
    const cri::ContainerStatus status = Status(id);
    const auto found = status.class_resources().classes().find(type_);
    return found == status.class_resources().classes().end() ? "" : found->second;
  }
  std::string type_, first_, second_;
};

PROMISE_TEST(ClassResourcesTest, AContainerIsInItsClass,
             "A container has the class it was made with, and shows it (KEP-3008)") {
  EXPECT_EQ(ClassOf(Start(RunPod(), Classed(second_))), second_);
}

PROMISE_TEST(ClassResourcesTest, AnUpdateChangesTheClass,
             "UpdateContainerResources changes the class of a running container (KEP-3008)") {
  const std::string id = Start(RunPod(), Classed(first_));
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(id);
  (*request.mutable_class_resources()->mutable_classes())[type_] = second_;
  EXPECT_OK(client_.Ask<cri::UpdateContainerResourcesResponse>(request));
  EXPECT_EQ(ClassOf(id), second_);
}

PROMISE_TEST(ClassResourcesTest, AnUnknownClassIsNotFound,
             "A class that the node hasn't got is NOT_FOUND, at a creation and at an update "
             "(KEP-3008)") {
  const std::string pod = RunPod();
  const absl::Status refused = TryCreate(pod, Classed("no-such-class")).status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  const std::string id = Start(pod, Classed(first_));
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(id);
  (*request.mutable_class_resources()->mutable_classes())[type_] = "no-such-class";
  const auto update = client_.Ask<cri::UpdateContainerResourcesResponse>(request);
  EXPECT_TRUE(absl::IsNotFound(update.status())) << update.status();
  EXPECT_EQ(ClassOf(id), first_);
}

class PassDownTest : public CriTest {
 protected:
  void SetUp() override {
    CriTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    config_ = PodConfig();
    cri::ContainerResourceConfig* web = config_.mutable_pod_resources()->add_containers();
    web->set_name("web");
    web->set_type(cri::ContainerResourceConfig::CONTAINER);
    (*web->mutable_kubernetes_resources()->mutable_requests())["cpu"].set_string("0.50");
    (*web->mutable_kubernetes_resources()->mutable_limits())["memory"].set_string("1e8");
    pod_ = RunPod(config_);
    if (!PodStatus(pod_).has_pod_resources() && !session_.own_runtime()) {
      GTEST_SKIP() << "the runtime ignores PodSandboxConfig.pod_resources (KEP-4112)";
    }
  }
  cri::ContainerConfig Web() {
    cri::ContainerConfig config = Sleeper();
    config.mutable_metadata()->set_name("web");
    *config.mutable_kubernetes_resources() =
        config_.pod_resources().containers(0).kubernetes_resources();
    return config;
  }
  cri::PodSandboxConfig config_;
  std::string pod_;
};

PROMISE_TEST(PassDownTest, APodShowsWhatItAnnounced,
             "The picture of a pod comes back as it was given, quantities byte for byte "
             "(KEP-4112)") {
  EXPECT_EQ(PodStatus(pod_).pod_resources().ShortDebugString(),
            config_.pod_resources().ShortDebugString());
}

PROMISE_TEST(PassDownTest, AContainerShowsWhatItsAuthorWrote,
             "Requests and limits of a container come back as written, those of an update from "
             "then on, and change nothing by themselves (KEP-4112)") {
  const std::string id = Start(pod_, Web());
  const cri::ContainerStatus before = Status(id);
  EXPECT_EQ(before.kubernetes_resources().requests().at("cpu").string(), "0.50");
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(id);
  (*request.mutable_kubernetes_resources()->mutable_limits())["memory"].set_string("0.2G");
  EXPECT_OK(client_.Ask<cri::UpdateContainerResourcesResponse>(request));
  const cri::ContainerStatus after = Status(id);
  EXPECT_EQ(after.kubernetes_resources().limits().at("memory").string(), "0.2G");
  EXPECT_EQ(after.resources().ShortDebugString(), before.resources().ShortDebugString());
}

PROMISE_TEST(PassDownTest, APodsUpdateReplacesThePicture,
             "UpdatePodSandboxResources replaces the picture of a pod as a whole (KEP-4112)") {
  cri::UpdatePodSandboxResourcesRequest request;
  request.set_pod_sandbox_id(pod_);
  cri::ContainerResourceConfig* web = request.mutable_pod_resources()->add_containers();
  web->set_name("web");
  (*web->mutable_kubernetes_resources()->mutable_limits())["cpu"].set_string("2");
  EXPECT_OK(client_.Ask<cri::UpdatePodSandboxResourcesResponse>(request));
  EXPECT_EQ(PodStatus(pod_).pod_resources().containers(0).kubernetes_resources().ShortDebugString(),
            request.pod_resources().containers(0).kubernetes_resources().ShortDebugString());
}

}  // namespace
}  // namespace plimsoll::conformance
