#include "cli/object_fields.h"

#include "cli/text.h"

namespace plimsoll::cli {

using Json = nlohmann::json;

const Json& FieldOf(const Json& object, std::initializer_list<const char*> path) {
  static const auto* const none = new Json();
  const Json* at = &object;
  for (const char* key : path) {
    if (!at->is_object()) return *none;
    const auto found = at->find(key);
    if (found == at->end()) return *none;
    at = &*found;
  }
  return *at;
}

std::string TextOf(const Json& object, std::initializer_list<const char*> path) {
  const Json& field = FieldOf(object, path);
  if (field.is_string()) return field.get<std::string>();
  return field.is_number() || field.is_boolean() ? field.dump() : "";
}

int64_t NumberOf(const Json& object, std::initializer_list<const char*> path) {
  const Json& field = FieldOf(object, path);
  return field.is_number_integer() ? field.get<int64_t>() : 0;
}

bool FlagOf(const Json& object, std::initializer_list<const char*> path) {
  const Json& field = FieldOf(object, path);
  return field.is_boolean() && field.get<bool>();
}

absl::Time TimeOf(const Json& object, std::initializer_list<const char*> path) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, TextOf(object, path), &time, &error)) return time;
  return absl::InfinitePast();
}

std::vector<Json> ItemsOf(const Json& object, std::initializer_list<const char*> path) {
  const Json& field = FieldOf(object, path);
  return field.is_array() ? field.get<std::vector<Json>>() : std::vector<Json>();
}

std::string AgeOf(absl::Time time, absl::Time now) {
  return time == absl::InfinitePast() ? "-" : HumanAge(now - time);
}

std::string ConditionOf(const Json& object, const std::string& type) {
  for (const Json& condition : ItemsOf(object, {"status", "conditions"})) {
    if (TextOf(condition, {"type"}) == type) return TextOf(condition, {"status"});
  }
  return "";
}

}  // namespace plimsoll::cli
