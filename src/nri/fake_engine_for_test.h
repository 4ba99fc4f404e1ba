// For tests: an engine whose pods and containers are records in memory.
#ifndef PLIMSOLL_NRI_FAKE_ENGINE_FOR_TEST_H_
#define PLIMSOLL_NRI_FAKE_ENGINE_FOR_TEST_H_

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/engine.h"

namespace plimsoll::nri {

// Shows what Put... has put there, and takes updates and stops. Thread-safe.
class FakeEngine : public runtime::Engine {
 public:
  struct Asked {
    std::string id;
    runtime::ResourceUpdate update;
  };

  void PutSandbox(const runtime::SandboxRecord& record) {
    absl::MutexLock lock(&mutex_);
    sandboxes_[record.id] = record;
  }
  void PutContainer(const runtime::ContainerRecord& record) {
    absl::MutexLock lock(&mutex_);
    containers_[record.id] = record;
  }
  void Erase(const std::string& id) {
    absl::MutexLock lock(&mutex_);
    sandboxes_.erase(id);
    containers_.erase(id);
  }
  std::vector<Asked> updates() const {
    absl::MutexLock lock(&mutex_);
    return updates_;
  }
  std::vector<std::string> stopped() const {
    absl::MutexLock lock(&mutex_);
    return stopped_;
  }
  // Called for each update by a plugin, before it is recorded.
  std::function<absl::Status(const std::string& id)> on_update;

  absl::StatusOr<runtime::SandboxRecord> GetSandbox(absl::string_view id) const override {
    absl::MutexLock lock(&mutex_);
    const auto found = sandboxes_.find(std::string(id));
    if (found == sandboxes_.end()) return absl::NotFoundError(absl::StrCat("sandbox ", id));
    return found->second;
  }
  std::vector<runtime::SandboxRecord> ListSandboxes() const override {
    absl::MutexLock lock(&mutex_);
    std::vector<runtime::SandboxRecord> records;
    for (const auto& [id, record] : sandboxes_) records.push_back(record);
    return records;
  }
  void VisitSandboxes(absl::FunctionRef<void(const runtime::SandboxRecord&)> visit) const override {
    for (const auto& record : ListSandboxes()) visit(record);
  }
  absl::StatusOr<runtime::ContainerRecord> GetContainer(absl::string_view id) const override {
    absl::MutexLock lock(&mutex_);
    const auto found = containers_.find(std::string(id));
    if (found == containers_.end()) return absl::NotFoundError(absl::StrCat("container ", id));
    return found->second;
  }
  std::vector<runtime::ContainerRecord> ListContainers() const override {
    absl::MutexLock lock(&mutex_);
    std::vector<runtime::ContainerRecord> records;
    for (const auto& [id, record] : containers_) records.push_back(record);
    return records;
  }
  void VisitContainers(
      absl::FunctionRef<void(const runtime::ContainerRecord&)> visit) const override {
    for (const auto& record : ListContainers()) visit(record);
  }
  std::vector<runtime::ContainerRecord> ListContainersOf(const std::string& id) const override {
    absl::MutexLock lock(&mutex_);
    std::vector<runtime::ContainerRecord> records;
    for (const auto& [name, record] : containers_) {
      if (record.sandbox_id == id) records.push_back(record);
    }
    return records;
  }
  absl::Status UpdateForPlugin(absl::string_view id,
                               const runtime::ResourceUpdate& update) override {
    if (on_update) {
      if (absl::Status status = on_update(std::string(id)); !status.ok()) return status;
    }
    if (absl::Status there = GetContainer(id).status(); !there.ok()) return there;
    absl::MutexLock lock(&mutex_);
    updates_.push_back({std::string(id), update});
    return absl::OkStatus();
  }
  absl::Status StopContainer(absl::string_view id, absl::Duration) override {
    absl::MutexLock lock(&mutex_);
    stopped_.emplace_back(id);
    return absl::OkStatus();
  }
  std::vector<std::string> Addresses(absl::string_view) const override { return {"10.0.0.7"}; }
  absl::StatusOr<runtime::PodPicture> Picture(absl::string_view) const override {
    return runtime::PodPicture();
  }

  // Not used by this room.
  absl::StatusOr<std::string> RunSandbox(const runtime::SandboxSpec&, std::string) override {
    return Unused();
  }
  absl::Status StopSandbox(absl::string_view) override { return Unused(); }
  absl::Status RemoveSandbox(absl::string_view) override { return Unused(); }
  absl::StatusOr<std::string> CreateContainer(absl::string_view, const runtime::ContainerSpec&,
                                              std::string) override {
    return Unused();
  }
  absl::Status StartContainer(absl::string_view) override { return Unused(); }
  absl::Status RemoveContainer(absl::string_view) override { return Unused(); }
  absl::StatusOr<runtime::EffectiveResources> ReadResources(absl::string_view) override {
    return Unused();
  }
  absl::Status UpdateResources(absl::string_view, const runtime::ResourceUpdate&) override {
    return Unused();
  }
  absl::StatusOr<runtime::EffectiveResources> ReadSandboxResources(
      absl::string_view) const override {
    return Unused();
  }
  absl::Status UpdateSandboxResources(absl::string_view, const runtime::SandboxUpdate&) override {
    return Unused();
  }
  void CallOffUpdates() override {}
  absl::Status TakeFacts(absl::string_view, runtime::PodFacts) override { return Unused(); }
  void SetNodeShare(const runtime::NodeShare&) override {}
  void RefuseOutsideShare(bool) override {}
  using Classes = std::map<std::string, qos::EffectiveClass>;
  absl::StatusOr<Classes> ContainerClasses(absl::string_view, bool) override { return Unused(); }
  absl::StatusOr<Classes> SandboxClasses(absl::string_view, bool) override { return Unused(); }
  absl::Status UpdateSandboxClasses(absl::string_view, const qos::ClassNames&) override {
    return Unused();
  }
  runtime::Readings& readings() override { std::abort(); }
  runtime::Commands& commands() override { std::abort(); }
  std::vector<runtime::Finding> Inspect() override { return {}; }
  std::vector<std::string> RecoveryTroubles() const override { return {}; }
  absl::StatusOr<runtime::ContainerRecord> WaitContainer(absl::string_view, absl::Time) override {
    return Unused();
  }

 private:
  static absl::Status Unused() { return absl::UnimplementedError("not in this engine"); }

  mutable absl::Mutex mutex_;
  std::map<std::string, runtime::SandboxRecord> sandboxes_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, runtime::ContainerRecord> containers_ ABSL_GUARDED_BY(mutex_);
  std::vector<Asked> updates_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> stopped_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_FAKE_ENGINE_FOR_TEST_H_
