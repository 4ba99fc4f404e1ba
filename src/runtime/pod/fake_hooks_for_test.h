// Hooks that record their calls, and do as a test wants.
#ifndef PLIMSOLL_RUNTIME_POD_FAKE_HOOKS_FOR_TEST_H_
#define PLIMSOLL_RUNTIME_POD_FAKE_HOOKS_FOR_TEST_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "runtime/objects/fakes_for_test.h"
#include "runtime/pod/hooks.h"

namespace plimsoll::runtime {

// One hook runs at a time, as with plugins. A call is "StartContainer web", with the name of pod or
// container; an undo has the name too.
class FakeHooks : public Hooks {
 public:
  std::atomic<bool> is_active = true;
  Faults faults;  // by the hook's name
  // Called within the turn, with the hook's name and the id of its pod or container.
  std::function<void(const std::string& hook, const std::string& id)> on_hook;
  std::function<void(ContainerSpec*)> adjust;
  std::function<void(ResourceUpdate*)> adjust_update;
  std::function<void(const std::string& id)> on_undo;

  std::vector<std::string> calls() const {
    absl::MutexLock lock(&mutex_);
    return calls_;
  }
  void Forget() {
    absl::MutexLock lock(&mutex_);
    calls_.clear();
  }
  size_t makings() const {
    absl::MutexLock lock(&mutex_);
    return makings_.size();
  }
  HookedPod last_pod() const {
    absl::MutexLock lock(&mutex_);
    return last_pod_;
  }
  HookedContainer last_container() const {
    absl::MutexLock lock(&mutex_);
    return last_container_;
  }

  bool Active() const override { return is_active; }
  std::shared_ptr<void> Making(const std::string& id) override {
    absl::MutexLock lock(&mutex_);
    makings_.insert(id);
    return {this, [id](FakeHooks* hooks) { hooks->EndMaking(id); }};
  }
  absl::Status RunSandbox(const HookedPod& pod) override { return Call("RunSandbox", pod); }
  void UndoSandbox(const std::string& id) override { Undo("UndoSandbox", id); }
  absl::Status UpdateSandbox(const HookedPod& pod, const SandboxUpdate&) override {
    return Call("UpdateSandbox", pod);
  }
  void SandboxUpdated(const HookedPod& pod) override { Call("SandboxUpdated", pod).IgnoreError(); }
  void StopSandbox(const HookedPod& pod) override { Call("StopSandbox", pod).IgnoreError(); }
  absl::StatusOr<ContainerSpec> CreateContainer(const HookedPod& pod,
                                                const HookedContainer& container) override {
    absl::MutexLock turn(&turn_);
    PLIMSOLL_RETURN_IF_ERROR(Run("CreateContainer", pod, container));
    ContainerSpec spec = container.record.spec;
    if (adjust) adjust(&spec);
    return spec;
  }
  void UndoContainer(const std::string& id) override { Undo("UndoContainer", id); }
  absl::Status StartContainer(const HookedPod& pod, const HookedContainer& container) override {
    absl::MutexLock turn(&turn_);
    return Run("StartContainer", pod, container);
  }
  absl::Status UpdateContainer(const HookedPod& pod, const HookedContainer& container,
                               const ResourceUpdate& update, ApplyFn apply) override {
    absl::MutexLock turn(&turn_);
    PLIMSOLL_RETURN_IF_ERROR(Run("UpdateContainer", pod, container));
    ResourceUpdate wanted = update;
    if (adjust_update) adjust_update(&wanted);
    return apply(wanted);
  }

 private:
  void Note(const std::string& hook, const std::string& id, const std::string& name) {
    absl::MutexLock lock(&mutex_);
    names_[id] = name;
    calls_.push_back(absl::StrCat(hook, " ", name));
  }
  absl::Status Call(const std::string& hook, const HookedPod& pod) {
    absl::MutexLock turn(&turn_);
    Note(hook, pod.record.id, pod.record.spec.name);
    {
      absl::MutexLock lock(&mutex_);
      last_pod_ = pod;
    }
    if (on_hook) on_hook(hook, pod.record.id);
    return faults.Check(hook);
  }
  absl::Status Run(const std::string& hook, const HookedPod& pod, const HookedContainer& container)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(turn_) {
    Note(hook, container.record.id, container.record.spec.name);
    {
      absl::MutexLock lock(&mutex_);
      last_pod_ = pod;
      last_container_ = container;
    }
    if (on_hook) on_hook(hook, container.record.id);
    return faults.Check(hook);
  }
  void Undo(const std::string& hook, const std::string& id) {
    {
      absl::MutexLock lock(&mutex_);
      calls_.push_back(absl::StrCat(hook, " ", names_[id]));
    }
    if (on_undo) on_undo(id);
  }
  void EndMaking(const std::string& id) {
    absl::MutexLock lock(&mutex_);
    makings_.erase(id);
  }

  absl::Mutex turn_;
  mutable absl::Mutex mutex_;
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> names_ ABSL_GUARDED_BY(mutex_);  // by id
  std::multiset<std::string> makings_ ABSL_GUARDED_BY(mutex_);
  HookedPod last_pod_ ABSL_GUARDED_BY(mutex_);
  HookedContainer last_container_ ABSL_GUARDED_BY(mutex_);  // its image is gone after the hook
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_FAKE_HOOKS_FOR_TEST_H_
