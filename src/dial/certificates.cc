#include "dial/certificates.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

namespace plimsoll::dial {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio TextBio(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
}

Certificate NextCertificate(BIO* bio) {
  return Certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr), &X509_free);
}

}  // namespace

std::string TlsReason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "the connection was closed" : reason;
}

bool HasCertificate(const std::string& pem) {
  const Bio bio = TextBio(pem);
  const bool has_one = NextCertificate(bio.get()) != nullptr;
  ERR_clear_error();
  return has_one;
}

int AddAuthorities(SSL_CTX* context, const std::string& pem) {
  const Bio bio = TextBio(pem);
  int count = 0;
  while (const Certificate authority = NextCertificate(bio.get())) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get());
    ++count;
  }
  ERR_clear_error();  // the text's end
  return count;
}

bool UseCertificate(SSL_CTX* context, const std::string& pem) {
  const Bio bio = TextBio(pem);
  const Certificate own = NextCertificate(bio.get());
  const bool is_one = own != nullptr && SSL_CTX_use_certificate(context, own.get()) == 1;
  while (is_one) {
    const Certificate next = NextCertificate(bio.get());
    if (next == nullptr || SSL_CTX_add1_chain_cert(context, next.get()) != 1) break;
  }
  ERR_clear_error();
  return is_one;
}

bool UseKey(SSL_CTX* context, const std::string& pem) {
  const Bio bio = TextBio(pem);
  // OpenSSL would ask for a password at the terminal.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr), &EVP_PKEY_free);
  const bool is_own = key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
                      SSL_CTX_check_private_key(context) == 1;
  ERR_clear_error();
  return is_own;
}

bool IsAddress(const std::string& host) {
  in6_addr ignored;
  return inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

bool ExpectServer(SSL* tls, const std::string& host) {
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(tls);
  if (IsAddress(host)) return X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(wanted, host.data(), host.size()) == 1 &&
         SSL_set_tlsext_host_name(tls, host.c_str()) == 1;
}

}  // namespace plimsoll::dial
