// For tests: a runtime of CRI v1 in the test's own process. Its containers are rows of a table.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_FAKE_RUNTIME_FOR_TEST_H_
#define PLIMSOLL_AGENT_PODS_LIFE_FAKE_RUNTIME_FOR_TEST_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/pods/life/call_script_for_test.h"
#include "base/clock.h"
#include "cri/runtime/v1/api.grpc.pb.h"

namespace plimsoll::agent {

// A time that a test sets.
class SetClock : public Clock {
 public:
  absl::Time Now() const override {
    const absl::MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration time) {
    const absl::MutexLock lock(&mutex_);
    now_ += time;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1'700'000'000);
};

// Thread-safe. Every image is there. A container runs until it is stopped or a test ends it. It
// outlives the server that it is registered with.
class FakeCri : public ::runtime::v1::RuntimeService::Service,
                public ::runtime::v1::ImageService::Service {
 public:
  explicit FakeCri(const Clock& clock) : clock_(clock) {}

  CallScript& script() { return script_; }

  // Observations of a test.
  std::vector<std::string> SandboxIds() {
    const absl::MutexLock lock(&mutex_);
    std::vector<std::string> ids;
    for (const auto& [id, sandbox] : sandboxes_) ids.push_back(id);
    return ids;
  }
  // Empty: there is no such sandbox.
  ::runtime::v1::PodSandboxConfig ConfigOf(const std::string& sandbox) {
    const absl::MutexLock lock(&mutex_);
    const auto found = sandboxes_.find(sandbox);
    return found == sandboxes_.end() ? ::runtime::v1::PodSandboxConfig() : found->second.config;
  }
  // Names of running containers, sorted.
  std::vector<std::string> Running() {
    const absl::MutexLock lock(&mutex_);
    std::vector<std::string> names;
    for (const auto& [id, each] : containers_) {
      if (each.state == ::runtime::v1::CONTAINER_RUNNING)
        names.push_back(each.config.metadata().name());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // Actions of a test. The running container of the name ends.
  void EndContainer(const std::string& name, int exit_code) {
    const absl::MutexLock lock(&mutex_);
    for (auto& [id, each] : containers_) {
      if (each.config.metadata().name() == name) Exit(each, exit_code);
    }
  }
  // The sandbox's process dies, and its containers with it.
  void KillSandbox(const std::string& id) {
    const absl::MutexLock lock(&mutex_);
    sandboxes_[id].is_ready = false;
    ExitAll(id);
  }
  // A sandbox of this configuration, which nobody has asked for.
  std::string AddSandbox(const ::runtime::v1::PodSandboxConfig& config) {
    const absl::MutexLock lock(&mutex_);
    const std::string id = absl::StrCat("s", ++last_id_);
    sandboxes_[id] = {config, true};
    return id;
  }
  void RemoveSandbox(const std::string& id) {
    const absl::MutexLock lock(&mutex_);
    Forget(id);
  }
  // From now on there are updates of resources, and statuses tell them.
  void TellResources() {
    const absl::MutexLock lock(&mutex_);
    tells_resources_ = true;
  }
  // The requests and limits as written that each of its updates had.
  std::vector<std::string> WrittenOf(const std::string& name) {
    const absl::MutexLock lock(&mutex_);
    const Container* container = NewestOf(name);
    return container == nullptr ? std::vector<std::string>() : container->written;
  }
  // The resources of the last container made with the name; empty: there is none.
  ::runtime::v1::LinuxContainerResources ResourcesOf(const std::string& name) {
    const absl::MutexLock lock(&mutex_);
    Container* const container = NewestOf(name);
    return container == nullptr ? ::runtime::v1::LinuxContainerResources()
                                : container->config.linux().resources();
  }
  std::string CpusOf(const std::string& name) { return ResourcesOf(name).cpuset_cpus(); }
  std::string EnvOf(const std::string& name, const std::string& variable) {
    const absl::MutexLock lock(&mutex_);
    const Container* const container = NewestOf(name);
    if (container == nullptr) return "";
    for (const auto& each : container->config.envs()) {
      if (each.key() == variable) return each.value();
    }
    return "";
  }
  ::runtime::v1::SecurityProfile SeccompOf(const std::string& name) {
    const absl::MutexLock lock(&mutex_);
    const Container* const container = NewestOf(name);
    return container == nullptr ? ::runtime::v1::SecurityProfile()
                                : container->config.linux().security_context().seccomp();
  }
  // Acts like somebody beside the client.
  void ChangeCpus(const std::string& name, const std::string& cpus) {
    const absl::MutexLock lock(&mutex_);
    Container* const container = NewestOf(name);
    if (container == nullptr) return;
    container->config.mutable_linux()->mutable_resources()->set_cpuset_cpus(cpus);
  }
  // A class that the status reports; the runtime sets `oom_score_adj` for it, whatever updates say.
  void PutInOomClass(const std::string& name, const std::string& its_class, int64_t oom_score_adj) {
    const absl::MutexLock lock(&mutex_);
    Container* const container = NewestOf(name);
    (*container->config.mutable_class_resources()->mutable_classes())["oom"] = its_class;
    container->config.mutable_linux()->mutable_resources()->set_oom_score_adj(oom_score_adj);
    keeps_oom_scores_ = true;
  }
  // Updates change all but oom_score_adj, as containerd's.
  void KeepOomScores() {
    const absl::MutexLock lock(&mutex_);
    keeps_oom_scores_ = true;
  }
  void SetExecExitCode(int code) {
    const absl::MutexLock lock(&mutex_);
    exec_exit_code_ = code;
  }
  void SetStatus(::runtime::v1::StatusResponse status) {
    const absl::MutexLock lock(&mutex_);
    status_ = std::move(status);
  }

  grpc::Status Version(grpc::ServerContext* context, const ::runtime::v1::VersionRequest*,
                       ::runtime::v1::VersionResponse* response) override {
    response->set_runtime_name("fake");
    return script_.Enter("Version", context);
  }
  grpc::Status Status(grpc::ServerContext* context, const ::runtime::v1::StatusRequest*,
                      ::runtime::v1::StatusResponse* response) override {
    const grpc::Status status = script_.Enter("Status", context);
    const absl::MutexLock lock(&mutex_);
    *response = status_;
    return status;
  }
  grpc::Status RunPodSandbox(grpc::ServerContext* context,
                             const ::runtime::v1::RunPodSandboxRequest* request,
                             ::runtime::v1::RunPodSandboxResponse* response) override {
    const auto& metadata = request->config().metadata();
    const grpc::Status status = script_.Enter("RunPodSandbox", context, metadata.name());
    if (!status.ok()) return status;
    for (const std::string& id : SandboxIds()) {
      if (IsNamed(id, metadata.SerializeAsString())) {
        return {grpc::StatusCode::ALREADY_EXISTS, "the sandbox's name is taken by " + id};
      }
    }
    response->set_pod_sandbox_id(AddSandbox(request->config()));
    return script_.Leave("RunPodSandbox");
  }
  grpc::Status StopPodSandbox(grpc::ServerContext* context,
                              const ::runtime::v1::StopPodSandboxRequest* request,
                              ::runtime::v1::StopPodSandboxResponse*) override {
    const std::string& id = request->pod_sandbox_id();
    const grpc::Status status = script_.Enter("StopPodSandbox", context, id);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    if (sandboxes_.contains(id)) sandboxes_[id].is_ready = false;
    ExitAll(id);
    return script_.Leave("StopPodSandbox");
  }
  grpc::Status RemovePodSandbox(grpc::ServerContext* context,
                                const ::runtime::v1::RemovePodSandboxRequest* request,
                                ::runtime::v1::RemovePodSandboxResponse*) override {
    const std::string& id = request->pod_sandbox_id();
    const grpc::Status status = script_.Enter("RemovePodSandbox", context, id);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    Forget(id);
    return script_.Leave("RemovePodSandbox");
  }
  grpc::Status ListPodSandbox(grpc::ServerContext* context,
                              const ::runtime::v1::ListPodSandboxRequest* request,
                              ::runtime::v1::ListPodSandboxResponse* response) override {
    const grpc::Status status = script_.Enter("ListPodSandbox", context);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    for (const auto& [id, sandbox] : sandboxes_) {
      if (!Fits(request->filter().label_selector(), sandbox.config.labels())) continue;
      auto* item = response->add_items();
      item->set_id(id);
      *item->mutable_metadata() = sandbox.config.metadata();
      *item->mutable_labels() = sandbox.config.labels();
      *item->mutable_annotations() = sandbox.config.annotations();
      item->set_state(StateOf(sandbox));
    }
    return status;
  }
  grpc::Status PodSandboxStatus(grpc::ServerContext* context,
                                const ::runtime::v1::PodSandboxStatusRequest* request,
                                ::runtime::v1::PodSandboxStatusResponse* response) override {
    const grpc::Status status = script_.Enter("PodSandboxStatus", context);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    const auto it = sandboxes_.find(request->pod_sandbox_id());
    if (it == sandboxes_.end()) return NoSuch(request->pod_sandbox_id());
    response->mutable_status()->set_id(it->first);
    response->mutable_status()->set_state(StateOf(it->second));
    response->mutable_status()->mutable_network()->set_ip("10.0.0.1");
    return status;
  }
  grpc::Status CreateContainer(grpc::ServerContext* context,
                               const ::runtime::v1::CreateContainerRequest* request,
                               ::runtime::v1::CreateContainerResponse* response) override {
    const std::string& name = request->config().metadata().name();
    const grpc::Status status = script_.Enter("CreateContainer", context, name);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    if (!sandboxes_.contains(request->pod_sandbox_id())) return NoSuch(request->pod_sandbox_id());
    const std::string id = absl::StrCat("c", ++last_id_);
    Container& container = containers_[id];
    container.config = request->config();
    container.sandbox = request->pod_sandbox_id();
    container.created = clock_.NowUnixNanos();
    response->set_container_id(id);
    return script_.Leave("CreateContainer");
  }
  grpc::Status StartContainer(grpc::ServerContext* context,
                              const ::runtime::v1::StartContainerRequest* request,
                              ::runtime::v1::StartContainerResponse*) override {
    const grpc::Status status = script_.Enter("StartContainer", context, request->container_id());
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    const auto it = containers_.find(request->container_id());
    if (it == containers_.end()) return NoSuch(request->container_id());
    it->second.state = ::runtime::v1::CONTAINER_RUNNING;
    it->second.started = clock_.NowUnixNanos();
    return script_.Leave("StartContainer");
  }
  grpc::Status StopContainer(grpc::ServerContext* context,
                             const ::runtime::v1::StopContainerRequest* request,
                             ::runtime::v1::StopContainerResponse*) override {
    const grpc::Status status =
        script_.Enter("StopContainer", context,
                      absl::StrCat(request->container_id(), " in ", request->timeout(), " s"));
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    const auto it = containers_.find(request->container_id());
    if (it != containers_.end()) Exit(it->second, 143);
    return script_.Leave("StopContainer");
  }
  grpc::Status RemoveContainer(grpc::ServerContext* context,
                               const ::runtime::v1::RemoveContainerRequest* request,
                               ::runtime::v1::RemoveContainerResponse*) override {
    const grpc::Status status = script_.Enter("RemoveContainer", context, request->container_id());
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    containers_.erase(request->container_id());
    return script_.Leave("RemoveContainer");
  }
  grpc::Status ListContainers(grpc::ServerContext* context,
                              const ::runtime::v1::ListContainersRequest* request,
                              ::runtime::v1::ListContainersResponse* response) override {
    const grpc::Status status = script_.Enter("ListContainers", context);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    const std::string& sandbox = request->filter().pod_sandbox_id();
    for (const auto& [id, container] : containers_) {
      if (!sandbox.empty() && container.sandbox != sandbox) continue;
      if (!Fits(request->filter().label_selector(), container.config.labels())) continue;
      auto* item = response->add_containers();
      item->set_id(id);
      item->set_pod_sandbox_id(container.sandbox);
      item->set_state(container.state);
      item->set_created_at(container.created);
      *item->mutable_metadata() = container.config.metadata();
      *item->mutable_labels() = container.config.labels();
    }
    return status;
  }
  grpc::Status ContainerStatus(grpc::ServerContext* context,
                               const ::runtime::v1::ContainerStatusRequest* request,
                               ::runtime::v1::ContainerStatusResponse* response) override {
    const grpc::Status status = script_.Enter("ContainerStatus", context);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    const auto it = containers_.find(request->container_id());
    if (it == containers_.end()) return NoSuch(request->container_id());
    const Container& container = it->second;
    auto* told = response->mutable_status();
    told->set_id(it->first);
    *told->mutable_metadata() = container.config.metadata();
    told->set_state(container.state);
    told->set_created_at(container.created);
    told->set_started_at(container.started);
    told->set_finished_at(container.finished);
    told->set_exit_code(container.exit_code);
    if (tells_resources_) {
      *told->mutable_resources()->mutable_linux() = container.config.linux().resources();
    }
    if (!container.config.class_resources().classes().empty()) {
      *told->mutable_class_resources() = container.config.class_resources();
    }
    return status;
  }
  grpc::Status UpdateContainerResources(
      grpc::ServerContext* context, const ::runtime::v1::UpdateContainerResourcesRequest* request,
      ::runtime::v1::UpdateContainerResourcesResponse*) override {
    const std::string& id = request->container_id();
    const grpc::Status status = script_.Enter("UpdateContainerResources", context, id);
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    if (!tells_resources_) return {grpc::StatusCode::UNIMPLEMENTED, ""};
    const auto it = containers_.find(id);
    if (it == containers_.end()) return NoSuch(id);
    auto* resources = it->second.config.mutable_linux()->mutable_resources();
    const int64_t oom_score_adj = resources->oom_score_adj();
    // A member without a value is left as it is, as the CRI says.
    for (const auto& [file, value] : request->linux().unified()) {
      (*resources->mutable_unified())[file] = value;
    }
    ::runtime::v1::LinuxContainerResources update = request->linux();
    update.clear_unified();
    resources->MergeFrom(update);
    it->second.written.push_back(request->kubernetes_resources().ShortDebugString());
    if (keeps_oom_scores_) resources->set_oom_score_adj(oom_score_adj);
    return script_.Leave("UpdateContainerResources");
  }
  grpc::Status ExecSync(grpc::ServerContext* context, const ::runtime::v1::ExecSyncRequest* request,
                        ::runtime::v1::ExecSyncResponse* response) override {
    const grpc::Status status = script_.Enter("ExecSync", context, request->container_id());
    if (!status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    response->set_exit_code(exec_exit_code_);
    return script_.Leave("ExecSync");
  }
  // A stream without events, while a test holds it; else there is none.
  grpc::Status GetContainerEvents(
      grpc::ServerContext* context, const ::runtime::v1::GetEventsRequest*,
      grpc::ServerWriter<::runtime::v1::ContainerEventResponse>*) override {
    const grpc::Status status = script_.Enter("GetContainerEvents", context);
    return status.ok() ? grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no events") : status;
  }
  grpc::Status ImageStatus(grpc::ServerContext* context,
                           const ::runtime::v1::ImageStatusRequest* request,
                           ::runtime::v1::ImageStatusResponse* response) override {
    response->mutable_image()->set_id(request->image().image());
    return script_.Enter("ImageStatus", context);
  }

 private:
  struct Sandbox {
    ::runtime::v1::PodSandboxConfig config;
    bool is_ready = true;
  };
  struct Container {
    ::runtime::v1::ContainerConfig config;
    std::string sandbox;
    ::runtime::v1::ContainerState state = ::runtime::v1::CONTAINER_CREATED;
    int64_t created = 0;
    int64_t started = 0;
    int64_t finished = 0;
    int exit_code = 0;
    std::vector<std::string> written;  // kubernetes_resources of its updates, as text
  };

  template <typename Labels>
  static bool Fits(const Labels& selector, const Labels& labels) {
    return std::all_of(selector.begin(), selector.end(), [&](const auto& wanted) {
      const auto it = labels.find(wanted.first);
      return it != labels.end() && it->second == wanted.second;
    });
  }
  static ::runtime::v1::PodSandboxState StateOf(const Sandbox& sandbox) {
    return sandbox.is_ready ? ::runtime::v1::SANDBOX_READY : ::runtime::v1::SANDBOX_NOTREADY;
  }
  static grpc::Status NoSuch(const std::string& id) {
    return {grpc::StatusCode::NOT_FOUND, absl::StrCat("there is no ", id)};
  }
  bool IsNamed(const std::string& id, const std::string& metadata) {
    const absl::MutexLock lock(&mutex_);
    return sandboxes_[id].config.metadata().SerializeAsString() == metadata;
  }
  Container* NewestOf(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Container* newest = nullptr;
    for (auto& [id, each] : containers_) {
      const bool is_it = each.config.metadata().name() == name;
      if (is_it && (newest == nullptr ||
                    each.config.metadata().attempt() >= newest->config.metadata().attempt())) {
        newest = &each;
      }
    }
    return newest;
  }
  void Exit(Container& container, int exit_code) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (container.state == ::runtime::v1::CONTAINER_EXITED) return;
    container.state = ::runtime::v1::CONTAINER_EXITED;
    container.finished = clock_.NowUnixNanos();
    container.exit_code = exit_code;
  }
  void Forget(const std::string& sandbox) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    sandboxes_.erase(sandbox);
    std::erase_if(containers_, [&](const auto& each) { return each.second.sandbox == sandbox; });
  }
  void ExitAll(const std::string& sandbox) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (auto& [id, each] : containers_) {
      if (each.sandbox == sandbox) Exit(each, 137);
    }
  }

  const Clock& clock_;
  CallScript script_;
  absl::Mutex mutex_;
  std::map<std::string, Sandbox> sandboxes_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Container> containers_ ABSL_GUARDED_BY(mutex_);
  int last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  int exec_exit_code_ ABSL_GUARDED_BY(mutex_) = 0;
  bool tells_resources_ ABSL_GUARDED_BY(mutex_) = false;
  bool keeps_oom_scores_ ABSL_GUARDED_BY(mutex_) = false;
  ::runtime::v1::StatusResponse status_ ABSL_GUARDED_BY(mutex_);
};

// A FakeCri at a socket. The destructor ends the calls that a test still holds.
class FakeCriServer {
 public:
  FakeCriServer(FakeCri& cri, const std::string& socket) : cri_(cri) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<::runtime::v1::RuntimeService::Service*>(&cri));
    builder.RegisterService(static_cast<::runtime::v1::ImageService::Service*>(&cri));
    server_ = builder.BuildAndStart();
  }
  ~FakeCriServer() {
    cri_.script().End();
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  FakeCriServer(const FakeCriServer&) = delete;
  FakeCriServer& operator=(const FakeCriServer&) = delete;

 private:
  FakeCri& cri_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_FAKE_RUNTIME_FOR_TEST_H_
