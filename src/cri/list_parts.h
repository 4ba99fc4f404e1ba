// A list that is made part by part, each only when it is asked for.
#ifndef PLIMSOLL_CRI_LIST_PARTS_H_
#define PLIMSOLL_CRI_LIST_PARTS_H_

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

// Fills an empty message with the next part of a list. False, with nothing in it: there is no
// other. Called by one thread at a time.
template <typename Message>
using PartSource = std::function<absl::StatusOr<bool>(Message* part)>;

// A part is full with so many bytes, and so never much larger: gRPC's clients take 4 MiB.
inline constexpr size_t kPartBytes = 1024 * 1024;

// `list` gives what there is (ids, better than the things themselves: it is kept to the end), and
// is asked once, for the first part; `add` puts one of it into a part and gives its size in bytes,
// or 0 where it is left out: it doesn't match, or has gone meanwhile. So whoever reads slowly costs
// no more than the ids and a part.
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

#endif  // PLIMSOLL_CRI_LIST_PARTS_H_
