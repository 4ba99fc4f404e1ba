// Text of others in messages and tables.
#ifndef PLIMSOLL_BASE_PRINTABLE_H_
#define PLIMSOLL_BASE_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll {

// The text with control characters as C writes them ("\n", "\x1b", and "\x9b" for U+009B, which
// terminals obey too), so that it stays in its line and changes no terminal. What else there is
// stays, UTF-8 and quotes included; a byte that is no UTF-8 is escaped.
std::string Printable(absl::string_view text);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PRINTABLE_H_
