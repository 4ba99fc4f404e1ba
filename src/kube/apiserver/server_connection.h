// One connection to an API server, for one request after the other.
#ifndef PLIMSOLL_KUBE_APISERVER_SERVER_CONNECTION_H_
#define PLIMSOLL_KUBE_APISERVER_SERVER_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/steady_time.h"
#include "kube/apiserver/credentials.h"
#include "kube/apiserver/response_reader.h"
#include "kube/apiserver/server_address.h"
#include "kube/apiserver/tls_stream.h"

namespace plimsoll::kube {

// The end of a connection's waits before their deadlines.
struct StopSignal {
  int fd = -1;  // readable from then on
  std::function<bool()> is_set;
};

// Used by one thread. Errors are those of TlsStream.
class ServerConnection {
 public:
  // A peer that is silently gone breaks the connection within about a minute. The look-up of a
  // host's name takes as long as the machine's resolver.
  static absl::StatusOr<std::unique_ptr<ServerConnection>> Open(const ApiServerAddress& address,
                                                                const ApiCredentials& credentials,
                                                                const StopSignal& stop,
                                                                SteadyTime deadline);

  // Sends a request and reads the header of the response to it.
  absl::Status Ask(absl::string_view request, uint32_t most_header_bytes, SteadyTime deadline);
  // Some of the response to the last request has come.
  bool answered() const { return response_.has_value() && response_->begun(); }
  int code() const { return response_->code(); }
  std::string retry_after() const { return response_->retry_after(); }
  std::string location() const { return response_->location(); }
  // Appends the part of the body that has come, and waits for one if there is none. False: that was
  // the last.
  absl::StatusOr<bool> ReadBody(SteadyTime deadline, std::string* body);

  // The last response is read whole and the server waits for another request, which these
  // credentials may make.
  bool IsReusable(const ApiCredentials& credentials);

 private:
  ServerConnection(std::unique_ptr<TlsStream> stream, const ApiCredentials& credentials)
      : stream_(std::move(stream)), credentials_(credentials) {}
  // Receives once. True: the response is whole.
  absl::StatusOr<bool> ReadOn(SteadyTime deadline);

  const std::unique_ptr<TlsStream> stream_;
  const ApiCredentials credentials_;  // of the connection
  std::string input_;
  std::optional<ResponseReader> response_;
  bool whole_ = true;  // the last response
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_SERVER_CONNECTION_H_
