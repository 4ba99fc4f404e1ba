// Requests as text for logs, without secrets.
#ifndef PLIMSOLL_CRI_REDACT_H_
#define PLIMSOLL_CRI_REDACT_H_

#include <google/protobuf/message.h>

#include <string>

namespace plimsoll::cri {

// The message on one line, with every secret of an AuthConfig, at whatever depth, replaced by
// "<redacted>" (api/README.md, "Secrets"). The user name and the server stay. Values of
// environment variables are replaced as well: pods carry passwords there. Fields unknown to this
// build are left out, since nobody can say what they hold.
std::string RedactedText(const google::protobuf::Message& message);

// What a request is about, as it names it: ids, the namespace and
// name of what is to be made, an image, a path, with "/" between. Empty where it is about nothing
// in particular. Control characters are escaped; at most 256 bytes.
std::string ObjectOf(const google::protobuf::Message& request);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_REDACT_H_
