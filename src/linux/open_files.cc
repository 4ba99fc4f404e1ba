#include "linux/open_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {
namespace {

constexpr absl::string_view kSocket = "socket:[";
constexpr absl::string_view kMaxOpenFiles = "Max open files";

bool IsSocket(int directory, const char* descriptor) {
  char target[64];  // longer targets are cut off; sockets' fit
  const ssize_t n = readlinkat(directory, descriptor, target, sizeof(target));
  return n > 0 && absl::StartsWith(absl::string_view(target, static_cast<size_t>(n)), kSocket);
}

// The process has ended.
bool HasNone(const absl::Status& status) {
  return absl::IsNotFound(status) || ErrnoOf(status) == ESRCH;
}

// Adds the open files of one process. False: there are more than `most`.
absl::StatusOr<bool> Count(const FsRoot& host, pid_t process, uint64_t most, OpenFiles* files) {
  const std::string path = absl::StrCat("proc/", process, "/fd");
  absl::StatusOr<UniqueFd> fd = host.OpenFile(path, O_RDONLY | O_DIRECTORY);
  if (HasNone(fd.status())) return true;
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  DIR* const directory = fdopendir(fd->get());
  if (directory == nullptr) return ErrnoStatus(errno, absl::StrCat("list ", host.PathOf(path)));
  fd->Release();  // closedir closes it
  const absl::Cleanup close_directory = [directory] { closedir(directory); };
  while (const struct dirent* entry = readdir(directory)) {  // a process that ends now lists no
                                                             // more
    if (!isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    if (files->descriptors >= most) return false;
    ++files->descriptors;
    if (IsSocket(dirfd(directory), entry->d_name)) ++files->sockets;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::optional<OpenFiles>> CountOpenFiles(const FsRoot& host,
                                                        const std::vector<pid_t>& processes,
                                                        uint64_t most) {
  OpenFiles files;
  if (processes.size() > most) return std::nullopt;
  for (const pid_t process : processes) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool counted,
                              Count(host, process, most - processes.size(), &files));
    if (!counted) return std::nullopt;
  }
  return files;
}

absl::StatusOr<uint64_t> ParseMaxOpenFiles(absl::string_view limits) {
  for (const absl::string_view line : absl::StrSplit(limits, '\n')) {
    if (!absl::StartsWith(line, kMaxOpenFiles)) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line.substr(kMaxOpenFiles.size()), ' ', absl::SkipWhitespace());
    uint64_t soft = 0;
    if (!words.empty() && absl::SimpleAtoi(words[0], &soft)) return soft;
    return absl::InternalError(absl::StrCat("limits of a process: no number in \"", line, "\""));
  }
  return absl::InternalError(absl::StrCat("limits of a process: no line \"", kMaxOpenFiles, "\""));
}

absl::StatusOr<uint64_t> ReadMaxOpenFiles(const FsRoot& host, const ProcessId& id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            host.Read(absl::StrCat("proc/", id.pid, "/limits")));
  // Checked after reading: if the pid is still this process's, so was the text.
  PLIMSOLL_ASSIGN_OR_RETURN(const ProcessId now, IdentifyProcess(host, id.pid));
  if (now != id) return absl::NotFoundError(absl::StrCat("process ", id.pid, " has ended"));
  return ParseMaxOpenFiles(text);
}

}  // namespace plimsoll::linux
