#include "pod_runner/pod_files/termination_message.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "pod_runner/pod_files/cri_log.h"
#include "pod_runner/pod_files/log_tail.h"

namespace plimsoll::pod {
namespace {

constexpr char kDirectory[] = "/termination";

bool ContinuesCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// Bytes that are no UTF-8 become U+FFFD.
std::string ValidText(const std::string& bytes) {
  using Json = nlohmann::json;
  const std::string quoted = Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

absl::StatusOr<std::string> ReadEnd(const FsRoot& directory, const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, directory.OpenFile(name, kOpenToLook | O_NOFOLLOW));
  const std::string path = directory.PathOf(name);
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is ", KindOfFile(info.st_mode), ", not a regular file"));
  }
  const auto most = static_cast<off_t>(kTerminationMessageBytes);
  const off_t begin = std::max<off_t>(info.st_size - most, 0);
  std::string bytes(kTerminationMessageBytes, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        pread(fd.get(), bytes.data() + done, bytes.size() - done, begin + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  if (begin == 0) return bytes;
  // The cut may have gone through a character.
  size_t whole = 0;
  while (whole < std::min<size_t>(3, bytes.size()) && ContinuesCharacter(bytes[whole])) ++whole;
  return bytes.substr(whole);
}

// The end of the log's last lines. A log that can't be read says nothing.
std::string EndOfLog(const FsRoot& root, const std::string& path) {
  const auto any = [](absl::Time) { return true; };
  absl::StatusOr<LogTail> tail = FindTail(root, path, kTerminationLogLines, /*flush=*/true, any);
  if (!tail.ok()) return "";
  std::string text;
  LogReader reader(root, path);
  ReadTail(*std::move(tail), kTerminationLogLines, /*flush=*/true, any, reader,
           [&text](const LogLine& line) {
             absl::StrAppend(&text, line.text, line.unfinished ? "" : "\n");
             if (text.size() > kTerminationLogBytes) {
               text.erase(0, text.size() - kTerminationLogBytes);
             }
           })
      .IgnoreError();
  size_t whole = 0;
  while (whole < text.size() && ContinuesCharacter(text[whole])) ++whole;
  return text.substr(whole);
}

// The attempt of the run before the newest, whose file is kept; nullopt: there is none.
std::optional<uint32_t> KeptAttempt(const FsRoot& directory, const std::string& container) {
  const absl::StatusOr<std::vector<std::string>> names = directory.List(".");
  if (!names.ok()) return std::nullopt;
  const std::string prefix = container + ".";
  for (const std::string& name : *names) {
    uint32_t attempt = 0;
    if (absl::StartsWith(name, prefix) &&
        absl::SimpleAtoi(absl::string_view(name).substr(prefix.size()), &attempt)) {
      return attempt;
    }
  }
  return std::nullopt;
}

// The name of the run's file; empty: it has none any more.
std::string FileOf(const FsRoot& directory, const EndedRun& run) {
  const std::string& name = run.container.name;
  const std::optional<uint32_t> kept = KeptAttempt(directory, name);
  if (kept == run.attempt) return absl::StrCat(name, ".", run.attempt);
  if (kept && run.attempt != *kept + 1) return "";
  return name;
}

// Keeps the newest file as that of attempt `last`, unless an earlier call has done so.
absl::Status KeepLast(const FsRoot& directory, const std::string& container, uint32_t last) {
  const std::string kept = absl::StrCat(container, ".", last);
  if (directory.Exists(kept)) return absl::OkStatus();
  // Without a file the run before has left nothing.
  if (!directory.Exists(container)) return directory.ReplaceFile(kept, "");
  if (renameat(directory.fd(), container.c_str(), directory.fd(), kept.c_str()) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, absl::StrCat("rename ", directory.PathOf(container)));
}

}  // namespace

std::string TerminationLogPath(absl::string_view pod_directory, absl::string_view container) {
  return absl::StrCat(pod_directory, kDirectory, "/", container);
}

absl::Status MakeTerminationLog(const FsRoot& root, const std::string& pod_directory,
                                const std::string& container, std::optional<uint32_t> last) {
  const std::string path = absl::StrCat(pod_directory, kDirectory);
  PLIMSOLL_RETURN_IF_ERROR(root.MakeDirs(path, 0700));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, root.Sub(path));
  if (last) PLIMSOLL_RETURN_IF_ERROR(KeepLast(directory, container, *last));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List("."));
  for (const std::string& name : names) {
    const bool is_kept = last && name == absl::StrCat(container, ".", *last);
    if (is_kept || !absl::StartsWith(name, container + ".")) continue;
    PLIMSOLL_RETURN_IF_ERROR(directory.RemoveFile(name));
  }
  return directory.ReplaceFile(container, "", 0666);
}

std::string ClipText(const std::string& text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && ContinuesCharacter(text[bytes])) --bytes;
  return text.substr(0, bytes);
}

std::string TerminationMessage(const FsRoot& root, const std::string& pod_directory,
                               const EndedRun& run) {
  std::string text;
  const absl::StatusOr<FsRoot> directory = root.Sub(absl::StrCat(pod_directory, kDirectory));
  const std::string name = directory.ok() ? FileOf(*directory, run) : "";
  if (!name.empty()) {
    absl::StatusOr<std::string> end = ReadEnd(*directory, name);
    if (end.ok()) {
      text = *std::move(end);
    } else if (!absl::IsNotFound(end.status())) {
      text = absl::StrCat("Error on reading termination log ", directory->PathOf(name), ": ",
                          end.status().message());
    }
  }
  const bool falls_back = run.container.termination_message_policy == "FallbackToLogsOnError" &&
                          run.exit_code != 0 && !run.log_path.empty();
  if (text.empty() && falls_back) text = EndOfLog(root, run.log_path);
  return ClipText(ValidText(text), kTerminationMessageBytes);
}

}  // namespace plimsoll::pod
