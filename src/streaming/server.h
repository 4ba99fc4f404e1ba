// The streaming server: HTTP on a loopback address, to which clients (kubelet, for whoever uses
// kubectl) come with the URL that Exec, Attach or PortForward has answered.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(auto server, streaming::Server::Start({.address = "127.0.0.1:0",
//                                                                    .backend = backend.get()}));
//   PLIMSOLL_ASSIGN_OR_RETURN(const std::string url, server->Admit(request));
//
// One thread carries all streams; what blocks (starting and ending commands) runs in some more.
#ifndef PLIMSOLL_STREAMING_SERVER_H_
#define PLIMSOLL_STREAMING_SERVER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "streaming/backend.h"
#include "streaming/tokens.h"

namespace plimsoll::streaming {

struct ServerOptions {
  std::string address = "127.0.0.1:0";  // IP address and port; port 0: a free one
  // PEM files of a certificate chain and its key, for TLS; both empty: none.
  std::string certificate;
  std::string key;
  absl::Duration idle_timeout = absl::Hours(4);         // of a stream on which nothing moves
  absl::Duration creation_timeout = absl::Seconds(30);  // for a SPDY client to open its streams
  absl::Duration leave_timeout = absl::Seconds(10);     // for a client to close, after the end
  // Of a client's machine, before it is asked whether it still has the connection; it is asked
  // three times, each within a third of that. Whole seconds, as TCP's keepalive has them.
  absl::Duration silence = absl::Seconds(30);
  // Of the tokens in URLs.
  std::function<Tokens::SteadyTime()> now = std::chrono::steady_clock::now;
  Backend* backend = nullptr;  // outlives the server
};

// Whether certificate and key can be used, and with each other. INVALID_ARGUMENT.
absl::Status CheckCertificate(const ServerOptions& options);

class Server {
 public:
  // Connections at once, those that have asked for nothing yet included; more are closed at once.
  static constexpr int kMaxConnections = 1000;

  // Listens when it returns. UNAVAILABLE when the address can't be listened on, INVALID_ARGUMENT
  // for an address, certificate or key that is none.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);

  // Ends every stream, and the commands that were started for them; then waits for that.
  virtual ~Server() = default;
  // As the destructor; Admit fails from now on. Once or more often. Where the targets of a client
  // that has closed are still given its input, that is called off within a second.
  virtual void Stop() = 0;

  // The URL under which the request is streamed to whoever comes first, once, within
  // Tokens::kLife. RESOURCE_EXHAUSTED, UNAVAILABLE after Stop. Thread-safe.
  virtual absl::StatusOr<std::string> Admit(StreamRequest request) = 0;
  // "http://127.0.0.1:41234", or https.
  virtual const std::string& base_url() const = 0;
  // Connections there are. Thread-safe.
  virtual int connections() const = 0;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_SERVER_H_
