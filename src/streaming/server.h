// The streaming server: HTTP on a loopback address, which clients (kubelet, on behalf of kubectl)
// reach by the URL from Exec, Attach or PortForward.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(auto server, streaming::Server::Start({.address = "127.0.0.1:0",
//                                                                    .backend = backend.get()}));
//   PLIMSOLL_ASSIGN_OR_RETURN(const std::string url, server->Admit(request));
//
// One thread carries all streams; blocking calls (to start and end commands) run in some more.
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
  std::string address = "127.0.0.1:0";  // IP address and port; port 0: any free one
  // PEM files of a certificate chain and its key, for TLS; both empty: no TLS.
  std::string certificate;
  std::string key;
  absl::Duration idle_timeout = absl::Hours(4);         // for a stream without traffic
  absl::Duration creation_timeout = absl::Seconds(30);  // for a SPDY client to open its streams
  absl::Duration leave_timeout = absl::Seconds(10);     // for a client to close, after the stream's
                                                        // end
  // Silence of a client's machine before TCP probes it, three times, each within a third of this.
  // Whole seconds, as in TCP's keepalive.
  absl::Duration silence = absl::Seconds(30);
  // The clock of URLs' tokens.
  std::function<Tokens::SteadyTime()> now = std::chrono::steady_clock::now;
  Backend* backend = nullptr;  // outlives the server
};

// Checks that certificate and key are usable and match. INVALID_ARGUMENT.
absl::Status CheckCertificate(const ServerOptions& options);

class Server {
 public:
  // Connections at once, including those without a request yet; more are closed at once.
  static constexpr int kMaxConnections = 1000;

  // Listens when it returns. UNAVAILABLE if the address can't be listened on, INVALID_ARGUMENT for
  // an invalid address, certificate or key.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);

  // Ends every stream and the commands started for them, and waits for their end.
  virtual ~Server() = default;
  // Stops like the destructor, and Admit fails from now on. May be called again. Delivery of a
  // closed client's input to its targets is called off within a second.
  virtual void Stop() = 0;

  // Takes no more clients, as after Stop, and ends connections whose streams aren't open yet. Open
  // streams go on until they end or Stop ends them. Returns their number; if there are any, `ended`
  // is called once, in the server's thread, when all have ended. Before Stop, once.
  virtual int LeaveOpen(std::function<void()> ended) = 0;

  // A URL that serves the request to the first client that connects, once, within Tokens::kLife.
  // RESOURCE_EXHAUSTED; UNAVAILABLE after Stop or LeaveOpen. Thread-safe.
  virtual absl::StatusOr<std::string> Admit(StreamRequest request) = 0;
  // "http://127.0.0.1:41234", or https.
  virtual const std::string& base_url() const = 0;
  // Number of connections. Thread-safe.
  virtual int connections() const = 0;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_SERVER_H_
