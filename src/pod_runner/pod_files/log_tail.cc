#include "pod_runner/pod_files/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/regular_file.h"
#include "base/status.h"

namespace plimsoll::pod {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{64} * 1024;
// The longest time, stream and tags of a record.
constexpr uint64_t kHeaderBytes = 128;
// The furthest that a wanted line's first piece is searched for.
constexpr uint64_t kSlackBytes = uint64_t{1024} * 1024;

absl::Status ReadAt(int fd, uint64_t offset, uint64_t count, std::string* out) {
  out->resize(count);
  size_t done = 0;
  while (done < count) {
    const ssize_t got =
        pread(fd, out->data() + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read the log");
    if (got == 0) break;  // the file was cut meanwhile
    done += static_cast<size_t>(got);
  }
  out->resize(done);
  return absl::OkStatus();
}

// Scans records from the end of the file to its start.
class BackwardScan {
 public:
  BackwardScan(int fd, uint64_t end, uint64_t lines, const WantedTime& wanted)
      : fd_(fd), end_(end), left_(lines), wanted_(wanted), begin_(end) {
    if (left_ == 0) enough_ = end;
  }

  // The offset of a record. Behind it are the ends of `lines` wanted lines, and the pieces that may
  // belong to them. 0: the file has fewer.
  absl::StatusOr<uint64_t> Find() {
    std::string block;
    for (uint64_t at = end_; at > 0;) {
      const uint64_t from = at - std::min(at, kBlockBytes);
      // The block overlaps the next one by a header: a record may begin at its end.
      PLIMSOLL_RETURN_IF_ERROR(ReadAt(fd_, from, std::min(end_, at + kHeaderBytes) - from, &block));
      if (FoundIn(block, from, at)) return begin_;
      at = from;
      if (enough_.has_value() && at + kSlackBytes < *enough_) return begin_;
    }
    return 0;
  }

 private:
  // Looks at the records that begin behind a newline in [from, to).
  bool FoundIn(absl::string_view block, uint64_t from, uint64_t to) {
    size_t rest = std::min<size_t>(block.size(), to - from);
    while (rest > 0) {
      const void* newline = memrchr(block.data(), '\n', rest);
      if (newline == nullptr) return false;
      rest = static_cast<size_t>(static_cast<const char*>(newline) - block.data());
      if (from + rest + 1 < end_ && Found(from + rest + 1, block.substr(rest + 1, kHeaderBytes))) {
        return true;
      }
    }
    return false;
  }

  bool Found(uint64_t record, absl::string_view header) {
    if (enough_.has_value() && record + kSlackBytes < *enough_) return true;
    begin_ = record;
    if (enough_.has_value()) return false;
    const std::optional<LogRecord> read = ParseLogLine(header.substr(0, header.find('\n')));
    if (!read.has_value() || read->partial || !wanted_(read->time)) return false;
    if (--left_ == 0) enough_ = record;
    return false;
  }

  const int fd_;
  const uint64_t end_;
  uint64_t left_;
  const WantedTime& wanted_;
  uint64_t begin_;                  // the record last seen
  std::optional<uint64_t> enough_;  // the record in which the first of the last lines ends
};

absl::StatusOr<uint64_t> CountLines(const LogTail& tail, LogReader reader, bool flush,
                                    const WantedTime& wanted) {
  uint64_t lines = 0;
  const auto count = [&](const LogLine& line) { lines += wanted(line.time) ? 1 : 0; };
  UniqueFd file(fcntl(tail.file.get(), F_DUPFD_CLOEXEC, 0));
  if (!file.valid()) return ErrnoStatus(errno, "duplicate a descriptor");
  PLIMSOLL_RETURN_IF_ERROR(reader.Begin(std::move(file), tail.begin));
  PLIMSOLL_RETURN_IF_ERROR(reader.ReadBytes(tail.end - tail.begin, count));
  if (flush) reader.Flush(count);
  return lines;
}

}  // namespace

absl::StatusOr<LogTail> FindTail(const FsRoot& root, const std::string& path, uint64_t lines,
                                 bool flush, const WantedTime& wanted) {
  LogTail tail;
  // A pod that mounts the directory of logs could put a link or a FIFO there.
  absl::StatusOr<UniqueFd> file = root.OpenFile(path, kOpenToLook | O_NOFOLLOW);
  if (absl::IsNotFound(file.status())) return tail;
  PLIMSOLL_RETURN_IF_ERROR(file.status());
  tail.file = *std::move(file);
  struct stat info = {};
  if (fstat(tail.file.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
  tail.end = static_cast<uint64_t>(info.st_size);
  for (uint64_t ends = lines;;) {
    PLIMSOLL_ASSIGN_OR_RETURN(tail.begin,
                              BackwardScan(tail.file.get(), tail.end, ends, wanted).Find());
    PLIMSOLL_ASSIGN_OR_RETURN(tail.lines, CountLines(tail, LogReader(root, path), flush, wanted));
    // A line has the time of its first piece, which the scan doesn't see.
    if (tail.lines >= lines || tail.begin == 0) return tail;
    ends = ends > std::numeric_limits<uint64_t>::max() / 2 ? ends : 2 * ends;
  }
}

absl::Status ReadTail(LogTail tail, uint64_t lines, bool flush, const WantedTime& wanted,
                      LogReader& reader, const LogReader::Sink& sink) {
  if (!tail.file.valid()) return absl::OkStatus();
  uint64_t surplus = tail.lines - std::min(tail.lines, lines);
  const auto take = [&](const LogLine& line) {
    if (!wanted(line.time)) return;
    if (surplus == 0) return sink(line);
    --surplus;
  };
  PLIMSOLL_RETURN_IF_ERROR(reader.Begin(std::move(tail.file), tail.begin));
  PLIMSOLL_RETURN_IF_ERROR(reader.ReadBytes(tail.end - tail.begin, take));
  if (flush) reader.Flush(take);
  return absl::OkStatus();
}

}  // namespace plimsoll::pod
