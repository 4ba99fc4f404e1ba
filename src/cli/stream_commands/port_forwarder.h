// The client's end of port-forward: local ports, and one WebSocket to the daemon's streaming server
// for each connection.
#ifndef PLIMSOLL_CLI_STREAM_COMMANDS_PORT_FORWARDER_H_
#define PLIMSOLL_CLI_STREAM_COMMANDS_PORT_FORWARDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::cli {

struct PortPair {
  uint16_t local = 0;  // 0: any free port
  uint16_t pod = 0;
};
// Parses "8080:80", "80" (the same on both sides), ":80" (any free local port).
absl::StatusOr<PortPair> ParsePortPair(const std::string& text);

// Listens on 127.0.0.1 at the local ports and prints the addresses. Forwards each connection by a
// URL of its own, from `url_of`, until `ended` is readable.
absl::Status ForwardPorts(const std::vector<PortPair>& ports,
                          const std::function<absl::StatusOr<std::string>(uint16_t port)>& url_of,
                          int ended);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_STREAM_COMMANDS_PORT_FORWARDER_H_
