#include "qos/class_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
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
  const auto file = host.OpenFile(path, O_RDONLY | O_NONBLOCK);
  if (!file.ok()) return Annotate(file.status(), "class file");
  struct stat about = {};
  if (fstat(file->get(), &about) != 0) {
    return ErrnoStatus(errno, absl::StrCat("class file ", path));
  }
  if (!S_ISREG(about.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("class file ", path, " is not a regular file"));
  }
  std::string text(kMaxBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = read(file->get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read class file ", path));
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  if (size > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("class file ", path, " is larger than ", kMaxBytes, " bytes"));
  }
  text.resize(size);
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
