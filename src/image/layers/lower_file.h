// A file of a lower layer, and its copy in the layer above.
#ifndef PLIMSOLL_IMAGE_LAYERS_LOWER_FILE_H_
#define PLIMSOLL_IMAGE_LAYERS_LOWER_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"

namespace plimsoll::image {

struct LowerFile {
  UniqueFd fd;  // O_PATH
  struct stat info = {};
};

// Writes content at an offset of the new file `fd`.
using WriteFn = std::function<absl::Status(int fd, uint64_t offset, absl::string_view data)>;

// Makes `name` in the directory `to` as `from` is, which is no directory: content with its holes,
// owner, mode, modification time, security.capability and user.* attributes. The name must be free.
absl::Status CopyLowerFile(const LowerFile& from, int to, const std::string& name,
                           const WriteFn& write);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYERS_LOWER_FILE_H_
