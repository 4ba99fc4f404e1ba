// One end of a stream socket, whose waits all have an end.
#ifndef PLIMSOLL_BASE_CONNECTION_H_
#define PLIMSOLL_BASE_CONNECTION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/steady_time.h"
#include "base/unique_fd.h"

namespace plimsoll {

// Used by one thread, RefuseMore excepted. No call raises SIGPIPE. Every call ends with CANCELLED
// once the stop descriptor is readable, and with UNAVAILABLE when the connection is broken.
class Connection {
 public:
  // `stop`: a descriptor that becomes and stays readable when all waits must end, as an eventfd's.
  // It must outlive this object. The socket becomes non-blocking.
  Connection(UniqueFd socket, int stop);

  // Waits until there is something to receive, or the end of the stream. DEADLINE_EXCEEDED.
  absl::Status AwaitInput(SteadyTime deadline) const;
  // Appends what has arrived, at least one byte. OUT_OF_RANGE: the peer sends no more;
  // DEADLINE_EXCEEDED.
  absl::Status Receive(SteadyTime deadline, std::string* buffer);
  // Sends all. DEADLINE_EXCEEDED: the peer took nothing for `patience`.
  absl::Status Send(absl::string_view text, absl::Duration patience);
  // OK after `time`. UNAVAILABLE as soon as the peer has closed its end.
  absl::Status Rest(absl::Duration time) const;
  // Sends the end of the stream, then discards what arrives, for `patience` at most: a close with
  // bytes unread would take the last answer from the peer.
  void Finish(absl::Duration patience);
  // Nothing more can arrive: the peer's next write fails, and what it has written is still there.
  // From any thread.
  void RefuseMore() const;

 private:
  enum class Ready { kSocket, kTime };
  // The socket is ready for `events`, or the deadline has passed.
  absl::StatusOr<Ready> Await(short events, SteadyTime deadline) const;

  const UniqueFd socket_;
  const int stop_;
};

// Connects to a server's unix socket. Errors as of ProbeSocket; UNAVAILABLE where the server is too
// busy to accept.
absl::StatusOr<UniqueFd> ConnectToSocket(const std::string& path);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_CONNECTION_H_
