// A duration in whole seconds on the command line.
#ifndef PLIMSOLL_CLI_COMMAND_SECONDS_H_
#define PLIMSOLL_CLI_COMMAND_SECONDS_H_

#include <CLI/CLI.hpp>

namespace plimsoll::cli {

// Takes seconds (5) and durations (5s, 1m30s), 0 or more. The result is in seconds, rounded up.
CLI::Validator Seconds();

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_SECONDS_H_
