// A socket between a runtime and a plugin of the Node Resource Interface: two ttrpc connections,
// one for the calls of each side, in one stream of frames.
//
//   frame:    4 bytes connection id, 4 bytes length, payload; numbers are big-endian. Id 1 carries
//             the plugin's service, 2 the runtime's. A frame is at most 4,096 bytes long with its
//             header, as peers written in Go can't read longer ones. Messages may be cut anywhere.
//   message:  4 bytes length, 4 bytes stream id, 1 byte type, 1 byte flags, protobuf; at most 4
//   MiB.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(auto plugin, Connection::Start(std::move(socket), {.calls =
//   kPluginService, ...})); absl::StatusOr<std::string> answer =
//   plugin->Call("nri.pkg.api.v1alpha1.Plugin", "Configure",
//                                                     request.SerializeAsString(), timeout);
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

namespace plimsoll::nri {

inline constexpr uint32_t kPluginConnection = 1;
inline constexpr uint32_t kRuntimeConnection = 2;
inline constexpr size_t kMaxFrameBytes = 4096;
inline constexpr size_t kMaxMessageBytes = 4 * 1024 * 1024;

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
  // The connection has ended, with the reason; OK: Close was called. Called once, in a thread of
  // the connection's.
  std::function<void(const absl::Status& why)> closed;
  // Calls of the other side that wait for `serve`; more end the connection.
  size_t max_waiting_calls = 64;
};

// Thread-safe. Bounded: holds at most one message being read, `max_waiting_calls` waiting ones and
// what this side sends. A peer that breaks the protocol, or doesn't read what this side sends for
// as long as a call may take, is disconnected.
class Connection {
 public:
  static absl::StatusOr<std::unique_ptr<Connection>> Start(UniqueFd socket,
                                                           ConnectionOptions options);
  // Closes, and waits for the threads. Not to be called in them.
  virtual ~Connection() = default;

  // Calls the other side and waits for the answer. The errors: the other side's own, with its
  // code; DEADLINE_EXCEEDED after `timeout` (a later answer is dropped); UNAVAILABLE: the
  // connection has ended; RESOURCE_EXHAUSTED: the request is longer than a message may be.
  // Whether an error is the other side's or the connection's is told by `answered`, if given.
  virtual absl::StatusOr<std::string> Call(absl::string_view service, absl::string_view method,
                                           absl::string_view payload, absl::Duration timeout,
                                           bool* answered = nullptr) = 0;
  // Ends the connection. Calls under way end with UNAVAILABLE.
  virtual void Close() = 0;
  virtual bool IsClosed() const = 0;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_TTRPC_CONNECTION_H_
