// Commands that do the same with each name that they are given.
#ifndef PLIMSOLL_CLI_EACH_NAME_H_
#define PLIMSOLL_CLI_EACH_NAME_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command.h"

namespace plimsoll::cli {

// Goes on after an error, and gives the first; further ones are printed. Prints each name that it
// is done with, for programs at the end: {"names": [...]}.
absl::StatusOr<int> ForEachName(const CommandContext& context,
                                const std::vector<std::string>& names,
                                const std::function<absl::Status(const std::string&)>& act);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_EACH_NAME_H_
