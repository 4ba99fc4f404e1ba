// The target of an HTTP request: "/api/v1/pods?watch=true" as words.
#ifndef PLIMSOLL_AGENT_HTTP_TARGET_H_
#define PLIMSOLL_AGENT_HTTP_TARGET_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::agent {

struct Target {
  std::vector<std::string> path;                           // decoded: {"api", "v1", "pods"}
  std::vector<std::pair<std::string, std::string>> query;  // in the order given; names may repeat
  bool operator==(const Target&) const = default;
};

// Decodes "%41" in both parts, and "+" to a space in the query, as forms have it. INVALID_ARGUMENT:
// no "/" at the start, a broken escape, an empty, "." or ".." component, a control character in the
// path, a NUL byte in the query.
absl::StatusOr<Target> ParseTarget(absl::string_view text);

// The inverse of ParseTarget.
std::string FormatTarget(const Target& target);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_HTTP_TARGET_H_
