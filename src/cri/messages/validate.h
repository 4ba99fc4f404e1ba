// Checks of single values in requests. Every error names the field, its value and the valid values,
// and is INVALID_ARGUMENT unless stated otherwise.
#ifndef PLIMSOLL_CRI_MESSAGES_VALIDATE_H_
#define PLIMSOLL_CRI_MESSAGES_VALIDATE_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plimsoll::cri {

// "<field> is "<value>": <rule>". The value is escaped and cut at 128 bytes.
absl::Status Invalid(absl::string_view field, absl::string_view value, absl::string_view rule);
absl::Status Invalid(absl::string_view field, int64_t value, absl::string_view rule);

// An id in a request: only its presence is checked; the engine knows whether it exists.
absl::Status CheckId(absl::string_view field, absl::string_view value);

// A name of Kubernetes' or ours: 1 to 253 bytes, no control character, no white space, no "/".
absl::Status CheckName(absl::string_view field, absl::string_view value);

// One word for a line of a file (resolv.conf): not empty, no control character or white space.
absl::Status CheckWord(absl::string_view field, absl::string_view value);

// One word of a command: execve(2) would cut it at a NUL byte.
absl::Status CheckArgument(absl::string_view field, absl::string_view value);

// A command: at least a program's name; no word with a NUL byte or longer than the kernel takes
// (MAX_ARG_STRLEN); at most 1 MiB altogether.
absl::Status CheckCommand(absl::string_view field,
                          const google::protobuf::RepeatedPtrField<std::string>& words);

// A host name as of RFC 1123 and sethostname(2), or none: at most 64 bytes, even for the full name
// of a pod with setHostnameAsFQDN.
absl::Status CheckHostname(absl::string_view field, absl::string_view value);

// Begins with "/", no ".." component, no NUL, at most 4095 bytes.
absl::Status CheckAbsolutePath(absl::string_view field, absl::string_view value);

// Not empty, doesn't begin with "/", no ".." component, no NUL, at most 4095 bytes.
absl::Status CheckRelativePath(absl::string_view field, absl::string_view value);

// A capability of Linux, "NET_ADMIN" or "CAP_NET_ADMIN", or "ALL", in upper or lower case.
absl::Status CheckCapability(absl::string_view field, absl::string_view value);

// UNIMPLEMENTED if a Windows-only field is present: it can't be obeyed, and its sender mistakes
// this machine. `linux_field` is the one to send instead.
absl::Status CheckNoWindows(absl::string_view field, bool present, absl::string_view linux_field);

// A duration in whole seconds, cut at ten years, which is somebody's mistake and would overflow
// later.
absl::StatusOr<absl::Duration> SecondsFrom(absl::string_view field, int64_t seconds);

// A user or group id: 0 to 4294967294.
absl::Status CheckUserId(absl::string_view field, int64_t value);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_VALIDATE_H_
