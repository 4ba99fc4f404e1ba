// A connection that bytes go over: in the clear or in TLS.
#ifndef PLIMSOLL_DIAL_STREAM_H_
#define PLIMSOLL_DIAL_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"
#include "dial/connect.h"

namespace plimsoll::dial {

// Used by one thread. No call raises SIGPIPE. Every wait ends as Until says, with its errors; a
// connection that breaks is UNAVAILABLE.
class Stream {
 public:
  // Connects (errors of Connect). With `tls` it then speaks TLS 1.2 or later, and takes any
  // certificate: a pod's is seldom signed for its address.
  static absl::StatusOr<std::unique_ptr<Stream>> Open(bool tls, const std::string& host,
                                                      uint16_t port, const Until& until);
  // A connected socket that doesn't block.
  static std::unique_ptr<Stream> OverSocket(UniqueFd fd, const Until& until);
  virtual ~Stream() = default;

  // Sends all.
  virtual absl::Status Send(absl::string_view text) = 0;
  // Appends the bytes that have arrived, at least one. OUT_OF_RANGE: the peer sends no more.
  virtual absl::Status Receive(std::string* buffer) = 0;
  // Notifies the peer that no more will be sent, where the form of the connection has words for it.
  virtual absl::Status End() { return absl::OkStatus(); }
};

}  // namespace plimsoll::dial

#endif  // PLIMSOLL_DIAL_STREAM_H_
