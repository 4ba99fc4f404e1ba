// This program's end of exec, attach and port-forward: WebSockets to the daemon's streaming server.
#ifndef PLIMSOLL_CLI_STREAM_CLIENT_H_
#define PLIMSOLL_CLI_STREAM_CLIENT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::cli {

struct CommandStreams {
  bool input = false;
  bool terminal = false;
};

// Carries this process's standard streams to and from the command at `url` until it ends; its exit
// code, 0 for a container that was attached to. With `terminal` the terminal at standard input is
// made raw meanwhile, and its size is told. FAILED_PRECONDITION where standard input is none.
absl::StatusOr<int> CarryCommand(const std::string& url, const CommandStreams& streams);

struct PortPair {
  uint16_t local = 0;  // 0: a free one
  uint16_t pod = 0;
};
// "8080:80", "80" (the same on both sides), ":80" (a free one here).
absl::StatusOr<PortPair> ParsePortPair(const std::string& text);

// Listens on 127.0.0.1 at the local ports, prints where, and forwards each connection by a URL of
// its own, which `url_of` gives, until `ended` is readable.
absl::Status ForwardPorts(const std::vector<PortPair>& ports,
                          const std::function<absl::StatusOr<std::string>(uint16_t port)>& url_of,
                          int ended);

// The exit code in a metav1.Status, or what went wrong.
absl::StatusOr<int> ExitCodeOf(const std::string& status_json);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_STREAM_CLIENT_H_
