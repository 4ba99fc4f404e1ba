// Objects by id, found by any unambiguous prefix, as every command line of the field allows.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_ID_MAP_H_
#define PLIMSOLL_RUNTIME_OBJECTS_ID_MAP_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace plimsoll::runtime {

// Not thread-safe: the owner guards it.
template <typename T>
class IdMap {
 public:
  // `kind` ("container") is for messages.
  explicit IdMap(const char* kind) : kind_(kind) {}

  void Insert(const std::string& id, std::shared_ptr<T> object) {
    objects_[id] = std::move(object);
  }
  void Erase(const std::string& id) { objects_.erase(id); }

  // The object whose id begins with `prefix`. NOT_FOUND: there is none. INVALID_ARGUMENT: the
  // prefix is empty, or several ids begin so.
  absl::StatusOr<std::shared_ptr<T>> Find(absl::string_view prefix) const {
    if (prefix.empty()) return absl::InvalidArgumentError(absl::StrCat("empty ", kind_, " id"));
    const auto it = objects_.lower_bound(prefix);
    if (it == objects_.end() || !absl::StartsWith(it->first, prefix)) {
      return absl::NotFoundError(absl::StrCat("no ", kind_, " ", prefix));
    }
    const auto next = std::next(it);
    if (it->first != prefix && next != objects_.end() && absl::StartsWith(next->first, prefix)) {
      return absl::InvalidArgumentError(absl::StrCat(
          kind_, " id ", prefix, " is ambiguous: ", it->first, " and ", next->first, " begin so"));
    }
    return it->second;
  }

  std::vector<std::shared_ptr<T>> All() const {
    std::vector<std::shared_ptr<T>> all;
    all.reserve(objects_.size());
    for (const auto& [id, object] : objects_) all.push_back(object);
    return all;
  }

 private:
  const char* kind_;
  absl::btree_map<std::string, std::shared_ptr<T>> objects_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_ID_MAP_H_
