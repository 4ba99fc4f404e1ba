#include "pod_runner/pod_files/sub_path.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace plimsoll::pod {
namespace {

// Makes the directory `name` of `parent` in exactly this mode; 0 or errno. mkdir(2) obeys the
// umask, and a chmod(2) afterwards could meet another directory of that name. So a thread with a
// umask of its own makes it.
int MakeInMode(int parent, const std::string& name, mode_t mode) {
  int error = 0;
  const auto make = [&] {
    if (unshare(CLONE_FS) != 0) {
      error = errno;
      return;
    }
    umask(0);
    if (mkdirat(parent, name.c_str(), mode) != 0) error = errno;
  };
  try {
    std::thread(make).join();
  } catch (const std::system_error& failure) {
    error = failure.code().value();
  }
  return error;
}

// A dangling link is not followed: the container would choose the directory's place.
absl::Status MakeMissing(const FsRoot& directory, const std::string& sub_path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const struct stat volume, directory.Stat("."));
  std::string path;
  for (const absl::string_view part : absl::StrSplit(sub_path, '/', absl::SkipEmpty())) {
    PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd parent,
                              directory.OpenFile(path, O_PATH | O_DIRECTORY));
    absl::StrAppend(&path, path.empty() ? "" : "/", part);
    if (directory.Exists(path)) continue;
    const int error = MakeInMode(parent.get(), std::string(part), volume.st_mode & 0777);
    if (error != 0 && error != EEXIST) {
      return ErrnoStatus(error, absl::StrCat("make directory ", directory.PathOf(path)));
    }
  }
  return absl::OkStatus();
}

// Names the link on the way that leads nowhere in the volume; without one, `missing` is the reason.
// A container may change the link meanwhile: this is for the message only.
absl::Status WhyMissing(const FsRoot& directory, const std::string& sub_path,
                        const absl::Status& missing) {
  std::string path;
  for (const absl::string_view part : absl::StrSplit(sub_path, '/', absl::SkipEmpty())) {
    absl::StrAppend(&path, path.empty() ? "" : "/", part);
    const absl::StatusOr<std::string> target = directory.ReadLink(path);
    if (!target.ok() || !absl::IsNotFound(directory.OpenFile(path, O_PATH).status())) continue;
    return absl::NotFoundError(
        absl::StrCat(path, " is a symbolic link to ", Printable(*target),
                     ", which isn't in the volume; links lead to places in the volume only"));
  }
  return missing;
}

}  // namespace

absl::StatusOr<UniqueFd> OpenSubPath(const FsRoot& root, const std::string& volume,
                                     const std::string& sub_path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, root.Sub(volume));
  return directory.OpenFile(sub_path, O_PATH);
}

absl::StatusOr<UniqueFd> MakeSubPath(const FsRoot& root, const std::string& volume,
                                     const std::string& sub_path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, root.Sub(volume));
  absl::StatusOr<UniqueFd> found = directory.OpenFile(sub_path, O_PATH);
  if (!absl::IsNotFound(found.status())) return found;
  const absl::Status made = MakeMissing(directory, sub_path);
  found = made.ok() ? directory.OpenFile(sub_path, O_PATH) : made;
  if (absl::IsNotFound(found.status())) return WhyMissing(directory, sub_path, found.status());
  return found;
}

}  // namespace plimsoll::pod
