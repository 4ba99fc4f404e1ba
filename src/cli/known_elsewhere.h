// Commands that hands know from other tools.
#ifndef PLIMSOLL_CLI_KNOWN_ELSEWHERE_H_
#define PLIMSOLL_CLI_KNOWN_ELSEWHERE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::cli {

// What to do instead of `plimsoll COMMAND`, which there isn't; empty for an unknown word.
std::string InsteadOf(absl::string_view command);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_KNOWN_ELSEWHERE_H_
