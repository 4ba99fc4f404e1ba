// Requests as text for logs, without secrets.
#ifndef PLIMSOLL_CRI_CALLS_REDACT_H_
#define PLIMSOLL_CRI_CALLS_REDACT_H_

#include <google/protobuf/message.h>

#include <string>

namespace plimsoll::cri {

// The message on one line, with every secret of an AuthConfig, at whatever depth, replaced by
// "<redacted>" (api/README.md, "Secrets"). The user name and the server stay. Values of environment
// variables are replaced as well: pods carry passwords there. Fields unknown to this build are left
// out: they may hold anything.
std::string RedactedText(const google::protobuf::Message& message);

// The subject of a request, in its own words: ids, namespace and name of a new object, an image, a
// path, joined by "/". Empty if it has none. Control characters are escaped; at most 256 bytes.
std::string ObjectOf(const google::protobuf::Message& request);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CALLS_REDACT_H_
