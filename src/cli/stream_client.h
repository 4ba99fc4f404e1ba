// This program's end of exec and attach: a WebSocket to the daemon's streaming server.
#ifndef PLIMSOLL_CLI_STREAM_CLIENT_H_
#define PLIMSOLL_CLI_STREAM_CLIENT_H_

#include <string>

#include "absl/status/statusor.h"

namespace plimsoll::cli {

struct CommandStreams {
  bool input = false;
  bool terminal = false;
  // Of ParseDetachKeys: typed at the terminal, they end the stream, with code 0.
  std::string detach_keys;
};

// Carries this process's standard streams to and from the command at `url` until it ends; its exit
// code, 0 for a container that was attached to, 128 + SIGPIPE when nobody reads the output any more
// (SIGPIPE itself is to be ignored). With `terminal` the terminal at standard input is
// made raw meanwhile, and its size is told; a signal that would end this process then ends the
// stream, and the code is 128 + its number. FAILED_PRECONDITION where standard input is none.
absl::StatusOr<int> CarryCommand(const std::string& url, const CommandStreams& streams);

// The exit code in a metav1.Status, or what went wrong.
absl::StatusOr<int> ExitCodeOf(const std::string& status_json);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_STREAM_CLIENT_H_
