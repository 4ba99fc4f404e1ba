// Messages as JSON documents, in the style of every `-o json`.
#ifndef PLIMSOLL_CLI_TERMINAL_MESSAGE_JSON_H_
#define PLIMSOLL_CLI_TERMINAL_MESSAGE_JSON_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plimsoll::cli {

// The protobuf JSON mapping with zero values included, and:
//  - keys in camelCase ("podSandboxId"); keys of a map are whatever the client gave,
//  - nanoseconds since the epoch as RFC 3339 in UTC, null for 0,
//  - JSON that the CRI carries as a string in `info` as JSON,
//  - the keys of a map sorted, all else in the message's order.
absl::StatusOr<nlohmann::ordered_json> MessageJson(const google::protobuf::Message& message);

// "2026-11-23T20:04:05.25+00:00"; null for 0.
nlohmann::ordered_json TimeJson(int64_t unix_nanos);
std::string Rfc3339(absl::Time time);

// "podSandboxId" for "pod_sandbox_id". A name that isn't snake_case stays as it is.
std::string CamelCase(absl::string_view key);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_MESSAGE_JSON_H_
