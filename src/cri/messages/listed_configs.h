// The unchanging part of each sandbox or container: its client's message, and its entry in lists.
#ifndef PLIMSOLL_CRI_MESSAGES_LISTED_CONFIGS_H_
#define PLIMSOLL_CRI_MESSAGES_LISTED_CONFIGS_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "cri/messages/message_cache.h"

namespace plimsoll::cri {

// One entry as a List call shows it.
template <typename Config>
struct Listed {
  std::shared_ptr<const Config> config;
  std::string bytes;  // a serialized entry without its state
};

// Adds an entry to a serialized List response: field `list_field` of the response, with `state` as
// the entry's field `state_field`. Building and serializing the messages of a thousand entries
// would take longer than kubelet should wait.
void AddToList(int list_field, int state_field, absl::string_view bytes, int state,
               std::string* response);

// Upper bound of the bytes that AddToList adds.
template <typename Config>
size_t SizeInList(const Listed<Config>& listed) {
  return listed.bytes.size() + 16;
}

// Thread-safe.
template <typename Config>
class ListedConfigs {
 public:
  // See MessageCache.
  std::shared_ptr<const Config> Get(const std::string& id, const std::string& bytes) {
    return configs_.Get(id, bytes);
  }
  // The entry if already made, or null. Quick enough to call under a lock.
  std::shared_ptr<const Listed<Config>> FindListed(const std::string& id) const {
    return listed_.Find(id);
  }

  void Forget(absl::string_view id) {
    configs_.Forget(id);
    listed_.Forget(id);
  }
  // Forgets ids that are not in `ids`, the ids of all that exist.
  void Retain(const absl::flat_hash_set<absl::string_view>& ids) {
    configs_.Retain(ids);
    listed_.Retain(ids);
  }
  // A lower bound of the number of ids kept.
  size_t size() const { return std::max(configs_.size(), listed_.size()); }

 protected:
  // The entry that FindListed returns from now on. `fill(config)` makes its message and is called
  // once.
  template <typename Fill>
  std::shared_ptr<const Listed<Config>> Make(const std::string& id,
                                             const std::string& client_config, const Fill& fill) {
    if (auto known = listed_.Find(id)) return known;
    auto listed = std::make_shared<Listed<Config>>();
    listed->config = configs_.Get(id, client_config);
    auto message = fill(*listed->config);
    message.clear_state();
    listed->bytes = message.SerializeAsString();
    return listed_.Keep(id, std::move(listed));
  }

 private:
  MessageCache<Config> configs_;
  IdCache<Listed<Config>> listed_;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_LISTED_CONFIGS_H_
