// Commands that users know from other tools.
#ifndef PLIMSOLL_CLI_KNOWN_ELSEWHERE_H_
#define PLIMSOLL_CLI_KNOWN_ELSEWHERE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::cli {

// A hint in place of `plimsoll COMMAND`, which doesn't exist; empty for an unknown word.
std::string InsteadOf(absl::string_view command);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_KNOWN_ELSEWHERE_H_
