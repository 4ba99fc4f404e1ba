// Commands that do the same for each of several names.
#ifndef PLIMSOLL_CLI_COMMAND_EACH_NAME_H_
#define PLIMSOLL_CLI_COMMAND_EACH_NAME_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command/command.h"

namespace plimsoll::cli {

// Calls `act` for each name, also after an error. Returns the first error and prints further ones.
// Prints each finished name; for programs, prints all at the end: {"names": [...]}.
absl::StatusOr<int> ForEachName(const CommandContext& context,
                                const std::vector<std::string>& names,
                                const std::function<absl::Status(const std::string&)>& act);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_EACH_NAME_H_
