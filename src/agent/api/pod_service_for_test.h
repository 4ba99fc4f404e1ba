// For tests: a PodService whose pods are what the test says.
#ifndef PLIMSOLL_AGENT_API_POD_SERVICE_FOR_TEST_H_
#define PLIMSOLL_AGENT_API_POD_SERVICE_FOR_TEST_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/pods/status/pod_service.h"

namespace plimsoll::agent {

// Apply takes JSON alone: one Pod. Thread-safe.
class FakePodService : public PodService {
 public:
  using Json = nlohmann::json;

  static Json Pod(const std::string& pod_namespace, const std::string& name) {
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata", {{"namespace", pod_namespace}, {"name", name}, {"uid", name + "-uid"}}},
            {"spec", {{"containers", {{{"name", "app"}, {"image", "busybox"}}}}}},
            {"status", {{"phase", "Running"}}}};
  }
  static PodKey KeyOf(const Json& pod) {
    return {pod["metadata"]["namespace"], pod["metadata"]["name"]};
  }

  // Adds or replaces a pod.
  void Put(const Json& pod) {
    absl::MutexLock lock(&mutex_);
    pods_[KeyOf(pod)] = {pod, ++version_};
  }
  void Remove(const PodKey& key) {
    absl::MutexLock lock(&mutex_);
    pods_.erase(key);
    ++version_;
  }
  void SetLog(std::string path) {
    absl::MutexLock lock(&mutex_);
    log_path_ = std::move(path);
  }
  // Every call that changes something fails so.
  void Fail(absl::Status failure) {
    absl::MutexLock lock(&mutex_);
    failure_ = std::move(failure);
  }
  void SetNode(Json node) {
    absl::MutexLock lock(&mutex_);
    node_ = std::move(node);
  }
  void SetEvents(std::vector<Json> events) {
    absl::MutexLock lock(&mutex_);
    events_ = std::move(events);
  }
  // The changing calls so far, as "delete default/web 5".
  std::vector<std::string> calls() const {
    absl::MutexLock lock(&mutex_);
    return calls_;
  }
  int watches() const {
    absl::MutexLock lock(&mutex_);
    return watches_;
  }

  absl::StatusOr<std::vector<Json>> Apply(absl::string_view text, absl::string_view file) override {
    const Json pod = Json::parse(text.begin(), text.end(), nullptr, false);
    absl::MutexLock lock(&mutex_);
    calls_.push_back(absl::StrCat("apply ", text.size()));
    if (!failure_.ok()) return failure_;
    if (!pod.is_object()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": line 1: this is no manifest"));
    }
    pods_[KeyOf(pod)] = {pod, ++version_};
    return std::vector<Json>{pod};
  }
  absl::Status Delete(const PodKey& key, std::optional<int64_t> grace_s) override {
    absl::MutexLock lock(&mutex_);
    calls_.push_back(absl::StrCat("delete ", Text(key), " ",
                                  grace_s.has_value() ? absl::StrCat(*grace_s) : "own"));
    if (!failure_.ok()) return failure_;
    if (pods_.erase(key) == 0) return NotFound(key);
    ++version_;
    return absl::OkStatus();
  }
  absl::StatusOr<Json> Get(const PodKey& key) const override {
    absl::MutexLock lock(&mutex_);
    const auto at = pods_.find(key);
    if (at == pods_.end()) return NotFound(key);
    return at->second.object;
  }
  std::vector<Json> List(const std::string& pod_namespace) const override {
    absl::MutexLock lock(&mutex_);
    std::vector<Json> pods;
    for (const auto& [key, pod] : pods_) {
      if (pod_namespace.empty() || key.pod_namespace == pod_namespace) pods.push_back(pod.object);
    }
    return pods;
  }

  void Watch(const std::string& pod_namespace, const OnChange& change) const override {
    {
      absl::MutexLock lock(&mutex_);
      ++watches_;
    }
    std::map<PodKey, Versioned> known;
    while (PassChanges(pod_namespace, known, change)) {
    }
    absl::MutexLock lock(&mutex_);
    --watches_;
  }

  absl::StatusOr<std::string> LogPath(const PodKey& key, const std::string& container,
                                      bool previous) const override {
    absl::MutexLock lock(&mutex_);
    if (!pods_.contains(key)) return NotFound(key);
    if (!container.empty() && container != "app") {
      return absl::NotFoundError(absl::StrCat("pod ", Text(key), " has no container ", container));
    }
    return log_path_ + (previous ? ".previous" : "");
  }
  absl::StatusOr<std::string> ExecUrl(const PodKey& key, const std::string& container,
                                      const std::vector<std::string>& command, bool input,
                                      bool terminal) override {
    absl::MutexLock lock(&mutex_);
    if (!pods_.contains(key)) return NotFound(key);
    std::string url =
        absl::StrCat("http://127.0.0.1/", container, input ? "/stdin" : "", terminal ? "/tty" : "");
    for (const std::string& word : command) absl::StrAppend(&url, "/", word);
    return url;
  }
  absl::StatusOr<Json> Resize(const PodKey& key, const Json& patch) override {
    absl::MutexLock lock(&mutex_);
    calls_.push_back(absl::StrCat("resize ", Text(key), " ", patch.dump()));
    if (!failure_.ok()) return failure_;
    const auto at = pods_.find(key);
    if (at == pods_.end()) return NotFound(key);
    return at->second.object;
  }
  Json Node() const override {
    absl::MutexLock lock(&mutex_);
    return node_;
  }
  std::vector<Json> Events(const std::optional<PodKey>& pod) const override {
    absl::MutexLock lock(&mutex_);
    std::vector<Json> found;
    for (const Json& event : events_) {
      const Json& subject = event["involvedObject"];
      if (!pod.has_value() || PodKey{subject["namespace"], subject["name"]} == *pod) {
        found.push_back(event);
      }
    }
    return found;
  }

 private:
  struct Versioned {
    Json object;
    uint64_t version = 0;
  };
  struct Passed {
    Change change;
    Json object;
  };

  static std::string Text(const PodKey& key) {
    return absl::StrCat(key.pod_namespace, "/", key.name);
  }
  static absl::Status NotFound(const PodKey& key) {
    return absl::NotFoundError(absl::StrCat("no pod ", Text(key)));
  }

  // Makes `known` what is there now. Returns the difference.
  std::vector<Passed> Difference(const std::string& pod_namespace,
                                 std::map<PodKey, Versioned>& known) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<Passed> changes;
    for (const auto& [key, pod] : pods_) {
      if (!pod_namespace.empty() && key.pod_namespace != pod_namespace) continue;
      const auto before = known.find(key);
      if (before == known.end()) {
        changes.push_back({Change::kAdded, pod.object});
      } else if (before->second.version != pod.version) {
        changes.push_back({Change::kModified, pod.object});
      }
      known[key] = pod;
    }
    std::erase_if(known, [&](const auto& each) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (pods_.contains(each.first)) return false;
      changes.push_back({Change::kDeleted, each.second.object});
      return true;
    });
    return changes;
  }

  // False: `change` wants no more.
  bool PassChanges(const std::string& pod_namespace, std::map<PodKey, Versioned>& known,
                   const OnChange& change) const {
    const auto [changes, version] = Look(pod_namespace, known);
    for (const Passed& each : changes) {
      if (!change(each.change, &each.object)) return false;
    }
    return AwaitChange(version) || change(Change::kModified, nullptr);
  }
  std::pair<std::vector<Passed>, uint64_t> Look(const std::string& pod_namespace,
                                                std::map<PodKey, Versioned>& known) const {
    absl::MutexLock lock(&mutex_);
    return {Difference(pod_namespace, known), version_};
  }
  // False: nothing happened for a while.
  bool AwaitChange(uint64_t version) const {
    const auto changed = [this, version]()
                             ABSL_NO_THREAD_SAFETY_ANALYSIS { return version_ != version; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&changed), absl::Milliseconds(100));
  }

  mutable absl::Mutex mutex_;
  std::map<PodKey, Versioned> pods_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string log_path_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  Json node_ ABSL_GUARDED_BY(mutex_) = {{"kind", "Node"}, {"apiVersion", "v1"}};
  std::vector<Json> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
  mutable int watches_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_API_POD_SERVICE_FOR_TEST_H_
