#include "cli/paths.h"

#include <unistd.h>

#include <cerrno>
#include <climits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::cli {

absl::StatusOr<std::string> FromRoot(const std::string& path) {
  if (absl::StartsWith(path, "/")) return path;
  char here[PATH_MAX];
  if (getcwd(here, sizeof(here)) == nullptr) return ErrnoStatus(errno, "getcwd");
  return absl::StrCat(here, "/", path);
}

}  // namespace plimsoll::cli
