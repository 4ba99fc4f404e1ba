#include "dial/stream.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::dial {
namespace {

constexpr size_t kReceiveBytes = 4096;

absl::Status BrokenBy(int error) {
  return absl::UnavailableError(absl::StrCat("the connection broke: ", strerror(error)));
}

class PlainStream : public Stream {
 public:
  PlainStream(UniqueFd fd, Until until) : fd_(std::move(fd)), until_(std::move(until)) {}

  absl::Status Send(absl::string_view text) override {
    while (!text.empty()) {
      PLIMSOLL_RETURN_IF_ERROR(AwaitSocket(fd_.get(), POLLOUT, until_));
      const ssize_t count = send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN && errno != EINTR) return BrokenBy(errno);
      text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    }
    return absl::OkStatus();
  }

  absl::Status Receive(std::string* buffer) override {
    while (true) {
      PLIMSOLL_RETURN_IF_ERROR(AwaitSocket(fd_.get(), POLLIN, until_));
      const size_t before = buffer->size();
      buffer->resize(before + kReceiveBytes);
      const ssize_t count = recv(fd_.get(), buffer->data() + before, kReceiveBytes, 0);
      const int error = errno;
      buffer->resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
      if (count > 0) return absl::OkStatus();
      if (count == 0) return absl::OutOfRangeError("the connection was closed");
      if (error != EAGAIN && error != EINTR) return BrokenBy(error);
    }
  }

 private:
  const UniqueFd fd_;
  const Until until_;
};

using TlsContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Tls = std::unique_ptr<SSL, decltype(&SSL_free)>;

// The oldest error of this thread's in OpenSSL, whose list is empty then.
std::string TlsWords() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "the connection was closed" : reason;
}

absl::Status TlsFailed() {
  return absl::UnavailableError(absl::StrCat("TLS: ", TlsWords()));
}

// One for the process: making it reads configuration files and tables.
SSL_CTX* ContextOfAll() {
  static const TlsContext context = [] {
    TlsContext made(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    if (made == nullptr) return made;
    SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(made.get(), SSL_VERIFY_NONE, nullptr);
    return made;
  }();
  return context.get();
}

bool IsAddress(const std::string& host) {
  in6_addr ignored;
  return inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

// OpenSSL reads and writes memory; the bytes go through the stream below, as OpenSSL's own writes
// to a socket would raise SIGPIPE.
class TlsStream : public Stream {
 public:
  TlsStream(std::unique_ptr<Stream> below, Tls tls)
      : below_(std::move(below)), tls_(std::move(tls)) {}

  absl::Status Shake() {
    return Do([this] { return SSL_connect(tls_.get()); }).status();
  }

  absl::Status Send(absl::string_view text) override {
    if (text.empty()) return absl::OkStatus();
    return Do([&] { return SSL_write(tls_.get(), text.data(), static_cast<int>(text.size())); })
        .status();
  }

  absl::Status Receive(std::string* buffer) override {
    char bytes[kReceiveBytes];
    const absl::StatusOr<int> count =
        Do([&] { return SSL_read(tls_.get(), bytes, sizeof(bytes)); });
    if (count.ok()) buffer->append(bytes, static_cast<size_t>(*count));
    return count.status();
  }

 private:
  // Repeats `step` until it succeeds, and moves bytes meanwhile. Its result, above 0.
  template <typename Step>
  absl::StatusOr<int> Do(const Step& step) {
    while (true) {
      ERR_clear_error();
      const int result = step();
      const int error = SSL_get_error(tls_.get(), result);
      if (result <= 0 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
        if (error == SSL_ERROR_ZERO_RETURN) return absl::OutOfRangeError("the peer is done");
        return TlsFailed();
      }
      PLIMSOLL_RETURN_IF_ERROR(Flush());
      if (result > 0) return result;
      if (error == SSL_ERROR_WANT_READ) PLIMSOLL_RETURN_IF_ERROR(Fill());
    }
  }

  absl::Status Flush() {
    char* bytes = nullptr;
    BIO* const written = SSL_get_wbio(tls_.get());
    const long size = BIO_get_mem_data(written, &bytes);
    if (size <= 0) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(below_->Send({bytes, static_cast<size_t>(size)}));
    BIO_reset(written);
    return absl::OkStatus();
  }

  absl::Status Fill() {
    std::string bytes;
    PLIMSOLL_RETURN_IF_ERROR(below_->Receive(&bytes));
    BIO_write(SSL_get_rbio(tls_.get()), bytes.data(), static_cast<int>(bytes.size()));
    return absl::OkStatus();
  }

  const std::unique_ptr<Stream> below_;
  const Tls tls_;
};

absl::StatusOr<std::unique_ptr<Stream>> OverTls(std::unique_ptr<Stream> below,
                                                const std::string& host) {
  SSL_CTX* const context = ContextOfAll();
  Tls tls(context == nullptr ? nullptr : SSL_new(context), &SSL_free);
  BIO* const read = BIO_new(BIO_s_mem());
  BIO* const write = BIO_new(BIO_s_mem());
  if (tls == nullptr || read == nullptr || write == nullptr) {
    BIO_free(read);
    BIO_free(write);
    return absl::ResourceExhaustedError(absl::StrCat("TLS: ", TlsWords()));
  }
  SSL_set_bio(tls.get(), read, write);
  if (!IsAddress(host)) SSL_set_tlsext_host_name(tls.get(), host.c_str());
  auto stream = std::make_unique<TlsStream>(std::move(below), std::move(tls));
  const absl::Status shaken = stream->Shake();
  // The end of the stream in the middle of a handshake.
  if (absl::IsOutOfRange(shaken)) return absl::UnavailableError("TLS: the connection was closed");
  PLIMSOLL_RETURN_IF_ERROR(shaken);
  return stream;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> Stream::Open(bool tls, const std::string& host,
                                                     uint16_t port, const Until& until) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, Connect(host, port, until));
  auto plain = std::make_unique<PlainStream>(std::move(fd), until);
  if (!tls) return plain;
  return OverTls(std::move(plain), host);
}

}  // namespace plimsoll::dial
