#include "harness/recording_runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace plimsoll::testing {
namespace {

template <typename Map>
bool Matches(const Map& labels, const Map& selector) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& pair) {
    const auto it = labels.find(pair.first);
    return it != labels.end() && it->second == pair.second;
  });
}

grpc::Status Missing(const std::string& id) {
  return {grpc::StatusCode::NOT_FOUND, absl::StrCat("there is no ", id)};
}

}  // namespace

struct RecordingRuntime::State {
  absl::Mutex mutex;
  std::map<std::string, grpc::Status> failures ABSL_GUARDED_BY(mutex);  // by method
  std::vector<cri::RunPodSandboxRequest> sandbox_requests ABSL_GUARDED_BY(mutex);
  std::vector<cri::CreateContainerRequest> container_requests ABSL_GUARDED_BY(mutex);
  std::map<std::string, cri::PodSandboxStatus> sandboxes ABSL_GUARDED_BY(mutex);  // by id
  struct Container {
    std::string sandbox;
    cri::ContainerStatus status;
  };
  std::map<std::string, Container> containers ABSL_GUARDED_BY(mutex);  // by id
  int ids ABSL_GUARDED_BY(mutex) = 0;
  bool is_ending ABSL_GUARDED_BY(mutex) = false;

  grpc::Status FailureOf(const std::string& method) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto it = failures.find(method);
    return it == failures.end() ? grpc::Status::OK : it->second;
  }
  void End(Container& container, int code) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (container.status.state() == cri::CONTAINER_EXITED) return;
    container.status.set_state(cri::CONTAINER_EXITED);
    container.status.set_finished_at(absl::GetCurrentTimeNanos());
    container.status.set_exit_code(code);
    container.status.set_reason(code == 0 ? "Completed" : "Error");
  }
};

class RecordingRuntime::Runtime : public cri::RuntimeService::Service {
 public:
  explicit Runtime(State& state) : state_(state) {}

  grpc::Status Version(grpc::ServerContext*, const cri::VersionRequest*,
                       cri::VersionResponse* response) override {
    response->set_runtime_name("recorder");
    response->set_runtime_version("1");
    response->set_runtime_api_version("v1");
    return grpc::Status::OK;
  }
  grpc::Status Status(grpc::ServerContext*, const cri::StatusRequest*,
                      cri::StatusResponse*) override {
    const absl::MutexLock lock(&state_.mutex);
    return state_.FailureOf("Status");
  }

  grpc::Status GetDynamicRuntimeConfig(
      grpc::ServerContext* context, const cri::DynamicRuntimeConfigRequest*,
      grpc::ServerWriter<cri::DynamicRuntimeConfigResponse>* writer) override {
    cri::DynamicRuntimeConfigResponse response;
    cri::ResourceTopologyZone* zone = response.mutable_resource_topology()->add_zones();
    zone->set_name("numa-0");
    zone->set_type("NUMANode");
    zone->set_parent("root");
    for (const auto& [name, amount] : {std::pair("cpu", "64"), std::pair("memory", "256Gi")}) {
      cri::ResourceTopologyResourceInfo* resource = zone->add_resources();
      resource->set_name(name);
      resource->mutable_capacity()->set_string(amount);
    }
    writer->Write(response);
    const absl::MutexLock lock(&state_.mutex);
    while (!context->IsCancelled() && !state_.is_ending) {
      state_.mutex.AwaitWithTimeout(absl::Condition(&state_.is_ending), absl::Milliseconds(100));
    }
    return grpc::Status::OK;
  }

  grpc::Status RunPodSandbox(grpc::ServerContext*, const cri::RunPodSandboxRequest* request,
                             cri::RunPodSandboxResponse* response) override {
    const absl::MutexLock lock(&state_.mutex);
    state_.sandbox_requests.push_back(*request);
    grpc::Status failure = state_.FailureOf("RunPodSandbox");
    if (!failure.ok()) return failure;
    const std::string id = absl::StrCat("sandbox-", ++state_.ids);
    cri::PodSandboxStatus& status = state_.sandboxes[id];
    status.set_id(id);
    *status.mutable_metadata() = request->config().metadata();
    *status.mutable_labels() = request->config().labels();
    status.set_state(cri::SANDBOX_READY);
    status.set_created_at(absl::GetCurrentTimeNanos());
    response->set_pod_sandbox_id(id);
    return grpc::Status::OK;
  }
  grpc::Status StopPodSandbox(grpc::ServerContext*, const cri::StopPodSandboxRequest* request,
                              cri::StopPodSandboxResponse*) override {
    const absl::MutexLock lock(&state_.mutex);
    const auto it = state_.sandboxes.find(request->pod_sandbox_id());
    if (it != state_.sandboxes.end()) it->second.set_state(cri::SANDBOX_NOTREADY);
    for (auto& [id, container] : state_.containers) {
      if (container.sandbox == request->pod_sandbox_id()) state_.End(container, 137);
    }
    return grpc::Status::OK;
  }
  grpc::Status RemovePodSandbox(grpc::ServerContext*, const cri::RemovePodSandboxRequest* request,
                                cri::RemovePodSandboxResponse*) override {
    const absl::MutexLock lock(&state_.mutex);
    state_.sandboxes.erase(request->pod_sandbox_id());
    std::erase_if(state_.containers, [&](const auto& each) {
      return each.second.sandbox == request->pod_sandbox_id();
    });
    return grpc::Status::OK;
  }
  grpc::Status PodSandboxStatus(grpc::ServerContext*, const cri::PodSandboxStatusRequest* request,
                                cri::PodSandboxStatusResponse* response) override {
    const absl::MutexLock lock(&state_.mutex);
    const auto it = state_.sandboxes.find(request->pod_sandbox_id());
    if (it == state_.sandboxes.end()) return Missing(request->pod_sandbox_id());
    *response->mutable_status() = it->second;
    return grpc::Status::OK;
  }
  grpc::Status ListPodSandbox(grpc::ServerContext*, const cri::ListPodSandboxRequest* request,
                              cri::ListPodSandboxResponse* response) override {
    const absl::MutexLock lock(&state_.mutex);
    grpc::Status failure = state_.FailureOf("ListPodSandbox");
    if (!failure.ok()) return failure;
    for (const auto& [id, status] : state_.sandboxes) {
      if (!Matches(status.labels(), request->filter().label_selector())) continue;
      cri::PodSandbox* out = response->add_items();
      out->set_id(id);
      *out->mutable_metadata() = status.metadata();
      *out->mutable_labels() = status.labels();
      out->set_state(status.state());
    }
    return grpc::Status::OK;
  }

  grpc::Status CreateContainer(grpc::ServerContext*, const cri::CreateContainerRequest* request,
                               cri::CreateContainerResponse* response) override {
    const absl::MutexLock lock(&state_.mutex);
    state_.container_requests.push_back(*request);
    grpc::Status failure = state_.FailureOf("CreateContainer");
    if (!failure.ok()) return failure;
    const std::string id = absl::StrCat("container-", ++state_.ids);
    State::Container& container = state_.containers[id];
    container.sandbox = request->pod_sandbox_id();
    container.status.set_id(id);
    *container.status.mutable_metadata() = request->config().metadata();
    *container.status.mutable_labels() = request->config().labels();
    *container.status.mutable_image() = request->config().image();
    container.status.set_state(cri::CONTAINER_CREATED);
    container.status.set_created_at(absl::GetCurrentTimeNanos());
    response->set_container_id(id);
    return grpc::Status::OK;
  }
  grpc::Status StartContainer(grpc::ServerContext*, const cri::StartContainerRequest* request,
                              cri::StartContainerResponse*) override {
    const absl::MutexLock lock(&state_.mutex);
    grpc::Status failure = state_.FailureOf("StartContainer");
    if (!failure.ok()) return failure;
    const auto it = state_.containers.find(request->container_id());
    if (it == state_.containers.end()) return Missing(request->container_id());
    it->second.status.set_state(cri::CONTAINER_RUNNING);
    it->second.status.set_started_at(absl::GetCurrentTimeNanos());
    return grpc::Status::OK;
  }
  grpc::Status StopContainer(grpc::ServerContext*, const cri::StopContainerRequest* request,
                             cri::StopContainerResponse*) override {
    const absl::MutexLock lock(&state_.mutex);
    const auto it = state_.containers.find(request->container_id());
    if (it != state_.containers.end()) state_.End(it->second, 143);
    return grpc::Status::OK;
  }
  grpc::Status RemoveContainer(grpc::ServerContext*, const cri::RemoveContainerRequest* request,
                               cri::RemoveContainerResponse*) override {
    const absl::MutexLock lock(&state_.mutex);
    state_.containers.erase(request->container_id());
    return grpc::Status::OK;
  }
  grpc::Status ContainerStatus(grpc::ServerContext*, const cri::ContainerStatusRequest* request,
                               cri::ContainerStatusResponse* response) override {
    const absl::MutexLock lock(&state_.mutex);
    const auto it = state_.containers.find(request->container_id());
    if (it == state_.containers.end()) return Missing(request->container_id());
    *response->mutable_status() = it->second.status;
    return grpc::Status::OK;
  }
  grpc::Status ListContainers(grpc::ServerContext*, const cri::ListContainersRequest* request,
                              cri::ListContainersResponse* response) override {
    const absl::MutexLock lock(&state_.mutex);
    for (const auto& [id, container] : state_.containers) {
      const cri::ContainerFilter& filter = request->filter();
      if (!filter.pod_sandbox_id().empty() && filter.pod_sandbox_id() != container.sandbox)
        continue;
      if (!Matches(container.status.labels(), filter.label_selector())) continue;
      cri::Container* out = response->add_containers();
      out->set_id(id);
      out->set_pod_sandbox_id(container.sandbox);
      *out->mutable_metadata() = container.status.metadata();
      *out->mutable_labels() = container.status.labels();
      *out->mutable_image() = container.status.image();
      out->set_state(container.status.state());
      out->set_created_at(container.status.created_at());
    }
    return grpc::Status::OK;
  }

 private:
  State& state_;
};

class RecordingRuntime::Images : public cri::ImageService::Service {
 public:
  explicit Images(State& state) : state_(state) {}

  grpc::Status ImageStatus(grpc::ServerContext*, const cri::ImageStatusRequest* request,
                           cri::ImageStatusResponse* response) override {
    const absl::MutexLock lock(&state_.mutex);
    if (!state_.FailureOf("PullImage").ok()) return grpc::Status::OK;  // it isn't here
    response->mutable_image()->set_id(absl::StrCat(kImageIdPrefix, request->image().image()));
    return grpc::Status::OK;
  }
  grpc::Status PullImage(grpc::ServerContext*, const cri::PullImageRequest* request,
                         cri::PullImageResponse* response) override {
    const absl::MutexLock lock(&state_.mutex);
    response->set_image_ref(absl::StrCat(kImageIdPrefix, request->image().image()));
    return state_.FailureOf("PullImage");
  }

 private:
  State& state_;
};

RecordingRuntime::RecordingRuntime(const std::string& directory)
    : address_(absl::StrCat("unix://", directory, "/recorder.sock")),
      state_(std::make_unique<State>()),
      runtime_(std::make_unique<Runtime>(*state_)),
      images_(std::make_unique<Images>(*state_)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
  builder.RegisterService(runtime_.get());
  builder.RegisterService(images_.get());
  server_ = builder.BuildAndStart();
  EXPECT_NE(server_, nullptr) << address_;
}

RecordingRuntime::~RecordingRuntime() {
  {
    const absl::MutexLock lock(&state_->mutex);
    state_->is_ending = true;
  }
  server_->Shutdown(std::chrono::system_clock::now());
}

std::vector<cri::RunPodSandboxRequest> RecordingRuntime::Sandboxes() const {
  const absl::MutexLock lock(&state_->mutex);
  return state_->sandbox_requests;
}

std::vector<cri::CreateContainerRequest> RecordingRuntime::Containers() const {
  const absl::MutexLock lock(&state_->mutex);
  return state_->container_requests;
}

void RecordingRuntime::Fail(const std::string& method, const grpc::Status& status) {
  const absl::MutexLock lock(&state_->mutex);
  state_->failures[method] = status;
}

bool RecordingRuntime::Exit(const std::string& name, int code) {
  const absl::MutexLock lock(&state_->mutex);
  for (auto& [id, container] : state_->containers) {
    if (container.status.metadata().name() != name) continue;
    if (container.status.state() != cri::CONTAINER_RUNNING) continue;
    state_->End(container, code);
    return true;
  }
  return false;
}

void RecordingRuntime::EndSandboxes() {
  const absl::MutexLock lock(&state_->mutex);
  for (auto& [id, sandbox] : state_->sandboxes) sandbox.set_state(cri::SANDBOX_NOTREADY);
  for (auto& [id, container] : state_->containers) state_->End(container, 137);
}

}  // namespace plimsoll::testing
