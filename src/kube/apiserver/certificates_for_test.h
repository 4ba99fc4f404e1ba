// For tests: certificates made at run time.
#ifndef PLIMSOLL_KUBE_APISERVER_CERTIFICATES_FOR_TEST_H_
#define PLIMSOLL_KUBE_APISERVER_CERTIFICATES_FOR_TEST_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace plimsoll::kube {

// PEM, both.
struct TestIdentity {
  std::string certificate;
  std::string key;
};

// A certificate authority of a test's own.
class TestAuthority {
 public:
  TestAuthority() : key_(NewKey()), certificate_(New(key_.get(), "authority")) {
    Extend(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
    // All authorities have one name, as those of a cluster that replaces its own: the key's
    // identifier distinguishes them.
    Extend(certificate_.get(), NID_subject_key_identifier, "hash");
    Sign(certificate_.get(), certificate_.get());
  }

  std::string pem() const { return Pem(certificate_.get()); }

  // `names` as OpenSSL writes them: "IP:127.0.0.1,DNS:localhost". `seconds`: how long it is valid
  // from now on.
  TestIdentity Issue(const std::string& names, long seconds = 3600) const {
    const Key key = NewKey();
    const Certificate made = New(key.get(), "server");
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -7200);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), seconds);
    Extend(made.get(), NID_subject_alt_name, names.c_str());
    Extend(made.get(), NID_authority_key_identifier, "keyid", certificate_.get());
    Sign(made.get(), certificate_.get());
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
    PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return {Pem(made.get()), TextOf(bio.get())};
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
  using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

  static Key NewKey() { return Key(EVP_EC_gen("P-256"), &EVP_PKEY_free); }

  static Certificate New(EVP_PKEY* key, const char* name) {
    static long serial = 0;
    Certificate made(X509_new(), &X509_free);
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -7200);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 7200);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    X509_set_pubkey(made.get(), key);
    return made;
  }

  static void Extend(X509* certificate, int kind, const char* value, X509* issuer = nullptr) {
    X509V3_CTX context = {};
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
    EXPECT_NE(extension, nullptr) << value;
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  void Sign(X509* certificate, X509* issuer) const {
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
    EXPECT_GT(X509_sign(certificate, key_.get(), EVP_sha256()), 0);
  }

  static std::string TextOf(BIO* bio) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    return std::string(bytes, static_cast<size_t>(size));
  }

  static std::string Pem(X509* certificate) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
    PEM_write_bio_X509(bio.get(), certificate);
    return TextOf(bio.get());
  }

  const Key key_;
  const Certificate certificate_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_CERTIFICATES_FOR_TEST_H_
