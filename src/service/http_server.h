// A small HTTP/1.1 server for documents made on request.
#ifndef PLIMSOLL_SERVICE_HTTP_SERVER_H_
#define PLIMSOLL_SERVICE_HTTP_SERVER_H_

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"

namespace plimsoll {

struct HttpResponse {
  int code = 200;
  std::string body;
};

// GET and HEAD only, one request per connection, no TLS. One thread serves all: a silent connection
// costs only a descriptor. When there are too many, the longest-silent one is closed.
class HttpServer {
 public:
  struct Limits {
    size_t connections = 64;
    absl::Duration patience = absl::Seconds(10);  // from a connection's start to its end
  };
  // `path` is without the query. Called in the server's thread.
  using Handler = std::function<HttpResponse(absl::string_view path)>;
  using Warn = std::function<void(absl::string_view text)>;

  // `address`: "127.0.0.1:9100", "[::1]:9100", port 0 for a free one. UNAVAILABLE if it can't be
  // listened on. `warn` is called, in the server's thread, when the server can't wait for requests;
  // it retries until it can.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address,
                                                           Handler handler, Limits limits,
                                                           Warn warn = nullptr);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }

 private:
  struct Connection {
    UniqueFd fd;
    absl::Time deadline;
    std::string in;
    std::string out;  // non-empty: the unsent rest of the answer
  };

  HttpServer(UniqueFd listener, UniqueFd stop, int port, Handler handler, Limits limits, Warn warn);
  void Rest(int error);
  void Loop();
  void Accept();
  // False when the connection is over.
  bool Serve(Connection& connection) const;
  std::string Answer(absl::string_view request) const;

  const UniqueFd listener_;
  const UniqueFd stop_;  // eventfd
  const int port_;
  const Handler handler_;
  const Limits limits_;
  const Warn warn_;
  std::atomic<bool> stopping_ = false;
  bool has_warned_ = false;            // of the thread alone
  std::list<Connection> connections_;  // oldest first; of the thread alone
  std::thread thread_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_HTTP_SERVER_H_
