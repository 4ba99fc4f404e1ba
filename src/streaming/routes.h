// The stream that a client's HTTP request names, and its protocol.
#ifndef PLIMSOLL_STREAMING_ROUTES_H_
#define PLIMSOLL_STREAMING_ROUTES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "streaming/tokens.h"

namespace plimsoll::streaming {

struct Route {
  StreamKind kind = StreamKind::kExec;
  std::string token;
};

// "/exec/TOKEN", "/attach/TOKEN", "/portforward/TOKEN", with or without a query.
std::optional<Route> ParseTarget(absl::string_view target);
// The first part of the path for these streams.
absl::string_view PathOf(StreamKind kind);

// Appends the elements of a header's comma-separated list.
void AppendList(absl::string_view value, std::vector<std::string>* list);

// Versions of a command's protocol over SPDY.
struct SpdyCommandProtocol {
  std::string name;
  bool resizes = false;
  bool json_status = false;
};
// The first of `offered` that is supported; v1 if nothing is offered. nullopt: none is.
std::optional<SpdyCommandProtocol> ChooseSpdyCommandProtocol(
    const std::vector<std::string>& offered);
std::vector<std::string> SpdyCommandProtocols();

inline constexpr char kPortForwardProtocol[] = "portforward.k8s.io";
// The subprotocol of a WebSocket whose messages carry a SPDY connection.
inline constexpr char kTunnelProtocol[] = "SPDY/3.1+portforward.k8s.io";

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_ROUTES_H_
