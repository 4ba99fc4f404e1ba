// Strict reading of a JSON document, or of YAML as JSON values (so there is one strict reader):
// every member must be known and of the right type. Errors name the member's path, not a line:
// "gpu.json: devices[0].name: expected a string, found a number".
//
// The first error becomes the status; reading goes on with defaults, so callers check once.
#ifndef PLIMSOLL_CDI_JSON_READER_H_
#define PLIMSOLL_CDI_JSON_READER_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cdi/spec.h"

namespace plimsoll::cdi {

// INVALID_ARGUMENT, without the file's name, for text of another format, more than one document,
// nesting too deep, a duplicate member, and the bounds of LoadYamlDocuments.
absl::StatusOr<nlohmann::json> ReadDocument(absl::string_view text, SpecFormat format);

class JsonReader {
 public:
  explicit JsonReader(absl::string_view file) : file_(file) {}
  const absl::Status& status() const { return status_; }
  void Fail(absl::string_view place, absl::string_view message);

 private:
  std::string file_;
  absl::Status status_;
};

// One object. Ask for every known member, then Finish. An absent or null member leaves `out` as it
// is.
class JsonObject {
 public:
  JsonObject(JsonReader& reader, const nlohmann::json& value, std::string place);

  std::string PlaceOf(absl::string_view key) const;
  void Fail(absl::string_view key, absl::string_view message);

  const nlohmann::json* Get(const char* key);
  void String(const char* key, std::string& out);
  void Required(const char* key, std::string& out);  // absent or empty is an error
  void Bool(const char* key, bool& out);
  void Int(const char* key, std::optional<int64_t>& out);
  void UInt32(const char* key, std::optional<uint32_t>& out);
  void Strings(const char* key, std::vector<std::string>& out);
  // Calls `read` with each element and its place.
  void Each(const char* key,
            const std::function<void(const nlohmann::json&, const std::string& place)>& read);
  // Fails for a member that nobody asked for.
  void Finish();

 private:
  JsonReader& reader_;
  const nlohmann::json* object_;  // null: the value is no object
  const std::string place_;
  std::vector<std::string> known_;
};

}  // namespace plimsoll::cdi

#endif  // PLIMSOLL_CDI_JSON_READER_H_
