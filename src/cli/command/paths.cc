#include "cli/command/paths.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "cli/terminal/output.h"

namespace plimsoll::cli {
namespace {

// A pipe of the shell has a writer. A FIFO with a name need not have one.
bool IsShellsPipe(int fd, mode_t mode) {
  struct statfs where = {};
  return S_ISFIFO(mode) && fstatfs(fd, &where) == 0 && where.f_type == PIPEFS_MAGIC;
}

absl::Status CheckKind(int fd, const std::string& path, FileKinds kinds) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a directory; name a file in it"));
  }
  if (kinds == FileKinds::kAny || S_ISREG(info.st_mode) || IsShellsPipe(fd, info.st_mode)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is ", KindOfFile(info.st_mode), ", not a regular file"));
}

}  // namespace

absl::StatusOr<std::string> FromRoot(const std::string& path) {
  if (absl::StartsWith(path, "/")) return path;
  char here[PATH_MAX];
  if (getcwd(here, sizeof(here)) == nullptr) return ErrnoStatus(errno, "getcwd");
  return absl::StrCat(here, "/", path);
}

absl::StatusOr<std::string> ReadUserFile(const std::string& path, FileKinds kinds,
                                         size_t max_bytes) {
  const bool is_input = path == "-";
  UniqueFd opened;
  if (!is_input) {
    // Opened by its path: FsRoot follows no link of /proc/self/fd.
    const int flags = kinds == FileKinds::kAny ? O_RDONLY : kOpenToLook;
    opened.Reset(open(path.c_str(), flags | O_CLOEXEC));
    if (!opened.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
    PLIMSOLL_RETURN_IF_ERROR(CheckKind(opened.get(), path, kinds));
    // Reads wait for a pipe's data from here on.
    if (kinds != FileKinds::kAny && fcntl(opened.get(), F_SETFL, 0) != 0) {
      return ErrnoStatus(errno, absl::StrCat("open ", path));
    }
  }
  const std::string name = is_input ? "standard input" : path;
  std::string text;
  std::array<char, 65536> buffer;
  while (text.size() <= max_bytes) {
    const ssize_t count =
        read(is_input ? STDIN_FILENO : opened.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, absl::StrCat("read ", name));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  return absl::ResourceExhaustedError(absl::StrCat(name, ": larger than ", max_bytes, " bytes"));
}

absl::Status WriteUserFile(const std::string& path, absl::string_view text) {
  if (path == "-") {
    Print(text);
    return PrintStatus();
  }
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  while (!text.empty()) {
    const ssize_t count = write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, absl::StrCat("write ", path));
    text.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::cli
