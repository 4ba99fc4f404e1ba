#include "pod_runner/pod_files/cri_log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/regular_file.h"
#include "base/status.h"

namespace plimsoll::pod {
namespace {

// A longer line is handed over in parts: a container that prints no newline must not fill the
// memory.
constexpr size_t kMaxLineBytes = 1024 * 1024;

// Longer than any record. Zeros after a crash of the machine may be as long.
constexpr size_t kMaxRecordBytes = 16 * kMaxLineBytes;

absl::string_view TakeWord(absl::string_view& text) {
  const size_t end = text.find(' ');
  const absl::string_view word = text.substr(0, end);
  text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
  return word;
}

}  // namespace

std::optional<LogRecord> ParseLogLine(absl::string_view line) {
  LogRecord record;
  if (!absl::ParseTime(absl::RFC3339_full, TakeWord(line), &record.time, nullptr)) {
    return std::nullopt;
  }
  const absl::string_view stream = TakeWord(line);
  if (stream != "stdout" && stream != "stderr") return std::nullopt;
  record.stream = stream == "stdout" ? LogStream::kStdout : LogStream::kStderr;
  // Tags are separated by ":"; the first says whether the line is full.
  absl::string_view tags = TakeWord(line);
  const absl::string_view tag = tags.substr(0, tags.find(':'));
  if (tag != "F" && tag != "P") return std::nullopt;
  record.partial = tag == "P";
  record.text = line;
  return record;
}

absl::StatusOr<bool> LogReader::OpenIfReplaced(uint64_t* left, const Sink& sink) {
  const absl::StatusOr<struct stat> info = root_.Stat(path_);
  if (!info.ok()) {
    if (absl::IsNotFound(info.status())) return false;  // between the writer's rename and re-open
    return info.status();
  }
  if (file_.valid() && info->st_ino == inode_) {
    // The file was truncated in place.
    const off_t position = lseek(file_.get(), 0, SEEK_CUR);
    if (info->st_size < position) {
      unread_.clear();
      lseek(file_.get(), 0, SEEK_SET);
    }
    return false;
  }
  // A pod that mounts the directory of logs could put a link or a FIFO there.
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd next, root_.OpenFile(path_, kOpenToLook | O_NOFOLLOW));
  struct stat opened = {};
  if (fstat(next.get(), &opened) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path_));
  // The writer made the new file after its last write to the old one, so the old one is complete.
  if (file_.valid()) PLIMSOLL_RETURN_IF_ERROR(Drain(left, sink));
  if (*left == 0) return false;  // the old file may have more
  file_ = std::move(next);
  inode_ = opened.st_ino;
  unread_.clear();
  return true;
}

absl::StatusOr<bool> LogReader::Poll(const Sink& sink) {
  uint64_t left = kMaxPollBytes;
  PLIMSOLL_ASSIGN_OR_RETURN(const bool replaced, OpenIfReplaced(&left, sink));
  if (!file_.valid()) return false;
  PLIMSOLL_RETURN_IF_ERROR(Drain(&left, sink));
  return replaced || left < kMaxPollBytes;
}

absl::Status LogReader::ReadAll(const Sink& sink) {
  const uint64_t end = bytes_read_ + BytesThere();
  bool more = true;
  while (more) {
    PLIMSOLL_ASSIGN_OR_RETURN(more, Poll(sink));
    if (bytes_read_ >= end) more = false;
  }
  return absl::OkStatus();
}

absl::Status LogReader::Begin(UniqueFd file, uint64_t offset) {
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path_));
  if (lseek(file.get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
    return ErrnoStatus(errno, absl::StrCat("seek in ", path_));
  }
  file_ = std::move(file);
  inode_ = info.st_ino;
  unread_.clear();
  return absl::OkStatus();
}

// The bytes of the current file and its successor; an upper bound.
uint64_t LogReader::BytesThere() const {
  uint64_t bytes = 0;
  struct stat info = {};
  if (file_.valid() && fstat(file_.get(), &info) == 0) bytes += static_cast<uint64_t>(info.st_size);
  const absl::StatusOr<struct stat> named = root_.Stat(path_);
  if (named.ok()) bytes += static_cast<uint64_t>(named->st_size);
  return bytes;
}

absl::Status LogReader::Drain(uint64_t* left, const Sink& sink) {
  std::array<char, 65536> buffer;
  while (*left > 0) {
    const size_t most = static_cast<size_t>(std::min<uint64_t>(*left, buffer.size()));
    const ssize_t count = read(file_.get(), buffer.data(), most);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, absl::StrCat("read ", path_));
    if (count == 0) break;
    *left -= static_cast<uint64_t>(count);
    bytes_read_ += static_cast<uint64_t>(count);
    size_t begin = 0;
    size_t look = unread_.size();  // no newline comes before
    unread_.append(buffer.data(), static_cast<size_t>(count));
    for (size_t end; (end = unread_.find('\n', look)) != std::string::npos;
         begin = look = end + 1) {
      Take(absl::string_view(unread_).substr(begin, end - begin), sink);
    }
    unread_.erase(0, begin);
    // A leading NUL keeps the rest of the line from being a record.
    if (unread_.size() > kMaxRecordBytes) unread_.assign(1, '\0');
  }
  return absl::OkStatus();
}

void LogReader::Take(absl::string_view line, const Sink& sink) {
  const std::optional<LogRecord> record = ParseLogLine(line);
  if (!record) return;  // for example the rest of a line that rotation cut
  std::optional<LogLine>& waiting = pieces_[record->stream == LogStream::kStderr];
  if (!waiting) waiting = LogLine{record->time, record->stream, "", false};
  waiting->text.append(record->text.data(), record->text.size());
  if (record->partial && waiting->text.size() < kMaxLineBytes) return;
  const LogLine whole = *std::exchange(waiting, std::nullopt);
  sink(whole);
}

void LogReader::Flush(const Sink& sink) {
  for (std::optional<LogLine>& waiting : pieces_) {
    if (!waiting) continue;
    waiting->unfinished = true;
    sink(*std::exchange(waiting, std::nullopt));
  }
}

}  // namespace plimsoll::pod
