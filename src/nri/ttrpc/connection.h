// A socket between a runtime and a plugin of the Node Resource Interface: two ttrpc connections,
// one for the calls of each side, in one stream of frames.
//
//   frame:    4 bytes connection id, 4 bytes length, payload; numbers are big-endian. Id 1 carries
//             the plugin's service, 2 the runtime's. A frame is at most 4,096 bytes long with its
//             header, as peers written in Go can't read longer ones. Messages may be cut anywhere.
//   message:  4 bytes length, 4 bytes stream id, 1 byte type, 1 byte flags, protobuf of 4 MiB at
//             most.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(auto plugin,
//                             TtrpcConnection::Start(std::move(socket), {.serve = ...}));
//   absl::StatusOr<std::string> answer =
//       plugin->Call("nri.pkg.api.v1alpha1.Plugin", "Configure", request_bytes, timeout);
//
// A peer written in Go ends the connection when more than 256 of our frames wait for its ttrpc:
// messages well below a MiB can't make it do so. Send long lists in parts.
#ifndef PLIMSOLL_NRI_TTRPC_CONNECTION_H_
#define PLIMSOLL_NRI_TTRPC_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "nri/ttrpc/limits.h"

namespace plimsoll::nri {

inline constexpr uint32_t kPluginConnection = 1;
inline constexpr uint32_t kRuntimeConnection = 2;

struct ConnectionOptions {
  // The connection ids for this side's calls and for the other side's.
  uint32_t calls = kPluginConnection;
  uint32_t serves = kRuntimeConnection;
  // The service that this side serves: "nri.pkg.api.v1alpha1.Runtime".
  std::string service;
  // Answers a call of the other side, with the serialized response. Called in one thread of the
  // connection's own, one call at a time, never in the thread that reads: it may itself call the
  // other side. NOT_FOUND-like codes travel as they are; an unknown service or method is
  // UNIMPLEMENTED.
  std::function<absl::StatusOr<std::string>(absl::string_view method, absl::string_view payload)>
      serve;
  // The connection has ended, with the reason; OK: Close was called. Called once, in the thread
  // that serves, after the last call of `serve` has returned.
  std::function<void(const absl::Status& why)> closed;
  // Calls of the other side that wait for `serve`; more end the connection. So do more than 16 MiB
  // of them together.
  size_t max_waiting_calls = 64;
  // For the other side to read an answer of ours.
  absl::Duration answer_timeout = absl::Seconds(10);
};

// Thread-safe, two threads. Bounded: holds at most one message being read for each direction, the
// waiting calls, an answer for each call of this side, and what those callers send; nothing to send
// is queued. Disconnects a peer that doesn't read what this side sends for as long as a call may
// take, and one that breaks the protocol: the reason names the byte of the stream. Mistakes that
// concern one call are answered on its stream, as Go's peers do: an even or reused id, a body that
// can't be read (INVALID_ARGUMENT) or is too long (RESOURCE_EXHAUSTED). Unknown types of messages
// and frames of unknown connections are ignored. An answer to a call that timed out is dropped.
class TtrpcConnection {
 public:
  static absl::StatusOr<std::unique_ptr<TtrpcConnection>> Start(UniqueFd socket,
                                                                ConnectionOptions options);
  // Closes, and waits for the threads. Not to be called in them.
  virtual ~TtrpcConnection() = default;

  // Calls the other side and waits for the answer. The errors: the other side's own, with its
  // code; DEADLINE_EXCEEDED after `timeout` (a later answer is dropped); UNAVAILABLE: the
  // connection has ended; RESOURCE_EXHAUSTED: the request is longer than a message may be. With
  // `answered` true, the error is the other side's: its own, or its answer can't be used.
  virtual absl::StatusOr<std::string> Call(absl::string_view service, absl::string_view method,
                                           absl::string_view payload, absl::Duration timeout,
                                           bool* answered = nullptr) = 0;
  // Ends the connection. Calls under way end with UNAVAILABLE.
  virtual void Close() = 0;
  virtual bool IsClosed() const = 0;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_TTRPC_CONNECTION_H_
