#include "yaml/config_place.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/fs_root.h"
#include "base/regular_file.h"
#include "yaml/documents.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxPlacedFileBytes = 1024 * 1024;

bool IsKey(absl::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  });
}

// "nodeResources", "cpus", "list" of "nodeResources: cpus.list: CPUs 8-9 are not there".
std::vector<std::string> KeysOf(absl::string_view message) {
  std::vector<std::string> keys;
  for (;;) {
    const size_t colon = message.find(": ");
    if (colon == absl::string_view::npos) return keys;
    const absl::string_view head = message.substr(0, std::min(colon, message.find(' ')));
    if (!IsKey(head)) return keys;
    for (const absl::string_view key : absl::StrSplit(head, '.')) keys.emplace_back(key);
    if (head.size() < colon) return keys;
    message.remove_prefix(colon + 2);
  }
}

// The innermost key that exists; nullopt if not even the first does.
std::optional<YAML::Mark> Find(YAML::Node node, const std::vector<std::string>& keys) {
  std::optional<YAML::Mark> mark;
  for (const std::string& key : keys) {
    if (!node.IsMap()) return mark;
    const auto entry = std::find_if(node.begin(), node.end(), [&key](const auto& each) {
      return each.first.IsScalar() && each.first.Scalar() == key;
    });
    if (entry == node.end()) return mark;
    mark = entry->first.Mark();
    node.reset(YAML::Node(entry->second));
  }
  return mark;
}

}  // namespace

absl::Status WithPlaces(const absl::Status& fault, absl::string_view text, absl::string_view file) {
  if (fault.ok()) return fault;
  std::vector<std::string> lines = absl::StrSplit(fault.message(), '\n');
  try {
    const std::vector<YAML::Node> documents = LoadYamlDocuments(std::string(text));
    if (documents.empty()) return fault;
    for (std::string& line : lines) {
      const std::optional<YAML::Mark> mark = Find(documents[0], KeysOf(line));
      if (!mark.has_value()) continue;
      line = absl::StrCat(file, ":", mark->line + 1, ":", mark->column + 1, ": ", line);
    }
  } catch (const YAML::Exception&) {
    return fault;
  }
  absl::Status placed(fault.code(), absl::StrJoin(lines, "\n"));
  fault.ForEachPayload([&placed](absl::string_view type, const absl::Cord& payload) {
    placed.SetPayload(type, payload);
  });
  return placed;
}

absl::Status WithPlaces(const absl::Status& fault, const std::string& path) {
  if (fault.ok() || path.empty()) return fault;
  const auto host = FsRoot::Open("/");
  const std::string absolute = std::filesystem::absolute(path).string();
  const auto text = host.ok() ? ReadRegularFile(*host, absolute, kMaxPlacedFileBytes)
                              : absl::StatusOr<std::string>(host.status());
  return text.ok() ? WithPlaces(fault, *text, path) : fault;
}

}  // namespace plimsoll
