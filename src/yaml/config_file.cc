#include "yaml/config_file.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fs_root.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "yaml/documents.h"
#include "yaml/error_places.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxConfigBytes = 1024 * 1024;

}  // namespace

absl::Status ReadConfigText(absl::string_view text, absl::string_view file,
                            const std::function<void(YamlReader&, const YAML::Node&)>& read) {
  YamlReader reader{std::string(file)};
  try {
    bool more = false;
    const YAML::Node node = LoadFirstYamlDocument(std::string(text), &more);
    if (!node.IsNull()) read(reader, node);
    if (more) reader.Fail(node, "", "has more than one document");
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", error.what()));
  }
  if (reader.errors().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(InOrderOfLines(reader.errors(), file), "\n"));
}

std::string ConfigPath(const std::optional<std::string>& given, const std::string& default_path) {
  std::error_code no_directory;  // then the path stays as it is, and isn't found
  return std::filesystem::absolute(given.value_or(default_path), no_directory);
}

absl::StatusOr<std::string> LoadConfigText(const std::optional<std::string>& given,
                                           const std::string& default_path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  absl::StatusOr<std::string> text =
      ReadRegularFile(root, ConfigPath(given, default_path), kMaxConfigBytes);
  if (absl::IsNotFound(text.status()) && !given) return std::string();
  return text;
}

void ReadLogging(YamlReader& reader, YamlMapping& mapping, std::string& format,
                 std::string& level) {
  const auto node = mapping.Get("logging");
  if (!node) return;
  YamlMapping logging(reader, *node, mapping.PathOf("logging"));
  logging.OneOf("format", format, {"text", "json"});
  logging.OneOf("level", level, {"debug", "info", "warning", "error"});
  logging.Finish();
}

}  // namespace plimsoll
