// Random identifiers.
#ifndef PLIMSOLL_BASE_RANDOM_ID_H_
#define PLIMSOLL_BASE_RANDOM_ID_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll {

// 64 lower-case hexadecimal digits from getrandom(2): a sandbox or container id.
std::string RandomId();

// True for exactly that form. An id from a client becomes a path component only after this.
bool IsId(absl::string_view text);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_RANDOM_ID_H_
