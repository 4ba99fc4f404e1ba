#include "kube/apiserver/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/connection.h"
#include "base/status.h"
#include "dial/certificates.h"

namespace plimsoll::kube {
namespace {

// The content of one TLS record.
constexpr size_t kPieceBytes = 16 * 1024;

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Tls = std::unique_ptr<SSL, decltype(&SSL_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

absl::Status Show(SSL_CTX* context, const ApiCredentials& credentials) {
  if (!dial::UseCertificate(context, credentials.certificate)) {
    return absl::UnauthenticatedError("credentials: the client certificate is no PEM certificate");
  }
  if (dial::UseKey(context, credentials.key)) return absl::OkStatus();
  return absl::UnauthenticatedError(
      "credentials: the client key is no PEM key without a password, or isn't the certificate's");
}

absl::StatusOr<Context> MakeContext(const ApiCredentials& credentials) {
  Context context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (context == nullptr) return absl::UnavailableError(absl::StrCat("TLS: ", dial::TlsReason()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  // An authority that is named is trusted, whether or not another one signed it.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  if (credentials.authorities.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (dial::AddAuthorities(context.get(), credentials.authorities) == 0) {
    return absl::UnavailableError("TLS: the file of certificate authorities holds no certificate");
  }
  if (!credentials.certificate.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(Show(context.get(), credentials));
  }
  return context;
}

}  // namespace

// OpenSSL reads and writes memory; the bytes go through the connection, whose waits end.
struct TlsStream::State {
  State(Tls made, UniqueFd socket, int stop)
      : tls(std::move(made)), connection(std::move(socket), stop) {}

  // Repeats `step` until it succeeds, and moves bytes meanwhile. Its result, above 0.
  template <typename Step>
  absl::StatusOr<int> Do(SteadyTime deadline, const Step& step) {
    while (true) {
      ERR_clear_error();
      const int result = step();
      const int error = SSL_get_error(tls.get(), result);
      // A farewell is worth sending even so: it shows the peer what is wrong with its certificate.
      const absl::Status flushed = Flush(deadline);
      if (result <= 0 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
        if (error == SSL_ERROR_ZERO_RETURN) return absl::OutOfRangeError("the peer is done");
        return absl::UnavailableError(absl::StrCat("TLS: ", dial::TlsReason()));
      }
      PLIMSOLL_RETURN_IF_ERROR(flushed);
      if (result > 0) return result;
      if (error == SSL_ERROR_WANT_READ) PLIMSOLL_RETURN_IF_ERROR(Fill(deadline));
    }
  }

  absl::Status Flush(SteadyTime deadline) {
    char* bytes = nullptr;
    BIO* const written = SSL_get_wbio(tls.get());
    const long size = BIO_get_mem_data(written, &bytes);
    if (size <= 0) return absl::OkStatus();
    const absl::Status sent =
        connection.Send({bytes, static_cast<size_t>(size)}, TimeUntil(deadline));
    BIO_reset(written);
    return sent;
  }

  absl::Status Fill(SteadyTime deadline) {
    std::string bytes;
    PLIMSOLL_RETURN_IF_ERROR(connection.Receive(deadline, &bytes));
    BIO_write(SSL_get_rbio(tls.get()), bytes.data(), static_cast<int>(bytes.size()));
    return absl::OkStatus();
  }

  Tls tls;
  Connection connection;
};

TlsStream::TlsStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsStream::~TlsStream() = default;

absl::StatusOr<std::unique_ptr<TlsStream>> TlsStream::Open(UniqueFd socket, int stop,
                                                           const std::string& server_name,
                                                           const ApiCredentials& credentials,
                                                           SteadyTime deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Context context, MakeContext(credentials));
  Tls tls(SSL_new(context.get()), &SSL_free);
  Bio read(BIO_new(BIO_s_mem()), &BIO_free);
  Bio write(BIO_new(BIO_s_mem()), &BIO_free);
  if (tls == nullptr || read == nullptr || write == nullptr ||
      !dial::ExpectServer(tls.get(), server_name)) {
    return absl::UnavailableError(absl::StrCat("TLS: ", dial::TlsReason()));
  }
  SSL_set_bio(tls.get(), read.release(), write.release());
  auto state = std::make_unique<State>(std::move(tls), std::move(socket), stop);
  const absl::Status shaken =
      state->Do(deadline, [&] { return SSL_connect(state->tls.get()); }).status();
  if (shaken.ok()) return std::unique_ptr<TlsStream>(new TlsStream(std::move(state)));
  const long verdict = SSL_get_verify_result(state->tls.get());
  if (verdict != X509_V_OK) {
    return absl::UnavailableError(absl::StrCat("TLS: the certificate of \"", server_name,
                                               "\": ", X509_verify_cert_error_string(verdict)));
  }
  // The end of the stream in the middle of a handshake.
  if (absl::IsOutOfRange(shaken)) return absl::UnavailableError("TLS: the connection was closed");
  return shaken;
}

absl::Status TlsStream::Send(absl::string_view text, SteadyTime deadline) {
  while (!text.empty()) {
    const absl::string_view piece = text.substr(0, kPieceBytes);
    PLIMSOLL_RETURN_IF_ERROR(state_
                                 ->Do(deadline,
                                      [&] {
                                        return SSL_write(state_->tls.get(), piece.data(),
                                                         static_cast<int>(piece.size()));
                                      })
                                 .status());
    text.remove_prefix(piece.size());
  }
  return absl::OkStatus();
}

absl::Status TlsStream::Receive(SteadyTime deadline, std::string* buffer) {
  const size_t before = buffer->size();
  buffer->resize(before + kPieceBytes);
  const absl::StatusOr<int> count = state_->Do(deadline, [&] {
    return SSL_read(state_->tls.get(), buffer->data() + before, static_cast<int>(kPieceBytes));
  });
  buffer->resize(before + static_cast<size_t>(count.value_or(0)));
  return count.status();
}

bool TlsStream::IsQuiet() {
  // Session tickets come after the handshake, unasked: they are no answer.
  std::string bytes;
  while (true) {
    const absl::Status status = Receive(SteadyNow(), &bytes);
    if (!status.ok()) return absl::IsDeadlineExceeded(status);
    if (!bytes.empty()) return false;
  }
}

}  // namespace plimsoll::kube
