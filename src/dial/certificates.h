// Certificates and keys in PEM, in contexts of OpenSSL.
#ifndef PLIMSOLL_DIAL_CERTIFICATES_H_
#define PLIMSOLL_DIAL_CERTIFICATES_H_

#include <openssl/ssl.h>

#include <string>

namespace plimsoll::dial {

// The oldest error of this thread in OpenSSL, whose list is empty afterwards.
std::string TlsReason();

bool HasCertificate(const std::string& pem);

// Trusts the certificates of the text, and returns their number.
int AddAuthorities(SSL_CTX* context, const std::string& pem);

// Shows the first certificate of the text to peers, the others as its chain. False: there is none.
bool UseCertificate(SSL_CTX* context, const std::string& pem);

// The key of that certificate. False: another one's, no PEM key, or one with a password.
bool UseKey(SSL_CTX* context, const std::string& pem);

bool IsAddress(const std::string& host);

// Verifies that the server's certificate is for `host`, a name or an address. False: out of memory,
// or a name that no certificate can have.
bool ExpectServer(SSL* tls, const std::string& host);

}  // namespace plimsoll::dial

#endif  // PLIMSOLL_DIAL_CERTIFICATES_H_
