#include "cli/terminal/object_fields.h"

#include "cli/terminal/text.h"

namespace plimsoll::cli {

const KubeObject& FieldOf(const KubeObject& object, std::initializer_list<const char*> path) {
  static const auto* const none = new KubeObject();
  const KubeObject* at = &object;
  for (const char* key : path) {
    if (!at->is_object()) return *none;
    const auto found = at->find(key);
    if (found == at->end()) return *none;
    at = &*found;
  }
  return *at;
}

std::string TextOf(const KubeObject& object, std::initializer_list<const char*> path) {
  const KubeObject& field = FieldOf(object, path);
  if (field.is_string()) return field.get<std::string>();
  return field.is_number() || field.is_boolean() ? field.dump() : "";
}

int64_t NumberOf(const KubeObject& object, std::initializer_list<const char*> path) {
  const KubeObject& field = FieldOf(object, path);
  return field.is_number_integer() ? field.get<int64_t>() : 0;
}

bool FlagOf(const KubeObject& object, std::initializer_list<const char*> path) {
  const KubeObject& field = FieldOf(object, path);
  return field.is_boolean() && field.get<bool>();
}

absl::Time TimeOf(const KubeObject& object, std::initializer_list<const char*> path) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, TextOf(object, path), &time, &error)) return time;
  return absl::InfinitePast();
}

std::vector<KubeObject> ItemsOf(const KubeObject& object, std::initializer_list<const char*> path) {
  const KubeObject& field = FieldOf(object, path);
  return field.is_array() ? field.get<std::vector<KubeObject>>() : std::vector<KubeObject>();
}

std::string AgeOf(absl::Time time, absl::Time now) {
  return time == absl::InfinitePast() ? "-" : HumanAge(now - time);
}

std::string ConditionOf(const KubeObject& object, const std::string& type) {
  for (const KubeObject& condition : ItemsOf(object, {"status", "conditions"})) {
    if (TextOf(condition, {"type"}) == type) return TextOf(condition, {"status"});
  }
  return "";
}

KubeObject ContainerStatusOf(const KubeObject& pod, const char* list, const std::string& name) {
  for (const KubeObject& status : ItemsOf(pod, {"status", list})) {
    if (TextOf(status, {"name"}) == name) return status;
  }
  return {};
}

}  // namespace plimsoll::cli
