#include "pod/env.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace plimsoll::pod {
namespace {

std::string FieldValue(const Manifest& pod, absl::string_view path, absl::string_view uid) {
  if (path == "metadata.name") return pod.name;
  if (path == "metadata.namespace") return pod.pod_namespace;
  if (path == "metadata.uid") return std::string(uid);
  const auto lookup = [&path](const std::map<std::string, std::string>& map) {
    absl::ConsumeSuffix(&path, "']");
    const auto it = map.find(std::string(path));
    return it == map.end() ? std::string() : it->second;
  };
  if (absl::ConsumePrefix(&path, "metadata.labels['")) return lookup(pod.labels);
  if (absl::ConsumePrefix(&path, "metadata.annotations['")) return lookup(pod.annotations);
  return "";
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

std::vector<std::pair<std::string, std::string>> ResolveEnvironment(
    const Manifest& pod, const ContainerManifest& container, absl::string_view uid) {
  std::vector<std::pair<std::string, std::string>> resolved;
  std::map<std::string, std::string> known;
  for (const EnvVar& variable : container.env) {
    std::string value = variable.field_path.empty() ? ExpandReferences(variable.value, known)
                                                    : FieldValue(pod, variable.field_path, uid);
    known[variable.name] = value;
    resolved.emplace_back(variable.name, std::move(value));
  }
  return resolved;
}

}  // namespace plimsoll::pod
