#include "qos/class_file.h"

#include <yaml-cpp/yaml.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "yaml/documents.h"

namespace plimsoll::qos {
namespace {

constexpr size_t kMaxBytes = 1024 * 1024;

}  // namespace

absl::StatusOr<std::string> LoadClassFile(const std::string& path) {
  if (path.empty() || path.front() != '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("class file \"", path, "\" must be given by an absolute path"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  return LoadClassFile(root, path);
}

absl::StatusOr<std::string> LoadClassFile(const FsRoot& host, const std::string& path) {
  const auto file = host.OpenFile(path, kOpenToLook);
  if (!file.ok()) return Annotate(file.status(), "class file");
  absl::StatusOr<std::string> text = ReadRegularFile(file->get(), kMaxBytes);
  if (!text.ok()) return Annotate(text.status(), absl::StrCat("class file ", path));
  return text;
}

absl::Status ReadClassFile(absl::string_view text, absl::string_view file,
                           const std::function<void(YamlReader&, const YAML::Node&)>& read) {
  YamlReader reader{std::string(file)};
  try {
    const std::vector<YAML::Node> documents = LoadYamlDocuments(std::string(text));
    if (documents.size() != 1 || documents[0].IsNull()) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, documents.size() > 1 ? ": more than one document" : ": the file is empty"));
    }
    read(reader, documents[0]);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(file, ":", error.mark.line + 1, ":",
                                                   error.mark.column + 1,
                                                   ": not valid YAML: ", error.msg));
  }
  return reader.status();
}

}  // namespace plimsoll::qos
