// The server's end of a SPDY/3.1 connection: bytes in, events and bytes out. Knows no sockets.
//
// Streams are opened by the client alone. Data that arrives is passed on at once, whatever frame it
// is cut into; whoever can't take more stops calling Receive. The windows of section 2.6.8 are
// granted but not demanded: the clients of Kubernetes never send WINDOW_UPDATE, so a server that
// waited for one would wait for ever; the connection below holds back whoever sends too fast.
#ifndef PLIMSOLL_STREAMING_SPDY_SESSION_H_
#define PLIMSOLL_STREAMING_SPDY_SESSION_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "streaming/spdy_frame.h"
#include "streaming/spdy_headers.h"

namespace plimsoll::streaming {

// Used by one thread.
class SpdySession {
 public:
  static constexpr size_t kMaxControlBytes = 64 * 1024;  // of a control frame
  static constexpr size_t kMaxDataBytes = 64 * 1024;     // of a data frame of ours

  // Told by Receive, and may call Send, Reset and GoAway, but not Receive. `id`: of the stream.
  class Handler {
   public:
    virtual ~Handler() = default;
    // OK: the stream is accepted, and the client is told so, then OnReplied is called: before that
    // nothing may be sent on it. Else it is refused.
    virtual absl::Status OnStream(uint32_t id, const SpdyHeaders& headers) = 0;
    virtual void OnReplied(uint32_t /*id*/) {}
    virtual void OnData(uint32_t id, absl::string_view data) = 0;
    virtual void OnEnd(uint32_t id) = 0;    // the client sends no more on it
    virtual void OnReset(uint32_t id) = 0;  // the client has given it up, both ways
  };

  // Both outlive this. What is to be sent is appended to `out`, for the caller to take away.
  SpdySession(Handler* handler, size_t max_streams, std::string* out)
      : handler_(handler), max_streams_(max_streams), out_(out) {}

  // Takes bytes as they come. After an error (INVALID_ARGUMENT, RESOURCE_EXHAUSTED) nothing more is
  // to be read; what `out` then has tells the client.
  absl::Status Receive(absl::string_view bytes);

  // No effect on a stream that isn't open for sending (any more).
  void Send(uint32_t id, absl::string_view data);
  // Nothing more is sent on it.
  void End(uint32_t id);
  void Reset(uint32_t id, SpdyReset reason);
  // No more streams are taken.
  void GoAway();

  size_t streams() const { return streams_.size(); }

 private:
  struct Stream {
    bool receives = true;         // from the client
    bool sends = true;            // to the client
    uint32_t unacknowledged = 0;  // bytes received since the last WINDOW_UPDATE
  };

  absl::Status OnControl(const SpdyFrameHeader& header, absl::string_view payload);
  absl::Status OnSynStream(uint8_t flags, absl::string_view payload);
  absl::Status OnHeaders(uint8_t flags, absl::string_view payload);
  void OnReset(uint32_t id);
  absl::Status BeginData(const SpdyFrameHeader& header);
  void OnData(absl::string_view data);
  void EndOfClient(uint32_t id);
  void Forget(uint32_t id);
  absl::Status Fail(absl::Status status);

  Handler* const handler_;
  const size_t max_streams_;
  std::string* const out_;
  SpdyHeaderReader reader_;
  SpdyHeaderWriter writer_;
  std::map<uint32_t, Stream> streams_;
  uint32_t last_id_ = 0;  // the highest that the client has opened
  bool gone_away_ = false;
  bool failed_ = false;

  // The frame that is being read.
  struct Frame {
    std::string pending;   // its header and, of a control frame, the part that has come
    SpdyFrameHeader data;  // of a data frame
    uint32_t data_left = 0;
  };
  Frame frame_;
  uint32_t unacknowledged_ = 0;  // bytes on any stream since the connection's last WINDOW_UPDATE
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_SPDY_SESSION_H_
