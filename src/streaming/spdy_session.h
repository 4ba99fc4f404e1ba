// The server side of a SPDY/3.1 connection: bytes in, events and bytes out. Knows no sockets.
//
// Only the client opens streams. Data is passed on as it arrives, however it is cut into frames; a
// caller that can't take more stops calling Receive. The windows of section 2.6.8 are granted but
// not demanded: Kubernetes' clients never send WINDOW_UPDATE, so a server that waited for one would
// wait for ever; the connection below holds back a fast sender.
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
  static constexpr size_t kMaxControlBytes = 64 * 1024;  // in a control frame
  static constexpr size_t kMaxDataBytes = 64 * 1024;     // in a data frame of this side

  // Called by Receive. May call Send, Reset and GoAway, but not Receive. `id`: the stream's.
  class Handler {
   public:
    virtual ~Handler() = default;
    // OK accepts the stream; the client is notified, then OnReplied is called. Send nothing on it
    // before that. An error refuses it.
    virtual absl::Status OnStream(uint32_t id, const SpdyHeaders& headers) = 0;
    virtual void OnReplied(uint32_t /*id*/) {}
    virtual void OnData(uint32_t id, absl::string_view data) = 0;
    virtual void OnEnd(uint32_t id) = 0;    // the client sends no more on it
    virtual void OnReset(uint32_t id) = 0;  // the client has given the stream up, both ways
  };

  // Both outlive this. Bytes to send are appended to `out`, for the caller to take away.
  SpdySession(Handler* handler, size_t max_streams, std::string* out)
      : handler_(handler), max_streams_(max_streams), out_(out) {}

  // Takes bytes in any pieces. After an error (INVALID_ARGUMENT, RESOURCE_EXHAUSTED) read no more;
  // the rest of `out` informs the client.
  absl::Status Receive(absl::string_view bytes);

  // No effect on a stream that isn't open for sending.
  void Send(uint32_t id, absl::string_view data);
  // Ends sending on the stream.
  void End(uint32_t id);
  void Reset(uint32_t id, SpdyReset reason);
  // Accepts no more streams.
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
  uint32_t last_id_ = 0;  // the highest id the client has opened
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
