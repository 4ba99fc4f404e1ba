#include "pod_runner/pod_files/log_rotation.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::pod {
namespace {

// A log's directory and its name there.
struct LogFilePlace {
  FsRoot directory;
  std::string name;

  std::string Rotated(int64_t number) const { return absl::StrCat(name, ".", number); }
};

absl::StatusOr<LogFilePlace> PlaceOf(const FsRoot& root, const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash + 1 == path.size()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", path, "\" is no absolute path of a log"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot directory, root.Sub(path.substr(0, slash)));
  return LogFilePlace{std::move(directory), path.substr(slash + 1)};
}

absl::Status Rename(const LogFilePlace& place, const std::string& from, const std::string& to,
                    unsigned flags = 0) {
  const int fd = place.directory.fd();
  if (renameat2(fd, from.c_str(), fd, to.c_str(), flags) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("rename ", place.directory.PathOf(from), " to ", to));
}

// By number, the newest first.
absl::StatusOr<std::map<int64_t, std::string>> RotatedLogs(const LogFilePlace& place) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, place.directory.List("."));
  std::map<int64_t, std::string> rotated;
  for (const std::string& name : names) {
    absl::string_view rest = name;
    int64_t number = 0;
    if (absl::ConsumePrefix(&rest, place.name) && absl::ConsumePrefix(&rest, ".") &&
        absl::SimpleAtoi(rest, &number) && number > 0) {
      rotated[number] = name;
    }
  }
  return rotated;
}

// Frees the name of the newest rotated log. A gap in the numbers, as a rotation that failed leaves,
// is filled first.
absl::Status MakeRoom(const LogFilePlace& place, int64_t max_files) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto rotated, RotatedLogs(place));
  int64_t free = 1;
  while (rotated.contains(free) && free < max_files - 1) ++free;
  for (const auto& [number, name] : rotated) {
    if (number >= max_files) PLIMSOLL_RETURN_IF_ERROR(place.directory.RemoveFile(name));
  }
  // The oldest one, if all numbers are taken, is written over.
  for (int64_t number = free - 1; number > 0; --number) {
    PLIMSOLL_RETURN_IF_ERROR(Rename(place, place.Rotated(number), place.Rotated(number + 1)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> RotateLog(const FsRoot& root, const std::string& path, const LogLimits& limits,
                               absl::FunctionRef<absl::Status()> reopen) {
  const absl::StatusOr<struct stat> info = root.Stat(path);
  if (absl::IsNotFound(info.status())) {
    PLIMSOLL_RETURN_IF_ERROR(reopen());
    return false;
  }
  PLIMSOLL_RETURN_IF_ERROR(info.status());
  if (info->st_size <= limits.max_bytes) return false;
  PLIMSOLL_ASSIGN_OR_RETURN(const LogFilePlace place, PlaceOf(root, path));
  PLIMSOLL_RETURN_IF_ERROR(MakeRoom(place, limits.max_files));
  PLIMSOLL_RETURN_IF_ERROR(Rename(place, place.name, place.Rotated(1)));
  const absl::Status reopened = reopen();
  if (reopened.ok()) return true;
  // EEXIST: the runtime has begun the new log all the same.
  Rename(place, place.Rotated(1), place.name, RENAME_NOREPLACE).IgnoreError();
  return reopened;
}

absl::Status RemoveLogs(const FsRoot& root, const std::string& path) {
  const absl::StatusOr<LogFilePlace> place = PlaceOf(root, path);
  if (absl::IsNotFound(place.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(place.status());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto rotated, RotatedLogs(*place));
  absl::Status status = place->directory.RemoveFile(place->name);
  for (const auto& [number, name] : rotated) {
    status = FirstError(status, place->directory.RemoveFile(name));
  }
  return status;
}

}  // namespace plimsoll::pod
