// Clients' configuration messages, parsed once.
#ifndef PLIMSOLL_CRI_MESSAGE_CACHE_H_
#define PLIMSOLL_CRI_MESSAGE_CACHE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::cri {

// The engine keeps each client's message as bytes; parsing a thousand of them for each List would
// cost more than everything else in it. A message belongs to an id for good: it is never read anew.
// Thread-safe.
template <typename Message>
class MessageCache {
 public:
  // The message of `id`, parsed from `bytes` when it is asked for the first time. Bytes that are no
  // such message (a damaged store) give an empty one: the object can still be listed and removed.
  std::shared_ptr<const Message> Get(const std::string& id, const std::string& bytes) {
    if (auto known = Find(id)) return known;
    // Without the lock, which those who have locks of their own may wait for.
    auto message = std::make_shared<Message>();
    if (!message->ParseFromString(bytes)) message->Clear();
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<const Message>& entry = messages_[id];
    if (entry == nullptr) entry = std::move(message);  // else another was quicker
    return entry;
  }

  // The message of `id`, if it has been parsed; else null. Quick enough for whoever holds a lock.
  std::shared_ptr<const Message> Find(const std::string& id) const {
    absl::MutexLock lock(&mutex_);
    const auto entry = messages_.find(id);
    return entry == messages_.end() ? nullptr : entry->second;
  }

  void Forget(absl::string_view id) {
    absl::MutexLock lock(&mutex_);
    messages_.erase(id);
  }

  // Forgets what is not among `ids`: all that exist.
  void Retain(const absl::flat_hash_set<absl::string_view>& ids) {
    absl::MutexLock lock(&mutex_);
    absl::erase_if(messages_, [&](const auto& entry) { return !ids.contains(entry.first); });
  }

  size_t size() const {
    absl::MutexLock lock(&mutex_);
    return messages_.size();
  }

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<const Message>> messages_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGE_CACHE_H_
