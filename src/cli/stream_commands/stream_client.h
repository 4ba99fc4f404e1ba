// The client's end of exec and attach: a WebSocket to the daemon's streaming server.
#ifndef PLIMSOLL_CLI_STREAM_COMMANDS_STREAM_CLIENT_H_
#define PLIMSOLL_CLI_STREAM_COMMANDS_STREAM_CLIENT_H_

#include <string>

#include "absl/status/statusor.h"

namespace plimsoll::cli {

struct StreamOptions {
  bool input = false;
  bool terminal = false;
  // A result of ParseDetachKeys. Typed at the terminal, these keys end the stream with code 0.
  std::string detach_keys;
};

// Connects this process's standard streams to the command at `url` until it ends. Returns its exit
// code, or 0 for an attached container, or 128 + SIGPIPE when the output has no reader (SIGPIPE
// itself must be ignored). With `terminal` the terminal at standard input is raw meanwhile, and its
// size is sent. A signal that would end this process then ends the stream, and the code is 128 +
// its number. FAILED_PRECONDITION: standard input is no terminal.
absl::StatusOr<int> CarryCommand(const std::string& url, const StreamOptions& streams);

// The exit code in a metav1.Status, or the error in it.
absl::StatusOr<int> ExitCodeOf(const std::string& status_json);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_STREAM_COMMANDS_STREAM_CLIENT_H_
