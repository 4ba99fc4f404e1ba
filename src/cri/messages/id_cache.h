// A cache of values made once per id and kept while the id exists.
#ifndef PLIMSOLL_CRI_MESSAGES_ID_CACHE_H_
#define PLIMSOLL_CRI_MESSAGES_ID_CACHE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::cri {

// Thread-safe. Every method is quick enough to call under a lock.
template <typename Value>
class IdCache {
 public:
  // The value kept for `id`, or null.
  std::shared_ptr<const Value> Find(const std::string& id) const {
    absl::MutexLock lock(&mutex_);
    const auto entry = values_.find(id);
    return entry == values_.end() ? nullptr : entry->second;
  }

  // Keeps `value` unless another thread was quicker. Returns the kept one.
  std::shared_ptr<const Value> Keep(const std::string& id, std::shared_ptr<const Value> value) {
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<const Value>& entry = values_[id];
    if (entry == nullptr) entry = std::move(value);
    return entry;
  }

  void Forget(absl::string_view id) {
    absl::MutexLock lock(&mutex_);
    values_.erase(id);
  }

  // Forgets ids that are not in `ids`, the ids of all that exist.
  void Retain(const absl::flat_hash_set<absl::string_view>& ids) {
    absl::MutexLock lock(&mutex_);
    absl::erase_if(values_, [&](const auto& entry) { return !ids.contains(entry.first); });
  }

  size_t size() const {
    absl::MutexLock lock(&mutex_);
    return values_.size();
  }

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<const Value>> values_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_ID_CACHE_H_
