// A client of SPDY/3.1, for tests.
#ifndef PLIMSOLL_TESTS_HARNESS_SPDY_CLIENT_H_
#define PLIMSOLL_TESTS_HARNESS_SPDY_CLIENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "harness/websocket_client.h"

struct z_stream_s;

namespace plimsoll::testing {

// Not thread-safe, except that over TCP one thread may send while another reads.
class SpdyClient {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // `protocol` is requested by X-Stream-Protocol-Version; empty: none. An answer other than 101 is
  // FAILED_PRECONDITION with the code and the text.
  static absl::StatusOr<std::unique_ptr<SpdyClient>> Connect(const std::string& url,
                                                             const std::string& protocol);
  // Connects with SPDY in the messages of a WebSocket.
  static absl::StatusOr<std::unique_ptr<SpdyClient>> ConnectByTunnel(const std::string& url);
  ~SpdyClient();

  // Opens a stream and returns its number.
  absl::StatusOr<uint32_t> Open(const Headers& headers);
  absl::Status Send(uint32_t stream, absl::string_view data, bool last = false);
  absl::Status Ping(uint32_t id);
  absl::Status SendBytes(absl::string_view bytes);

  // Reads frames until the condition holds or the server closes. DEADLINE_EXCEEDED when none comes
  // within `limit`.
  absl::Status ReadUntil(const std::function<bool()>& condition,
                         absl::Duration limit = absl::Seconds(30));
  absl::Status ReadToEnd() {
    return ReadUntil([] { return false; });
  }

  // The server's choice.
  const std::string& protocol() const { return protocol_; }
  std::map<uint32_t, std::string> received;  // by stream
  std::set<uint32_t> replied;
  std::set<uint32_t> ended;  // streams on which the server sends no more
  std::set<uint32_t> reset;
  std::set<uint32_t> pings;  // answered
  bool gone_away = false;
  StreamConnection& connection() { return *connection_; }

 private:
  SpdyClient();
  absl::StatusOr<std::string> ReadBytes(absl::Duration limit);
  absl::Status TakeFrame(absl::string_view frame);

  std::unique_ptr<StreamConnection> own_connection_;
  std::unique_ptr<WebSocketClient> tunnel_;
  StreamConnection* connection_ = nullptr;
  const std::unique_ptr<z_stream_s> zlib_;
  std::string protocol_;
  std::string unread_;
  uint32_t next_stream_ = 1;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_SPDY_CLIENT_H_
