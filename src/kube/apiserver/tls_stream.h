// A TLS connection to a server whose name and certificate are verified.
#ifndef PLIMSOLL_KUBE_APISERVER_TLS_STREAM_H_
#define PLIMSOLL_KUBE_APISERVER_TLS_STREAM_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/steady_time.h"
#include "base/unique_fd.h"
#include "kube/apiserver/credentials.h"

namespace plimsoll::kube {

// Used by one thread. Every wait ends with CANCELLED once the stop descriptor is readable (see
// base/connection.h), and with DEADLINE_EXCEEDED; a connection that breaks is UNAVAILABLE.
class TlsStream {
 public:
  // Speaks TLS 1.2 or later over the connected socket. The server's certificate must be signed by
  // one of the authorities and be for `server_name`, a host's name or an address. UNAVAILABLE says
  // which of this it is not; UNAUTHENTICATED: the client's certificate or key is none.
  static absl::StatusOr<std::unique_ptr<TlsStream>> Open(UniqueFd socket, int stop,
                                                         const std::string& server_name,
                                                         const ApiCredentials& credentials,
                                                         SteadyTime deadline);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Sends all.
  absl::Status Send(absl::string_view text, SteadyTime deadline);
  // Appends the bytes that have arrived, at least one. OUT_OF_RANGE: the peer sends no more.
  absl::Status Receive(SteadyTime deadline, std::string* buffer);
  // Nothing has come, nor the end: the peer waits for a request.
  bool IsQuiet();

 private:
  struct State;
  explicit TlsStream(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_TLS_STREAM_H_
