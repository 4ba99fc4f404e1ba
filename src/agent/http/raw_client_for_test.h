// For tests: a client that sends any bytes to a unix socket and reads what comes.
#ifndef PLIMSOLL_AGENT_HTTP_RAW_CLIENT_FOR_TEST_H_
#define PLIMSOLL_AGENT_HTTP_RAW_CLIENT_FOR_TEST_H_

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/http/response.h"
#include "base/unique_fd.h"

namespace plimsoll::agent {

struct RawResponse {
  int code = 0;  // 0: no whole response came
  std::string body;
};

// Every wait ends after twenty seconds.
class RawClient {
 public:
  explicit RawClient(const std::string& path)
      : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit = {20, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    connected_ =
        connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }

  bool connected() const { return connected_; }
  int fd() const { return socket_.get(); }

  // False: the server took only a part.
  bool Send(absl::string_view text) {
    while (!text.empty()) {
      const ssize_t count = send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  // Some bytes; empty: the connection has ended, or nothing came.
  std::string Receive() {
    char buffer[4096];
    const ssize_t count = recv(socket_.get(), buffer, sizeof(buffer), 0);
    return std::string(buffer, static_cast<size_t>(count > 0 ? count : 0));
  }
  // The next response.
  RawResponse Read() {
    ResponseReader reader;
    RawResponse response;
    while (true) {
      const auto whole = reader.Take(&unread_);
      if (reader.header_done()) response.body += reader.TakeBody();
      if (!whole.ok()) return {};
      if (*whole) break;
      const std::string more = Receive();
      if (more.empty() && !reader.End().ok()) return {};
      if (more.empty()) break;
      unread_ += more;
    }
    response.code = reader.code();
    return response;
  }
  RawResponse Ask(absl::string_view method, absl::string_view target, absl::string_view body = "") {
    Send(absl::StrCat(method, " ", target, " HTTP/1.1\r\nHost: x\r\nContent-Length: ", body.size(),
                      "\r\n\r\n", body));
    return Read();
  }
  // All that comes until the connection ends, `text` or not. True: `text` is in it.
  bool ReadUntil(absl::string_view text) {
    while (!absl::StrContains(unread_, text)) {
      const std::string more = Receive();
      if (more.empty()) return false;
      unread_ += more;
    }
    return true;
  }
  const std::string& unread() const { return unread_; }
  bool AtEnd() { return Receive().empty(); }
  void Close() { socket_.Reset(); }

 private:
  UniqueFd socket_;
  bool connected_ = false;
  std::string unread_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_HTTP_RAW_CLIENT_FOR_TEST_H_
