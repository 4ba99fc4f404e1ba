#include "qos/oom_scores.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::qos {
namespace {

constexpr size_t kFilesAtOnce = 256;

// A file of /proc whose process has ended.
bool IsGone(const absl::Status& status) {
  return absl::IsNotFound(status) || ErrnoOf(status) == ESRCH;
}

std::string FileOf(pid_t pid) {
  return absl::StrCat("proc/", pid, "/oom_score_adj");
}

absl::StatusOr<int> Read(int file, const std::string& path) {
  char text[32];
  const ssize_t size = pread(file, text, sizeof text, 0);
  if (size < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
  int value = 0;
  if (absl::SimpleAtoi(absl::string_view(text, static_cast<size_t>(size)), &value)) return value;
  return absl::InternalError(absl::StrCat(path, ": not a number"));
}

absl::Status Write(int file, const std::string& path, int value) {
  const std::string text = absl::StrCat(value);
  if (write(file, text.data(), text.size()) >= 0) return absl::OkStatus();
  const int error = errno;
  const std::string what = absl::StrCat("write ", value, " to ", path);
  if (error != EACCES && error != EPERM) return ErrnoStatus(error, what);
  const absl::Status refused = ErrnoStatus(error, what);
  return absl::Status(refused.code(),
                      absl::StrCat(refused.message(), " (to lower it needs CAP_SYS_RESOURCE)"));
}

}  // namespace

absl::StatusOr<bool> OomScores::SetOne(const UniqueFd& file, pid_t pid, int value,
                                       int* before) const {
  const std::string path = host_.PathOf(FileOf(pid));
  const absl::StatusOr<int> now = Read(file.get(), path);
  if (IsGone(now.status())) return false;
  PLIMSOLL_RETURN_IF_ERROR(now.status());
  *before = *now;
  if (*now == value) return false;
  const absl::Status written = Write(file.get(), path, value);
  if (IsGone(written)) return false;
  PLIMSOLL_RETURN_IF_ERROR(written);
  return true;
}

absl::Status OomScores::Set(absl::Span<const std::pair<pid_t, int>> values, Values* before) const {
  absl::Status status;
  std::vector<UniqueFd> files;
  for (const auto& [pid, unused] : values) {
    absl::StatusOr<UniqueFd> file = host_.OpenFile(FileOf(pid), O_RDWR);
    if (!file.ok() && !IsGone(file.status())) return file.status();
    files.push_back(file.ok() ? *std::move(file) : UniqueFd());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> members, members_());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& [pid, value] = values[i];
    if (!files[i].valid() || !std::binary_search(members.begin(), members.end(), pid)) continue;
    int had = 0;
    const absl::StatusOr<bool> changed = SetOne(files[i], pid, value, &had);
    status = FirstError(status, changed.status());
    if (before == nullptr) continue;  // undoing restores as many as it can
    PLIMSOLL_RETURN_IF_ERROR(status);
    if (*changed) before->emplace_back(pid, had);
  }
  return status;
}

absl::Status OomScores::SetAll(int value) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> members, members_());
  Values values;
  for (const pid_t pid : members) values.emplace_back(pid, value);
  for (size_t at = 0; at < values.size(); at += kFilesAtOnce) {
    PLIMSOLL_RETURN_IF_ERROR(Set(absl::MakeSpan(values).subspan(at, kFilesAtOnce), &changed_));
  }
  return absl::OkStatus();
}

absl::Status OomScores::Undo() {
  std::reverse(changed_.begin(), changed_.end());
  absl::Status trouble;
  for (size_t at = 0; at < changed_.size(); at += kFilesAtOnce) {
    const absl::Status status = Set(absl::MakeSpan(changed_).subspan(at, kFilesAtOnce), nullptr);
    // NOT_FOUND: all of them have ended.
    if (!absl::IsNotFound(status)) trouble = BothErrors(trouble, status);
  }
  changed_.clear();
  return trouble;
}

}  // namespace plimsoll::qos
