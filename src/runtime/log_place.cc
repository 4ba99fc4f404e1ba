#include "runtime/log_place.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/regular_file.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

absl::Status RefuseLinks(const FsRoot& root, absl::string_view name) {
  for (size_t end = name.find('/');; end = name.find('/', end + 1)) {
    const absl::string_view part = name.substr(0, end);
    if (root.ReadLink(part).ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the log goes to ", root.PathOf(name), ", where ", root.PathOf(part),
                       " is a symlink; symlinks below the pod's log directory are not followed"));
    }
    if (end == absl::string_view::npos) return absl::OkStatus();
  }
}

// A file where a directory is to be, and names that no file system takes, are the client's fault.
absl::Status OfLog(const absl::Status& status, const std::string& path) {
  switch (ErrnoOf(status)) {
    case EEXIST:
    case ENOTDIR:
      return absl::FailedPreconditionError(
          absl::StrCat("the log goes to ", path,
                       ", but that is not a directory, or a part of its path is not one"));
    case ELOOP:
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(
          absl::StrCat("the log's path is not possible: ", status.message()));
    default:
      return status;
  }
}

}  // namespace

absl::Status PrepareLog(const FsRoot& host, absl::string_view directory, absl::string_view path) {
  if (path.empty()) return absl::OkStatus();
  if (directory.empty()) directory = path.substr(0, path.rfind('/'));
  const absl::string_view name = absl::StripPrefix(path.substr(directory.size()), "/");
  const absl::Status made = host.MakeDirs(directory, 0755);
  const absl::StatusOr<FsRoot> opened = made.ok() ? host.Sub(directory) : made;
  if (!opened.ok()) return OfLog(opened.status(), host.PathOf(directory));
  const FsRoot& root = *opened;
  PLIMSOLL_RETURN_IF_ERROR(RefuseLinks(root, name));
  if (const size_t slash = name.rfind('/'); slash != absl::string_view::npos) {
    const absl::string_view below = name.substr(0, slash);
    PLIMSOLL_RETURN_IF_ERROR(OfLog(root.MakeDirs(below, 0755), root.PathOf(below)));
  }
  const absl::StatusOr<struct stat> log = root.Stat(name);
  if (absl::IsNotFound(log.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(OfLog(log.status(), root.PathOf(name)));
  if (S_ISREG(log->st_mode)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the log ", root.PathOf(name), " is ", KindOfFile(log->st_mode),
                   "; it must be a regular file, or not be there yet"));
}

}  // namespace plimsoll::runtime
