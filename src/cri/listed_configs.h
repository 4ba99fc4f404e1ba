// What of each sandbox or container never changes: its client's message, and its entry in lists.
#ifndef PLIMSOLL_CRI_LISTED_CONFIGS_H_
#define PLIMSOLL_CRI_LISTED_CONFIGS_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "cri/message_cache.h"

namespace plimsoll::cri {

// One entry as a List call shows it.
template <typename Config>
struct Listed {
  std::shared_ptr<const Config> config;
  std::string bytes;  // a serialized entry without its state
};

// Adds an entry to a serialized response of a List call: field `list_field` of the response, with
// `state` as the entry's field `state_field`. Making the messages for a thousand entries, and
// serializing them, takes longer than kubelet should wait for it.
void AddToList(int list_field, int state_field, absl::string_view bytes, int state,
               std::string* response);

// What AddToList adds of it, at most.
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
  // The entry if it has been made; else null. Quick enough for whoever holds a lock.
  std::shared_ptr<const Listed<Config>> FindListed(const std::string& id) const {
    return listed_.Find(id);
  }

  void Forget(absl::string_view id) {
    configs_.Forget(id);
    listed_.Forget(id);
  }
  // Forgets what is not among `ids`: all that exist.
  void Retain(const absl::flat_hash_set<absl::string_view>& ids) {
    configs_.Retain(ids);
    listed_.Retain(ids);
  }
  // How many something is kept of, at least.
  size_t size() const { return std::max(configs_.size(), listed_.size()); }

 protected:
  // What FindListed gives from now on. `fill(config)` makes the entry's message; it is asked once.
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

#endif  // PLIMSOLL_CRI_LISTED_CONFIGS_H_
