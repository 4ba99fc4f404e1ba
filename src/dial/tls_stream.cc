#include "dial/tls_stream.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "dial/certificates.h"

namespace plimsoll::dial {
namespace {

// A record of TLS has no more (RFC 8446, section 5.1).
constexpr size_t kRecordBytes = 16 * 1024;

using TlsContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Tls = std::unique_ptr<SSL, decltype(&SSL_free)>;

absl::Status TlsFailed() {
  return absl::UnavailableError(absl::StrCat("TLS: ", TlsReason()));
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

// OpenSSL reads and writes memory; the bytes go through the stream below, as OpenSSL's own writes
// to a socket would raise SIGPIPE.
class TlsStream : public Stream {
 public:
  TlsStream(std::unique_ptr<Stream> below, Tls tls)
      : below_(std::move(below)), tls_(std::move(tls)) {}

  absl::Status Shake() {
    return Do([this] { return SSL_do_handshake(tls_.get()); }).status();
  }

  std::string WhyNotBelieved() const {
    const long verdict = SSL_get_verify_result(tls_.get());
    return verdict == X509_V_OK ? "" : X509_verify_cert_error_string(verdict);
  }

  absl::Status Send(absl::string_view text) override {
    if (text.empty()) return absl::OkStatus();
    return Do([&] { return SSL_write(tls_.get(), text.data(), static_cast<int>(text.size())); })
        .status();
  }

  absl::Status Receive(std::string* buffer) override {
    char bytes[kRecordBytes];
    const absl::StatusOr<int> count =
        Do([&] { return SSL_read(tls_.get(), bytes, sizeof(bytes)); });
    if (count.ok()) buffer->append(bytes, static_cast<size_t>(*count));
    return count.status();
  }

  absl::Status End() override {
    SSL_shutdown(tls_.get());
    return Flush();
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

absl::StatusOr<std::unique_ptr<Stream>> Over(std::unique_ptr<Stream> below, Tls tls) {
  BIO* const read = BIO_new(BIO_s_mem());
  BIO* const write = BIO_new(BIO_s_mem());
  if (tls == nullptr || read == nullptr || write == nullptr) {
    BIO_free(read);
    BIO_free(write);
    return absl::ResourceExhaustedError(absl::StrCat("TLS: ", TlsReason()));
  }
  SSL_set_bio(tls.get(), read, write);
  auto stream = std::make_unique<TlsStream>(std::move(below), std::move(tls));
  const absl::Status shaken = stream->Shake();
  // The end of the stream in the middle of a handshake.
  if (absl::IsOutOfRange(shaken)) return absl::UnavailableError("TLS: the connection was closed");
  if (!shaken.ok() && !stream->WhyNotBelieved().empty()) {
    return absl::UnavailableError(
        absl::StrCat("TLS: the server's certificate: ", stream->WhyNotBelieved()));
  }
  PLIMSOLL_RETURN_IF_ERROR(shaken);
  return stream;
}

Tls NewTls(SSL_CTX* context) {
  return Tls(context == nullptr ? nullptr : SSL_new(context), &SSL_free);
}

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

absl::Status UseIdentity(SSL_CTX* context, const TlsIdentity& identity) {
  if (UseCertificate(context, identity.certificate) && UseKey(context, identity.key)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "TLS: no PEM certificate with its PEM key, which must have no password");
}

absl::Status SetTrust(SSL_CTX* context, const TlsTrust& trust) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  // An authority that is named is trusted, whether or not another one signed it.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_default_verify_paths(context);
  for (const std::string& authority : trust.authorities) {
    if (AddAuthorities(context, authority) > 0) continue;
    return absl::InvalidArgumentError("TLS: a file of certificate authorities has no certificate");
  }
  if (trust.identities.empty()) return absl::OkStatus();
  return UseIdentity(context, trust.identities.front());
}

template <typename Write>
std::string InPem(const Write& write) {
  const Bio bio(BIO_new(BIO_s_mem()), &BIO_free);
  char* text = nullptr;
  if (bio == nullptr || write(bio.get()) != 1) return "";
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(size));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> ClientOverTls(std::unique_ptr<Stream> below,
                                                      const std::string& host) {
  Tls tls = NewTls(ContextOfAll());
  if (tls != nullptr) {
    SSL_set_connect_state(tls.get());
    if (!IsAddress(host)) SSL_set_tlsext_host_name(tls.get(), host.c_str());
  }
  return Over(std::move(below), std::move(tls));
}

absl::StatusOr<std::unique_ptr<Stream>> ClientOverTls(std::unique_ptr<Stream> below,
                                                      const std::string& host,
                                                      const TlsTrust& trust) {
  const TlsContext context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (context != nullptr) PLIMSOLL_RETURN_IF_ERROR(SetTrust(context.get(), trust));
  Tls tls = NewTls(context.get());
  if (tls != nullptr) {
    SSL_set_connect_state(tls.get());
    if (!ExpectServer(tls.get(), host)) return TlsFailed();
  }
  return Over(std::move(below), std::move(tls));
}

absl::StatusOr<std::unique_ptr<Stream>> ServerOverTls(std::unique_ptr<Stream> below,
                                                      const TlsIdentity& identity) {
  const TlsContext context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (context != nullptr) {
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    PLIMSOLL_RETURN_IF_ERROR(UseIdentity(context.get(), identity));
  }
  Tls tls = NewTls(context.get());
  if (tls != nullptr) SSL_set_accept_state(tls.get());
  return Over(std::move(below), std::move(tls));
}

absl::StatusOr<TlsIdentity> MakeLoopbackIdentity() {
  constexpr long kSecondsOfADay = 24 * 60 * 60;
  const Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const Certificate made(X509_new(), &X509_free);
  if (key == nullptr || made == nullptr) return TlsFailed();
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -kSecondsOfADay);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), kSecondsOfADay);
  X509_set_pubkey(made.get(), key.get());
  // Go wants a name of the issuer that is the subject's, and an authority's mark.
  X509_NAME* const name = X509_get_subject_name(made.get());
  const auto* const words = reinterpret_cast<const unsigned char*>("plimsolld");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, words, -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  for (const auto& [id, value] : {std::pair(NID_subject_alt_name, "IP:127.0.0.1"),
                                  std::pair(NID_basic_constraints, "critical,CA:TRUE")}) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
    const bool added = extension != nullptr && X509_add_ext(made.get(), extension, -1) == 1;
    X509_EXTENSION_free(extension);
    if (!added) return TlsFailed();
  }
  if (X509_sign(made.get(), key.get(), EVP_sha256()) == 0) return TlsFailed();
  TlsIdentity identity;
  identity.certificate = InPem([&](BIO* bio) { return PEM_write_bio_X509(bio, made.get()); });
  identity.key = InPem([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return identity;
}

}  // namespace plimsoll::dial
