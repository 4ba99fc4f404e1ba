// FsRoot: a directory opened once, below which files are reached by relative path.
//
// Every room reaches kernel files and its own state through one of these, so that it runs the same
// on the real "/" and on a test's temporary tree. Paths are resolved as openat2(2) does with
// RESOLVE_IN_ROOT (lookup/open_below.h): "..", absolute symlinks and leading slashes stay below the
// root, so hostile content cannot lead out of it.
//
// Copies share the open directory. Thread-safe. Errors name the full path and the operation.
#ifndef PLIMSOLL_BASE_FS_ROOT_H_
#define PLIMSOLL_BASE_FS_ROOT_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"

namespace plimsoll {

class FsRoot {
 public:
  // Opens an existing directory. NOT_FOUND if it doesn't exist.
  static absl::StatusOr<FsRoot> Open(absl::string_view directory);
  // Opens like Open, but first makes the directory, with `mode`, and missing parents, with 0755.
  static absl::StatusOr<FsRoot> OpenOrCreate(absl::string_view directory, mode_t mode = 0700);

  // The directory as it was named when opened; for messages and for programs that want a path.
  const std::string& path() const { return *path_; }
  // path() joined with `relative`.
  std::string PathOf(absl::string_view relative) const;
  int fd() const { return fd_->get(); }

  // A root for a directory below this one.
  absl::StatusOr<FsRoot> Sub(absl::string_view relative) const;

  // open(2) flags and mode; O_CLOEXEC is added.
  absl::StatusOr<UniqueFd> OpenFile(absl::string_view relative, int flags, mode_t mode = 0) const;

  // Reads a whole file. RESOURCE_EXHAUSTED when it is larger than `max_bytes`.
  absl::StatusOr<std::string> Read(absl::string_view relative,
                                   size_t max_bytes = 16 * 1024 * 1024) const;
  // One write(2) to an existing file, as a kernel control file needs. The error names the file and
  // the value that it refused.
  absl::Status Write(absl::string_view relative, absl::string_view value) const;
  // Makes or replaces a file; a reader sees the old or the new content, never a part. `sync`: it is
  // on disk before this returns. The file gets exactly `mode`, whatever the umask.
  absl::Status ReplaceFile(absl::string_view relative, absl::string_view content,
                           mode_t mode = 0600, bool sync = false) const;

  // Exists is false also where the path can't be looked at; Has returns that as an error.
  bool Exists(absl::string_view relative) const;
  absl::StatusOr<bool> Has(absl::string_view relative) const;
  absl::StatusOr<struct stat> Stat(absl::string_view relative) const;  // follows symlinks
  absl::StatusOr<std::string> ReadLink(absl::string_view relative) const;
  // Names in a directory, sorted, without "." and "..".
  absl::StatusOr<std::vector<std::string>> List(absl::string_view relative) const;

  absl::Status MakeDirs(absl::string_view relative, mode_t mode = 0700) const;
  // OK when there is nothing to remove. The last component is not followed.
  absl::Status RemoveFile(absl::string_view relative) const;
  absl::Status RemoveDir(absl::string_view relative) const;
  // Removes the directory and everything below it. Never crosses a mount point, bind mounts
  // included: a forgotten mount is FAILED_PRECONDITION, not a massacre.
  absl::Status RemoveTree(absl::string_view relative) const;

 private:
  FsRoot(std::string path, UniqueFd fd)
      : path_(std::make_shared<const std::string>(std::move(path))),
        fd_(std::make_shared<const UniqueFd>(std::move(fd))) {}

  std::shared_ptr<const std::string> path_;
  std::shared_ptr<const UniqueFd> fd_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_FS_ROOT_H_
