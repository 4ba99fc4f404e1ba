// Files in which administrators define classes.
#ifndef PLIMSOLL_QOS_CLASS_FILE_H_
#define PLIMSOLL_QOS_CLASS_FILE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "yaml/reader.h"

namespace plimsoll::qos {

inline constexpr size_t kMaxClassFileBytes = 1024 * 1024;

// The text of a regular file at an absolute path below `host`. INVALID_ARGUMENT for another path
// and for anything else that is there (a FIFO would keep its reader waiting), RESOURCE_EXHAUSTED
// above 1 MiB. The error names the file and the reason.
absl::StatusOr<std::string> LoadClassFile(const FsRoot& host, const std::string& path);

// Calls `read` with the first document of the text, unless that is empty. Later documents are
// ignored, as by containerd and CRI-O. `warnings` gets a line for each of: ignored documents, an
// empty text, notes of `read`. INVALID_ARGUMENT for text that is not YAML, and for the mistakes
// that `read` told the reader: all of them, a line each.
absl::Status ReadClassFile(absl::string_view text, absl::string_view file,
                           const std::function<void(YamlReader&, const YAML::Node&)>& read,
                           std::vector<std::string>* warnings);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CLASS_FILE_H_
