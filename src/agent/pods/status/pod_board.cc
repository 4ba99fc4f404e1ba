#include "agent/pods/status/pod_board.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

std::string UidOf(const nlohmann::json& object) {
  return object.value("/metadata/uid"_json_pointer, "");
}

bool IsIn(const PodKey& pod, const std::string& pod_namespace) {
  return pod_namespace.empty() || pod.pod_namespace == pod_namespace;
}

}  // namespace

void PodBoard::Put(const PodKey& pod, nlohmann::json object) {
  const std::lock_guard<std::mutex> lock(mutex_);
  PutLocked(pod, std::move(object));
}

bool PodBoard::PutIf(const PodKey& pod, nlohmann::json object,
                     absl::FunctionRef<bool()> is_latest) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_latest()) return false;
  PutLocked(pod, std::move(object));
  return true;
}

void PodBoard::Change(const PodKey& pod,
                      absl::FunctionRef<nlohmann::json(const nlohmann::json& shown)> change) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = pods_.find(pod);
  if (it != pods_.end()) PutLocked(pod, change(*it->second.object));
}

void PodBoard::PutLocked(const PodKey& pod, nlohmann::json object) {
  const auto it = pods_.find(pod);
  if (it != pods_.end()) {
    object["metadata"]["resourceVersion"] = absl::StrCat(it->second.version);
    if (*it->second.object == object) return;
  }
  object["metadata"]["resourceVersion"] = absl::StrCat(++version_);
  pods_[pod] = {version_, std::make_shared<const nlohmann::json>(std::move(object))};
  changed_.notify_all();
}

void PodBoard::Remove(const PodKey& pod) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (pods_.erase(pod) == 0) return;
  ++version_;
  changed_.notify_all();
}

PodBoard::Object PodBoard::Get(const PodKey& pod) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = pods_.find(pod);
  return it == pods_.end() ? nullptr : it->second.object;
}

std::vector<PodBoard::Object> PodBoard::List(const std::string& pod_namespace) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Object> objects;
  for (const auto& [key, shown] : pods_) {
    if (IsIn(key, pod_namespace)) objects.push_back(shown.object);
  }
  return objects;
}

PodBoard::Table PodBoard::Await(const std::string& pod_namespace, absl::Duration quiet,
                                uint64_t* seen) const {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, absl::ToChronoMilliseconds(quiet), [&] { return version_ > *seen; });
  *seen = version_;
  Table table;
  for (const auto& [key, shown] : pods_) {
    if (IsIn(key, pod_namespace)) table[key] = shown;
  }
  return table;
}

void PodBoard::Watch(const std::string& pod_namespace, absl::Duration quiet,
                     const PodService::OnChange& change) const {
  using Change = PodService::Change;
  Table told;
  uint64_t seen = 0;
  for (bool is_first = true;; is_first = false) {
    const Table now = Await(pod_namespace, is_first ? absl::ZeroDuration() : quiet, &seen);
    bool is_quiet = true;
    const auto tell = [&](Change kind, const Object& object) {
      is_quiet = false;
      return change(kind, object.get());
    };
    for (const auto& [key, old] : told) {
      const auto it = now.find(key);
      const bool is_same = it != now.end() && UidOf(*it->second.object) == UidOf(*old.object);
      if (!is_same && !tell(Change::kDeleted, old.object)) return;
    }
    for (const auto& [key, shown] : now) {
      const auto it = told.find(key);
      const bool is_new = it == told.end() || UidOf(*it->second.object) != UidOf(*shown.object);
      if (!is_new && it->second.version == shown.version) continue;
      if (!tell(is_new ? Change::kAdded : Change::kModified, shown.object)) return;
    }
    if (is_quiet && !is_first && !change(Change::kModified, nullptr)) return;
    told = now;
  }
}

}  // namespace plimsoll::agent
