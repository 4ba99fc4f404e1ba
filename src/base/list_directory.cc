#include "base/list_directory.h"

#include <dirent.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "base/status.h"

namespace plimsoll {

absl::StatusOr<std::vector<std::string>> ListDirectory(UniqueFd directory,
                                                       const std::string& path) {
  DIR* dir = directory.valid() ? fdopendir(directory.get()) : nullptr;
  if (dir == nullptr) return ErrnoStatus(errno, absl::StrCat("list ", path));
  directory.Release();  // closedir closes it
  absl::Cleanup close_dir = [dir] { closedir(dir); };
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const struct dirent* entry = readdir(dir);
    if (entry == nullptr) break;
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return ErrnoStatus(errno, absl::StrCat("list ", path));
  return names;
}

}  // namespace plimsoll
