// Foreign text made safe for messages and tables.
#ifndef PLIMSOLL_BASE_TEXT_PRINTABLE_H_
#define PLIMSOLL_BASE_TEXT_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll {

// The text with control characters as C writes them ("\n", "\x1b", and "\x9b" for U+009B, which
// terminals obey too), so that it stays on its line and changes no terminal. A byte that is not
// UTF-8 is escaped. All else stays, other UTF-8 and quotes included.
std::string Printable(absl::string_view text);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_PRINTABLE_H_
