// Clients' configuration messages, parsed once.
#ifndef PLIMSOLL_CRI_MESSAGE_CACHE_H_
#define PLIMSOLL_CRI_MESSAGE_CACHE_H_

#include <memory>
#include <string>
#include <utility>

#include "cri/id_cache.h"

namespace plimsoll::cri {

// The engine keeps each client's message as bytes; parsing a thousand of them for each List would
// cost more than everything else in it. A message belongs to an id for good: it is never read anew.
// Thread-safe.
template <typename Message>
class MessageCache : public IdCache<Message> {
 public:
  // The message of `id`, parsed from `bytes` when it is asked for the first time. Bytes that are no
  // such message (a damaged store) give an empty one: the object can still be listed and removed.
  std::shared_ptr<const Message> Get(const std::string& id, const std::string& bytes) {
    if (auto known = this->Find(id)) return known;
    // Without the lock, which those who have locks of their own may wait for.
    auto message = std::make_shared<Message>();
    if (!message->ParseFromString(bytes)) message->Clear();
    return this->Keep(id, std::move(message));
  }
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGE_CACHE_H_
