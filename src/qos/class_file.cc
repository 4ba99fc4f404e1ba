#include "qos/class_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fs_root.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "yaml/documents.h"

namespace plimsoll::qos {
namespace {

constexpr size_t kMostNotes = 100;

}  // namespace

absl::StatusOr<std::string> LoadClassFile(const FsRoot& host, const std::string& path) {
  if (path.empty() || path.front() != '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("class file \"", path, "\" must be given by an absolute path"));
  }
  const auto file = host.OpenFile(path, kOpenToLook);
  if (!file.ok()) return Annotate(file.status(), "class file");
  absl::StatusOr<std::string> text = ReadRegularFile(file->get(), kMaxClassFileBytes);
  if (!text.ok()) return Annotate(text.status(), absl::StrCat("class file ", path));
  return text;
}

absl::Status ReadClassFile(absl::string_view text, absl::string_view file,
                           const std::function<void(YamlReader&, const YAML::Node&)>& read,
                           std::vector<std::string>* warnings) {
  YamlReader reader{std::string(file)};
  try {
    bool more = false;
    const YAML::Node document = LoadFirstYamlDocument(std::string(text), &more);
    if (document.IsNull()) {
      warnings->push_back(absl::StrCat(file, ": ", more ? "the first document is" : "is",
                                       " empty, so it defines no classes"));
    }
    if (more) {
      warnings->push_back(
          absl::StrCat(file, ": only the first document counts; later ones are not read"));
    }
    if (!document.IsNull()) read(reader, document);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(file, ":", error.mark.line + 1, ":",
                                                   error.mark.column + 1, ": ", YamlFault(error)));
  }
  const std::vector<std::string>& notes = reader.notes();
  const size_t told = std::min(notes.size(), kMostNotes);
  warnings->insert(warnings->end(), notes.begin(), notes.begin() + static_cast<ptrdiff_t>(told));
  if (told < notes.size()) {
    warnings->push_back(absl::StrCat(file, ": ", notes.size() - told, " more of this kind"));
  }
  if (reader.errors().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(reader.errors(), "\n"));
}

}  // namespace plimsoll::qos
