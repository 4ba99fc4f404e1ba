// Reads foreign JSON: configuration files, plugins' output, our own records. Used by this room
// only.
#ifndef PLIMSOLL_NETWORK_JSON_H_
#define PLIMSOLL_NETWORK_JSON_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::network {

using Json = nlohmann::json;

// Parses one object. INVALID_ARGUMENT: it is none, or nested deeper than `max_depth` (readers of
// the value, here and in plugins, may recurse).
absl::StatusOr<Json> ParseObject(absl::string_view text, size_t max_depth = 32);

// JSON on one line; bytes that are not UTF-8 are replaced.
std::string Dump(const Json& json);

// Members of `object`. An absent or null member leaves `out` as it is; a wrong type is
// INVALID_ARGUMENT and names the member.
absl::Status ReadText(const Json& object, const char* key, std::string* out);
absl::Status ReadBool(const Json& object, const char* key, bool* out);
absl::Status ReadInteger(const Json& object, const char* key, std::optional<int64_t>* out);
// At most `max` elements.
absl::Status ReadTexts(const Json& object, const char* key, size_t max,
                       std::vector<std::string>* out);
// The elements of a list of objects, at most `max`. They live as long as `object`.
absl::StatusOr<std::vector<const Json*>> ReadObjects(const Json& object, const char* key,
                                                     size_t max);

// Foreign text for a message: Printable, its lines in one ("a | b"), cut at 1,000 bytes.
std::string OneLine(absl::string_view text);

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_JSON_H_
