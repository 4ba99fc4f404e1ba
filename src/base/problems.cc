#include "base/problems.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace plimsoll {

absl::Status AlsoTell(const absl::Status& first, const absl::Status& second) {
  if (first.ok()) return second;
  if (second.ok()) return first;
  absl::Status both(first.code(), absl::StrCat(first.message(), "\n", second.message()));
  first.ForEachPayload([&both](absl::string_view type, const absl::Cord& payload) {
    both.SetPayload(type, payload);
  });
  return both;
}

}  // namespace plimsoll
