// A client of Kubernetes' channels in WebSocket messages (RFC 6455), for tests.
#ifndef PLIMSOLL_TESTS_HARNESS_WEBSOCKET_CLIENT_H_
#define PLIMSOLL_TESTS_HARNESS_WEBSOCKET_CLIENT_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "harness/stream_connection.h"

namespace plimsoll::testing {

// Not thread-safe, except that over TCP one thread may send while another reads.
class WebSocketClient {
 public:
  // `protocol` empty: none is requested. An answer other than 101 is FAILED_PRECONDITION with the
  // code and the text.
  static absl::StatusOr<std::unique_ptr<WebSocketClient>> Connect(const std::string& url,
                                                                  const std::string& protocol);

  absl::Status Send(int channel, absl::string_view data);
  // From v5.channel.k8s.io on.
  absl::Status CloseChannel(int channel);
  absl::Status SendMessage(absl::string_view message);
  // Sends a raw frame, masked: for frames that no client should send.
  absl::Status SendFrame(int opcode, absl::string_view payload, bool last = true);

  // Reads one message. False: the server has closed.
  absl::StatusOr<bool> ReadMessage(std::string* message, absl::Duration limit = absl::Seconds(30));
  // Reads messages into `received` until the condition holds or the server closes.
  // DEADLINE_EXCEEDED when none comes within `limit`.
  absl::Status ReadUntil(const std::function<bool()>& condition,
                         absl::Duration limit = absl::Seconds(30));
  absl::Status ReadToEnd() {
    return ReadUntil([] { return false; });
  }

  const std::string& protocol() const { return protocol_; }
  std::map<int, std::string> received;  // by channel
  int close_code = 0;                   // the server's; 0: none so far
  StreamConnection& connection() { return *connection_; }

 private:
  explicit WebSocketClient(std::unique_ptr<StreamConnection> connection)
      : connection_(std::move(connection)) {}
  bool base64() const;

  const std::unique_ptr<StreamConnection> connection_;
  std::string protocol_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_WEBSOCKET_CLIENT_H_
