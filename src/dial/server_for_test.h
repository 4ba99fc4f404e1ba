// For tests: an HTTP server on the loopback network whose answers a test writes.
#ifndef PLIMSOLL_DIAL_SERVER_FOR_TEST_H_
#define PLIMSOLL_DIAL_SERVER_FOR_TEST_H_

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/loopback_listener_for_test.h"
#include "base/unique_fd.h"

namespace plimsoll::dial {

inline std::string Answer(int code, const std::string& body, const std::string& headers = "") {
  return absl::StrCat("HTTP/1.1 ", code, " Word\r\nContent-Length: ", body.size(), "\r\n", headers,
                      "\r\n", body);
}

// Serves one connection after the other, in a thread of its own, until its destructor.
class TestServer {
 public:
  // Gets a request, its empty line included, and returns the whole answer. An empty answer leaves
  // the connection open and silent until the client closes it.
  using Serve = std::function<std::string(const std::string& request)>;

  explicit TestServer(Serve serve, bool tls = false)
      : serve_(std::move(serve)), listener_(AF_INET) {
    if (tls) MakeTls();
    thread_ = std::thread([this] { Loop(); });
  }
  ~TestServer() {
    shutdown(listener_.fd(), SHUT_RDWR);
    thread_.join();
  }

  uint16_t port() const { return listener_.port(); }
  std::vector<std::string> requests() const {
    const absl::MutexLock lock(&mutex_);
    return requests_;
  }

 private:
  // A key, and a certificate that nobody has signed.
  void MakeTls() {
    context_.reset(SSL_CTX_new(TLS_server_method()));
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, EVP_sha256());
    EXPECT_EQ(SSL_CTX_use_certificate(context_.get(), certificate), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context_.get(), key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }

  void Loop() {
    while (true) {
      const UniqueFd client(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) return;
      const timeval limit = {.tv_sec = 20, .tv_usec = 0};
      setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
      setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
      if (context_ == nullptr) {
        Talk([&](char* to, size_t size) { return recv(client.get(), to, size, 0); },
             [&](const char* from, size_t size) {
               return send(client.get(), from, size, MSG_NOSIGNAL);
             });
        continue;
      }
      const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context_.get()), &SSL_free);
      SSL_set_fd(tls.get(), client.get());
      if (SSL_accept(tls.get()) != 1) continue;
      Talk([&](char* to,
               size_t size) { return ssize_t{SSL_read(tls.get(), to, static_cast<int>(size))}; },
           [&](const char* from, size_t size) {
             return ssize_t{SSL_write(tls.get(), from, static_cast<int>(size))};
           });
      SSL_shutdown(tls.get());
    }
  }

  void Talk(const std::function<ssize_t(char*, size_t)>& read,
            const std::function<ssize_t(const char*, size_t)>& write) {
    std::string request;
    char bytes[4096];
    while (!absl::StrContains(request, "\r\n\r\n")) {
      const ssize_t count = read(bytes, sizeof(bytes));
      if (count <= 0) return;
      request.append(bytes, static_cast<size_t>(count));
    }
    {
      const absl::MutexLock lock(&mutex_);
      requests_.push_back(request);
    }
    const std::string answer = serve_(request);
    if (answer.empty()) read(bytes, sizeof(bytes));
    for (size_t at = 0; at < answer.size();) {
      const ssize_t count = write(answer.data() + at, answer.size() - at);
      if (count <= 0) return;
      at += static_cast<size_t>(count);
    }
  }

  const Serve serve_;
  const LoopbackListener listener_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{nullptr, &SSL_CTX_free};
  mutable absl::Mutex mutex_;
  std::vector<std::string> requests_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace plimsoll::dial

#endif  // PLIMSOLL_DIAL_SERVER_FOR_TEST_H_
