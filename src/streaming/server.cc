#include "streaming/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <functional>
#include <list>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "streaming/async.h"
#include "streaming/http_front.h"

namespace plimsoll::streaming {
namespace {

using asio::ip::tcp;

// Starting a command takes some milliseconds, killing one up to some seconds.
constexpr int kThreads = 32;
constexpr size_t kMaxQueued = 1024;
// Pause when no descriptor is left for a further connection.
constexpr absl::Duration kOutOfDescriptors = absl::Milliseconds(100);

// "127.0.0.1:0", "[::1]:8080".
absl::StatusOr<tcp::endpoint> ParseAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  ErrorCode error;
  const auto address = asio::ip::make_address(host, error);
  uint32_t port = 0;
  if (colon == std::string::npos || error || !absl::SimpleAtoi(text.substr(colon + 1), &port) ||
      port > UINT16_MAX) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is no IP address and port, as 127.0.0.1:0 or [::1]:8443 would be"));
  }
  return tcp::endpoint(address, static_cast<uint16_t>(port));
}

std::string UrlOf(const tcp::endpoint& endpoint, bool tls) {
  const std::string host = endpoint.address().to_string();
  return absl::StrCat(tls ? "https://" : "http://", endpoint.address().is_v6() ? "[" : "", host,
                      endpoint.address().is_v6() ? "]:" : ":", endpoint.port());
}

absl::StatusOr<std::unique_ptr<asio::ssl::context>> MakeTls(const ServerOptions& options) {
  if (options.certificate.empty() && options.key.empty()) return nullptr;
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  ErrorCode error;
  context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                           asio::ssl::context::no_tlsv1_1,
                       error);
  context->use_certificate_chain_file(options.certificate, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate ", options.certificate, " can't be used: ", error.message()));
  }
  context->use_private_key_file(options.key, asio::ssl::context::pem, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key ", options.key, " can't be used: ", error.message()));
  }
  return context;
}

// Ends a connection whose client's machine is gone, or has given up on unread data: TCP reports
// neither to this side (tcp(7), TCP_KEEPIDLE). While data to the client is under way the kernel
// sends no probes, and gives up by itself (tcp_retries2).
void WatchMachine(tcp::socket& socket, absl::Duration silence) {
  ErrorCode error;
  socket.set_option(asio::socket_base::keep_alive(true), error);
  const int idle = std::max(1, static_cast<int>(absl::ToInt64Seconds(silence)));
  for (const auto& [option, value] :
       {std::pair(TCP_KEEPIDLE, idle), {TCP_KEEPINTVL, std::max(1, idle / 3)}, {TCP_KEEPCNT, 3}}) {
    setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value));
  }
}

class ServerImpl final : public Server {
 public:
  ServerImpl(ServerOptions options, std::unique_ptr<asio::ssl::context> tls)
      : options_(std::move(options)),
        tls_(std::move(tls)),
        tokens_(options_.now),
        acceptor_(io_),
        retry_(io_),
        connections_(io_),
        pool_(std::make_unique<WorkerPool>(kThreads, kMaxQueued)) {}
  ~ServerImpl() override { Stop(); }

  absl::Status Listen() {
    PLIMSOLL_ASSIGN_OR_RETURN(const tcp::endpoint endpoint, ParseAddress(options_.address));
    ErrorCode error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    if (error) {
      return absl::UnavailableError(absl::StrCat("the streaming server can't listen on ",
                                                 options_.address, ": ", error.message()));
    }
    base_url_ = UrlOf(acceptor_.local_endpoint(error), tls_ != nullptr);
    asio::co_spawn(io_, Accept(), [](const std::exception_ptr&) {});
    thread_ = std::thread([this] { io_.run(); });
    return absl::OkStatus();
  }

  void Stop() override {
    if (!thread_.joinable()) return;
    closed_ = true;
    stopped_ = true;
    asio::post(io_, [this] { asio::co_spawn(io_, EndAll(), [](const std::exception_ptr&) {}); });
    thread_.join();
    // Running work posts to `io_`, which is destroyed after this.
    pool_.reset();
  }

  int LeaveOpen(std::function<void()> ended) override {
    closed_ = true;
    int open = 0;
    absl::Notification looked;
    asio::post(io_, [&] {
      ErrorCode ignored;
      acceptor_.close(ignored);
      retry_.End();
      for (const Connection& each : connections_.open) {
        if (each.streams) {
          ++open;
        } else {
          each.Close();
        }
      }
      if (open > 0) connections_.on_none = std::move(ended);
      looked.Notify();
    });
    looked.WaitForNotification();
    return open;
  }

  absl::StatusOr<std::string> Admit(StreamRequest request) override {
    if (closed_) return absl::UnavailableError("the daemon is stopping; try again later");
    const absl::string_view path = PathOf(request.kind);
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string token, tokens_.Add(std::move(request)));
    return absl::StrCat(base_url_, "/", path, "/", token);
  }
  const std::string& base_url() const override { return base_url_; }
  int connections() const override { return connections_.count; }

 private:
  asio::awaitable<void> Accept() {
    while (!closed_) {
      ErrorCode error;
      tcp::socket socket(io_);
      co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
      if (closed_ || error == asio::error::operation_aborted) break;
      if (error) {
        co_await retry_.For(kOutOfDescriptors);
        continue;
      }
      if (connections_.count >= kMaxConnections) continue;
      socket.set_option(tcp::no_delay(true), error);
      WatchMachine(socket, options_.silence);
      Serve(std::move(socket));
    }
  }

  void Serve(tcp::socket socket) {
    Socket connection =
        tls_ == nullptr ? Socket(std::move(socket)) : Socket(std::move(socket), *tls_);
    ++connections_.count;
    const auto at = connections_.open.insert(connections_.open.end(), {connection.tcp()});
    const FrontContext context = {
        {io_, *pool_, *options_.backend, options_.creation_timeout, closed_, stopped_, at->streams},
        tokens_,
        {options_.idle_timeout, options_.leave_timeout}};
    asio::co_spawn(io_, ServeConnection(context, std::move(connection)),
                   [this, at](const std::exception_ptr&) {
                     connections_.open.erase(at);
                     --connections_.count;
                     connections_.ended.Notify();
                     if (connections_.count == 0 && connections_.on_none) {
                       std::exchange(connections_.on_none, nullptr)();
                     }
                   });
  }

  // Sessions end as if their clients had left; then nothing is left to run.
  asio::awaitable<void> EndAll() {
    ErrorCode ignored;
    acceptor_.close(ignored);
    retry_.End();
    for (const Connection& each : connections_.open) each.Close();
    while (connections_.count > 0) co_await connections_.ended.Wait();
    io_.stop();
  }

  const ServerOptions options_;
  const std::unique_ptr<asio::ssl::context> tls_;
  Tokens tokens_;
  std::string base_url_;
  std::atomic<bool> closed_ = false;   // takes no more clients
  std::atomic<bool> stopped_ = false;  // waits for the end of its streams
  asio::io_context io_{1};
  // Touched by the loop alone.
  tcp::acceptor acceptor_;
  Sleep retry_;
  struct Connection {
    std::weak_ptr<tcp::socket> socket;
    bool streams = false;  // SessionContext::streams
    void Close() const {
      ErrorCode ignored;
      if (const auto there = socket.lock(); there != nullptr) there->close(ignored);
    }
  };
  struct Connections {
    explicit Connections(asio::io_context& io) : ended(io) {}
    std::atomic<int> count = 0;  // for any thread
    std::list<Connection> open;
    Signal ended;                   // one of them
    std::function<void()> on_none;  // of LeaveOpen
  };
  Connections connections_;
  std::unique_ptr<WorkerPool> pool_;
  std::thread thread_;
};

}  // namespace

absl::Status CheckCertificate(const ServerOptions& options) {
  return MakeTls(options).status();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto tls, MakeTls(options));
  auto server = std::make_unique<ServerImpl>(std::move(options), std::move(tls));
  PLIMSOLL_RETURN_IF_ERROR(server->Listen());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace plimsoll::streaming
