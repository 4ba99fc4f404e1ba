// For tests: an HTTPS server on the loopback network whose answers a test writes, byte by byte.
#ifndef PLIMSOLL_KUBE_APISERVER_HTTPS_SERVER_FOR_TEST_H_
#define PLIMSOLL_KUBE_APISERVER_HTTPS_SERVER_FOR_TEST_H_

#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <functional>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/loopback_listener_for_test.h"
#include "base/unique_fd.h"
#include "kube/apiserver/certificates_for_test.h"

namespace plimsoll::kube {

// A whole answer. `fields`: "Retry-After: 1\r\n".
inline std::string TestAnswer(int code, const std::string& body, const std::string& fields = "") {
  return absl::StrCat("HTTP/1.1 ", code, " Word\r\nContent-Length: ", body.size(), "\r\n", fields,
                      "\r\n", body);
}
inline std::string TestAnswer(int code, const nlohmann::json& body,
                              const std::string& fields = "") {
  return TestAnswer(code, body.dump(), fields);
}
// A v1 Status object.
inline nlohmann::json TestFailure(int code, const std::string& reason, const std::string& message) {
  return {{"kind", "Status"},
          {"status", "Failure"},
          {"code", code},
          {"reason", reason},
          {"message", message}};
}
inline constexpr char kTestChunksHead[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
inline constexpr char kTestLastChunk[] = "0\r\n\r\n";
inline std::string TestChunk(absl::string_view text) {
  return absl::StrCat(absl::Hex(text.size()), "\r\n", text, "\r\n");
}

// Serves each connection in a thread of its own, until its destructor.
class HttpsTestServer {
 public:
  // One connection, for the function that serves it.
  class Peer {
   public:
    // False: the client has left, or the server ends.
    bool Send(absl::string_view bytes) {
      while (!bytes.empty()) {
        const int count = SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()));
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<size_t>(count));
      }
      return true;
    }
    // Waits until the client has closed the connection, or the server ends.
    void AwaitEnd() {
      char bytes[1024];
      while (SSL_read(tls_, bytes, sizeof(bytes)) > 0) {
      }
    }

   private:
    friend class HttpsTestServer;
    SSL* tls_ = nullptr;
  };
  // Gets a request with its body. False: the connection is closed.
  using Serve = std::function<bool(Peer& peer, const std::string& request)>;

  HttpsTestServer(const TestIdentity& identity, Serve serve,
                  const std::string& client_authority = "")
      : serve_(std::move(serve)), listener_(AF_INET) {
    Become(identity, client_authority);
    thread_ = std::thread([this] { Accept(); });
  }
  ~HttpsTestServer() {
    shutdown(listener_.fd(), SHUT_RDWR);
    thread_.join();
    CloseAll();
    std::list<std::thread> threads;
    {
      const absl::MutexLock lock(&mutex_);
      threads.swap(threads_);
    }
    for (std::thread& each : threads) each.join();
  }

  uint16_t port() const { return listener_.port(); }
  std::vector<std::string> requests() const {
    const absl::MutexLock lock(&mutex_);
    return requests_;
  }
  int connections() const {
    const absl::MutexLock lock(&mutex_);
    return static_cast<int>(threads_.size());
  }

  // Shows this certificate to later clients, and asks them for one that the authority has signed.
  void Become(const TestIdentity& identity, const std::string& client_authority = "") {
    const absl::MutexLock lock(&mutex_);
    context_.reset(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
    const auto bio = [](const std::string& text) {
      return std::unique_ptr<BIO, decltype(&BIO_free)>(
          BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
    };
    X509* const certificate =
        PEM_read_bio_X509(bio(identity.certificate).get(), nullptr, nullptr, nullptr);
    EVP_PKEY* const key =
        PEM_read_bio_PrivateKey(bio(identity.key).get(), nullptr, nullptr, nullptr);
    EXPECT_EQ(SSL_CTX_use_certificate(context_.get(), certificate), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context_.get(), key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
    if (client_authority.empty()) return;
    X509* const authority =
        PEM_read_bio_X509(bio(client_authority).get(), nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), authority);
    X509_free(authority);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  void SpeakAtMost(int tls_version) {
    const absl::MutexLock lock(&mutex_);
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_max_proto_version(context_.get(), tls_version);
  }

  // After the handshake, reads nothing until the server ends.
  void StopReading() {
    const absl::MutexLock lock(&mutex_);
    reads_ = false;
  }
  // Answers so after the handshake, reads nothing, and closes.
  void AnswerUnread(const std::string& answer) {
    const absl::MutexLock lock(&mutex_);
    unread_answer_ = answer;
  }

  // Ends all connections of now.
  void CloseAll() {
    const absl::MutexLock lock(&mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }

 private:
  void Accept() {
    while (true) {
      UniqueFd client(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) return;
      const timeval limit = {.tv_sec = 30, .tv_usec = 0};
      setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
      setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
      const absl::MutexLock lock(&mutex_);
      open_.push_back(client.get());
      threads_.emplace_back(
          [this, fd = client.Release(), context = context_] { Talk(fd, context.get()); });
    }
  }

  void Talk(int fd, SSL_CTX* context) {
    // OpenSSL's writes to a socket that the client has closed; the client's own must not raise it.
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    {
      const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context), &SSL_free);
      SSL_set_fd(tls.get(), fd);
      Peer peer;
      peer.tls_ = tls.get();
      std::string request;
      if (SSL_accept(tls.get()) == 1) {
        while (MayRead(peer, fd) && ReadRequest(tls.get(), &request) && serve_(peer, request)) {
        }
        SSL_shutdown(tls.get());
      }
    }
    const absl::MutexLock lock(&mutex_);
    open_.remove(fd);
    close(fd);
  }

  bool MayRead(Peer& peer, int fd) {
    std::string answer;
    {
      const absl::MutexLock lock(&mutex_);
      if (reads_ && unread_answer_.empty()) return true;
      answer = unread_answer_;
    }
    if (!answer.empty()) {
      peer.Send(answer);
      return false;
    }
    pollfd look = {fd, 0, 0};  // the end alone
    poll(&look, 1, 60'000);
    return false;
  }

  bool ReadRequest(SSL* tls, std::string* request) {
    request->clear();
    char bytes[16 * 1024];
    size_t wanted = std::string::npos;
    while (request->size() < wanted) {
      const int count = SSL_read(tls, bytes, sizeof(bytes));
      if (count <= 0) return false;
      request->append(bytes, static_cast<size_t>(count));
      const size_t head = request->find("\r\n\r\n");
      if (head == std::string::npos) continue;
      wanted = head + 4;
      const std::string kLength = "\r\nContent-Length: ";
      const size_t at = request->find(kLength);
      size_t length = 0;
      if (at < head &&
          absl::SimpleAtoi(request->substr(at + kLength.size(),
                                           request->find("\r\n", at + 2) - at - kLength.size()),
                           &length)) {
        wanted += length;
      }
    }
    const absl::MutexLock lock(&mutex_);
    requests_.push_back(*request);
    return true;
  }

  const Serve serve_;
  const LoopbackListener listener_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<SSL_CTX> context_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> requests_ ABSL_GUARDED_BY(mutex_);
  std::list<int> open_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  bool reads_ ABSL_GUARDED_BY(mutex_) = true;
  std::string unread_answer_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_HTTPS_SERVER_FOR_TEST_H_
