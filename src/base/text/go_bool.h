// The booleans of texts that Go programs read: strconv.ParseBool.
#ifndef PLIMSOLL_BASE_TEXT_GO_BOOL_H_
#define PLIMSOLL_BASE_TEXT_GO_BOOL_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace plimsoll {

// nullopt: ParseBool refuses the text.
inline std::optional<bool> GoBool(absl::string_view text) {
  for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_GO_BOOL_H_
