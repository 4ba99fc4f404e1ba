#include "pod_runner/env.h"

#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "pod_runner/fields.h"

namespace plimsoll::pod {
namespace {

absl::Status CheckText(absl::string_view variable, absl::string_view value) {
  if (IsText(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the value of ", variable, " is no UTF-8 text without NUL"));
}

// nullopt: an optional key is missing.
absl::StatusOr<std::optional<std::string>> ValueOf(
    const Manifest& pod, const ContainerManifest& container, const EnvVar& variable,
    const PodContext& context, const std::map<std::string, std::string>& known) {
  if (!variable.field_path.empty()) return FieldValue(pod, variable.field_path, context);
  if (variable.resource) return ResourceValue(pod, &container, *variable.resource, context);
  if (!variable.key) return ExpandReferences(variable.value, known);
  PLIMSOLL_ASSIGN_OR_RETURN(std::optional<std::string> value,
                            ObjectValue(pod, *variable.key, context));
  if (value) PLIMSOLL_RETURN_IF_ERROR(CheckText(variable.name, *value));
  return value;
}

// A later object's variable replaces an earlier one's.
absl::Status AddAll(const Manifest& pod, const EnvFrom& from, const PodContext& context,
                    std::map<std::string, std::string>& known) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Object* object,
                            FindObject(pod, from.kind, from.object, from.optional, context));
  if (object == nullptr) return absl::OkStatus();
  for (const auto& [key, value] : object->data) {
    if (object->binary.contains(key)) continue;
    const std::string name = absl::StrCat(from.prefix, key);
    PLIMSOLL_RETURN_IF_ERROR(CheckText(name, value));
    known[name] = value;
  }
  return absl::OkStatus();
}

}  // namespace

std::string ExpandReferences(absl::string_view text,
                             const std::map<std::string, std::string>& variables) {
  std::string result;
  while (!text.empty()) {
    if (absl::ConsumePrefix(&text, "$$")) {
      result += '$';
      continue;
    }
    const size_t end = absl::StartsWith(text, "$(") ? text.find(')') : absl::string_view::npos;
    if (end != absl::string_view::npos) {
      const auto it = variables.find(std::string(text.substr(2, end - 2)));
      result += it == variables.end() ? std::string(text.substr(0, end + 1)) : it->second;
      text.remove_prefix(end + 1);
      continue;
    }
    result += text[0];
    text.remove_prefix(1);
  }
  return result;
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ResolveEnvironment(
    const Manifest& pod, const ContainerManifest& container, const PodContext& context) {
  std::map<std::string, std::string> known;
  for (const EnvFrom& from : container.env_from) {
    PLIMSOLL_RETURN_IF_ERROR(AddAll(pod, from, context, known));
  }
  std::map<std::string, std::string> inherited = known;
  std::vector<std::pair<std::string, std::string>> own;
  for (const EnvVar& variable : container.env) {
    absl::StatusOr<std::optional<std::string>> value =
        ValueOf(pod, container, variable, context, known);
    if (!value.ok()) {
      return Annotate(value.status(), absl::StrCat("variable ", variable.name));
    }
    if (!*value) continue;
    known[variable.name] = **value;
    inherited.erase(variable.name);
    own.emplace_back(variable.name, **std::move(value));
  }
  std::vector<std::pair<std::string, std::string>> all(inherited.begin(), inherited.end());
  all.insert(all.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  return all;
}

}  // namespace plimsoll::pod
