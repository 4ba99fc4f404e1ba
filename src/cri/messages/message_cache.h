// Clients' configuration messages, parsed once.
#ifndef PLIMSOLL_CRI_MESSAGES_MESSAGE_CACHE_H_
#define PLIMSOLL_CRI_MESSAGES_MESSAGE_CACHE_H_

#include <memory>
#include <string>
#include <utility>

#include "cri/messages/id_cache.h"

namespace plimsoll::cri {

// The engine keeps each client's message as bytes; parsing a thousand of them would be most of a
// List's cost. An id's message never changes, so it is never parsed again. Thread-safe.
template <typename Message>
class MessageCache : public IdCache<Message> {
 public:
  // The message of `id`, parsed from `bytes` on first use. Bytes that don't parse (a damaged store)
  // give an empty message: the object can still be listed and removed.
  std::shared_ptr<const Message> Get(const std::string& id, const std::string& bytes) {
    if (auto known = this->Find(id)) return known;
    // Parsed without the lock, which callers may wait for under locks of their own.
    auto message = std::make_shared<Message>();
    if (!message->ParseFromString(bytes)) message->Clear();
    return this->Keep(id, std::move(message));
  }
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_MESSAGE_CACHE_H_
