// For tests: a plugin that records its calls and answers as a test says.
#ifndef PLIMSOLL_NRI_TEST_PLUGIN_FOR_TEST_H_
#define PLIMSOLL_NRI_TEST_PLUGIN_FOR_TEST_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "nri/plugin/plugin.h"

namespace plimsoll::nri {

// Calls of several plugins in their order: "10-a CreateContainer c1". Thread-safe.
class CallLog {
 public:
  void Add(std::string call) {
    absl::MutexLock lock(&mutex_);
    calls_.push_back(std::move(call));
  }
  std::vector<std::string> calls() const {
    absl::MutexLock lock(&mutex_);
    return calls_;
  }
  void Clear() {
    absl::MutexLock lock(&mutex_);
    calls_.clear();
  }
  // The calls that begin with `prefix`.
  std::vector<std::string> Of(const std::string& prefix) const {
    std::vector<std::string> some;
    for (std::string& call : calls()) {
      if (call.starts_with(prefix)) some.push_back(std::move(call));
    }
    return some;
  }
  size_t Count(const std::string& call) const {
    const std::vector<std::string> all = calls();
    return static_cast<size_t>(std::count(all.begin(), all.end(), call));
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
};

class TestPlugin : public Plugin {
 public:
  TestPlugin(std::string full_name, CallLog* log) : name(std::move(full_name)), log_(log) {}
  ~TestPlugin() override { session.reset(); }  // its threads use the other members

  const std::string name;  // "10-a"
  std::vector<api::Event> events;
  bool old = false;  // knows StateChange alone
  // Called within each call; an error is the answer. May change while calls are under way.
  using OnCall = std::function<absl::Status(const std::string& call)>;
  void SetOnCall(OnCall on_call) {
    const absl::MutexLock lock(&mutex_);
    on_call_ = std::move(on_call);
  }
  std::function<absl::StatusOr<std::vector<api::ContainerUpdate>>(
      const std::vector<api::PodSandbox>&, const std::vector<api::Container>&)>
      on_synchronize;
  std::function<absl::StatusOr<api::CreateContainerResponse>(const api::CreateContainerRequest&)>
      on_create;
  std::function<absl::StatusOr<api::UpdateContainerResponse>(const api::UpdateContainerRequest&)>
      on_update;
  std::function<api::StopContainerResponse(const api::StopContainerRequest&)> on_stop;
  std::function<api::ValidateContainerAdjustmentResponse(
      const api::ValidateContainerAdjustmentRequest&)>
      on_validate;
  std::unique_ptr<Session> session;

  std::vector<api::Event> Events() const override { return events; }
  absl::StatusOr<std::vector<api::ContainerUpdate>> Synchronize(
      const std::vector<api::PodSandbox>& pods,
      const std::vector<api::Container>& containers) override {
    std::string told = "Synchronize";
    for (const auto& pod : pods) absl::StrAppend(&told, " ", pod.id());
    for (const auto& container : containers) absl::StrAppend(&told, " ", container.id());
    if (absl::Status status = Record(told); !status.ok()) return status;
    if (on_synchronize) return on_synchronize(pods, containers);
    return std::vector<api::ContainerUpdate>();
  }

#define PLIMSOLL_TEST_CALL(call, object)                                                 \
  absl::StatusOr<api::call##Response> call(const api::call##Request& request) override { \
    if (old) return absl::UnimplementedError(#call);                                     \
    if (absl::Status status = Record(absl::StrCat(#call, " ", request.object().id()));   \
        !status.ok()) {                                                                  \
      return status;                                                                     \
    }                                                                                    \
    return api::call##Response();                                                        \
  }
  PLIMSOLL_TEST_CALL(RunPodSandbox, pod)
  PLIMSOLL_TEST_CALL(UpdatePodSandbox, pod)
  PLIMSOLL_TEST_CALL(PostUpdatePodSandbox, pod)
  PLIMSOLL_TEST_CALL(StopPodSandbox, pod)
  PLIMSOLL_TEST_CALL(RemovePodSandbox, pod)
  PLIMSOLL_TEST_CALL(PostCreateContainer, container)
  PLIMSOLL_TEST_CALL(StartContainer, container)
  PLIMSOLL_TEST_CALL(PostStartContainer, container)
  PLIMSOLL_TEST_CALL(PostUpdateContainer, container)
  PLIMSOLL_TEST_CALL(RemoveContainer, container)
#undef PLIMSOLL_TEST_CALL

  absl::StatusOr<api::CreateContainerResponse> CreateContainer(
      const api::CreateContainerRequest& request) override {
    absl::Status status = Record(absl::StrCat("CreateContainer ", request.container().id()));
    if (!status.ok()) return status;
    return on_create ? on_create(request) : api::CreateContainerResponse();
  }
  absl::StatusOr<api::UpdateContainerResponse> UpdateContainer(
      const api::UpdateContainerRequest& request) override {
    absl::Status status = Record(absl::StrCat("UpdateContainer ", request.container().id()));
    if (!status.ok()) return status;
    return on_update ? on_update(request) : api::UpdateContainerResponse();
  }
  absl::StatusOr<api::StopContainerResponse> StopContainer(
      const api::StopContainerRequest& request) override {
    absl::Status status = Record(absl::StrCat("StopContainer ", request.container().id()));
    if (!status.ok()) return status;
    return on_stop ? on_stop(request) : api::StopContainerResponse();
  }
  absl::StatusOr<api::ValidateContainerAdjustmentResponse> ValidateContainerAdjustment(
      const api::ValidateContainerAdjustmentRequest& request) override {
    if (!on_validate) return absl::UnimplementedError("ValidateContainerAdjustment");
    absl::Status status = Record(absl::StrCat("Validate ", request.container().id()));
    if (!status.ok()) return status;
    return on_validate(request);
  }
  absl::Status StateChange(const api::StateChangeEvent& event) override {
    const std::string& id = event.has_container() ? event.container().id() : event.pod().id();
    return Record(absl::StrCat("StateChange ", api::Event_Name(event.event()), " ", id));
  }

 private:
  absl::Status Record(const std::string& call) {
    log_->Add(absl::StrCat(name, " ", call));
    OnCall on_call;
    {
      const absl::MutexLock lock(&mutex_);
      on_call = on_call_;
    }
    return on_call ? on_call(call) : absl::OkStatus();
  }

  CallLog* const log_;
  absl::Mutex mutex_;
  OnCall on_call_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_TEST_PLUGIN_FOR_TEST_H_
