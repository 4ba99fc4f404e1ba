// Foreign text as messages quote it.
#ifndef PLIMSOLL_BASE_TEXT_QUOTED_H_
#define PLIMSOLL_BASE_TEXT_QUOTED_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll {

// The text if it has at most 80 bytes; else its start, cut before a character, and "...".
std::string Shorten(absl::string_view text);

// The shortened text, Printable and in quotes.
std::string Quoted(absl::string_view text);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_TEXT_QUOTED_H_
