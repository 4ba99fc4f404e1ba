// A list made in parts, each only on demand.
#ifndef PLIMSOLL_CRI_CALLS_LIST_PARTS_H_
#define PLIMSOLL_CRI_CALLS_LIST_PARTS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"

namespace plimsoll::cri {

// Fills an empty message with the list's next part. False, leaving it empty: no more parts. Called
// by one thread at a time.
template <typename Message>
using PartSource = std::function<absl::StatusOr<bool>(Message* part)>;

// A part is full at this size, so never much larger: gRPC's clients take 4 MiB.
inline constexpr size_t kPartBytes = 1024 * 1024;

// `list` gives the items; it is asked once, for the first part, and its result kept to the end, so
// ids are better than the things themselves. `add` puts one item into a part and returns its size
// in bytes, or 0 to leave it out (it doesn't match, or is gone). A slow reader thus costs no more
// than the ids and one part.
template <typename Message, typename Item = std::string>
PartSource<Message> InParts(
    std::type_identity_t<std::function<absl::StatusOr<std::vector<Item>>()>> list,
    std::type_identity_t<std::function<absl::StatusOr<size_t>(const Item& item, Message* part)>>
        add) {
  struct State {
    bool listed = false;
    std::vector<Item> items;
    size_t next = 0;
  };
  auto state = std::make_shared<State>();
  return
      [state, list = std::move(list), add = std::move(add)](Message* part) -> absl::StatusOr<bool> {
        if (!state->listed) {
          PLIMSOLL_ASSIGN_OR_RETURN(state->items, list());
          state->listed = true;
        }
        size_t bytes = 0;
        while (state->next < state->items.size() && bytes < kPartBytes) {
          PLIMSOLL_ASSIGN_OR_RETURN(const size_t size, add(state->items[state->next], part));
          ++state->next;
          bytes += size;
        }
        return bytes > 0;
      };
}

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CALLS_LIST_PARTS_H_
