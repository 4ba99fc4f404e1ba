// TLS over a stream of bytes: with any server, with a trusted server, and as a server.
#ifndef PLIMSOLL_DIAL_TLS_STREAM_H_
#define PLIMSOLL_DIAL_TLS_STREAM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dial/stream.h"

namespace plimsoll::dial {

// A certificate and its private key, in PEM.
struct TlsIdentity {
  std::string certificate;
  std::string key;
};

// The servers that a client believes: those whose certificate is for the name that was dialled, and
// is signed by one of the machine's authorities (SSL_CERT_FILE, SSL_CERT_DIR) or of `authorities`.
struct TlsTrust {
  std::vector<std::string> authorities;  // PEM
  std::vector<TlsIdentity> identities;   // the first is shown to a server that asks for one
};

// Every function shakes hands over `below`, and returns its errors. UNAVAILABLE: the peer speaks no
// TLS 1.2 or later, or isn't believed.

// Takes any certificate.
absl::StatusOr<std::unique_ptr<Stream>> ClientOverTls(std::unique_ptr<Stream> below,
                                                      const std::string& host);
// INVALID_ARGUMENT: `trust` is malformed.
absl::StatusOr<std::unique_ptr<Stream>> ClientOverTls(std::unique_ptr<Stream> below,
                                                      const std::string& host,
                                                      const TlsTrust& trust);
absl::StatusOr<std::unique_ptr<Stream>> ServerOverTls(std::unique_ptr<Stream> below,
                                                      const TlsIdentity& identity);

// A new key with a certificate that it signed itself, for the address 127.0.0.1 and a day.
absl::StatusOr<TlsIdentity> MakeLoopbackIdentity();

}  // namespace plimsoll::dial

#endif  // PLIMSOLL_DIAL_TLS_STREAM_H_
