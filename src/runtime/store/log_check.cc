#include "runtime/store/log_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "runtime/store/damage.h"
#include "sqlite/log_header.h"

namespace plimsoll::runtime {
namespace {

using sqlite::kLogHeaderBytes;
using sqlite::LogChecksum;
using sqlite::LogHeader;
using sqlite::LogIndex;
using sqlite::WordAt;

constexpr size_t kFrameHeader = 24;

uint32_t BigEndian(const char* bytes) {
  return WordAt(bytes, /*big_endian=*/true);
}

// A file that may be missing, which reads as an empty one.
class File {
 public:
  static absl::StatusOr<File> Open(const FsRoot& directory, const std::string& name) {
    absl::StatusOr<UniqueFd> fd = directory.OpenFile(name, O_RDONLY);
    if (absl::IsNotFound(fd.status())) return File(UniqueFd(), directory.PathOf(name));
    PLIMSOLL_RETURN_IF_ERROR(fd.status());
    return File(*std::move(fd), directory.PathOf(name));
  }

  // Reads `size` bytes, fewer only at the file's end.
  absl::StatusOr<absl::string_view> Read(uint64_t offset, size_t size) {
    buffer_.resize(size);
    size_t done = 0;
    while (fd_.valid() && done < size) {
      const ssize_t count =
          pread(fd_.get(), buffer_.data() + done, size - done, static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return ErrnoStatus(errno, absl::StrCat("read ", path_));
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    return absl::string_view(buffer_.data(), done);  // valid until the next Read
  }

  bool is_there() const { return fd_.valid(); }

 private:
  File(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
  std::string buffer_;
};

// nullopt: no index, or no valid copy.
absl::StatusOr<std::optional<LogIndex>> ReadIndex(const FsRoot& directory,
                                                  const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(File file, File::Open(directory, name));
  PLIMSOLL_ASSIGN_OR_RETURN(const absl::string_view bytes, file.Read(0, sqlite::kLogIndexBytes));
  return sqlite::ParseLogIndex(bytes);
}

struct Frames {
  uint32_t whole = 0;  // frames before the first wrong one
  // The last frame behind that one which has the log's salts and ends a transaction; 0: none.
  uint32_t committed_after = 0;
};

absl::StatusOr<Frames> ReadFrames(File& log, const LogHeader& header) {
  Frames frames;
  LogChecksum checksum = header.checksum;
  const size_t size = kFrameHeader + header.page_size;
  bool unbroken = true;
  for (uint32_t number = 1;; ++number) {
    PLIMSOLL_ASSIGN_OR_RETURN(const absl::string_view frame,
                              log.Read(kLogHeaderBytes + uint64_t{number - 1} * size, size));
    if (frame.size() < size) return frames;
    const bool is_ours = frame.substr(8, 8) == header.salts;  // else from the log's last round
    if (!unbroken) {
      if (is_ours && BigEndian(frame.data() + 4) != 0) frames.committed_after = number;
      continue;
    }
    checksum.Add(frame.data(), 8, header.big_endian);
    checksum.Add(frame.data() + kFrameHeader, header.page_size, header.big_endian);
    unbroken = is_ours && BigEndian(frame.data()) != 0 &&
               checksum.Matches(frame.data() + 16, /*big_endian=*/true);
    if (unbroken) frames.whole = number;
  }
}

}  // namespace

absl::Status CheckLog(const FsRoot& directory, const std::string& name) {
  const std::string path = directory.PathOf(name);
  const auto damaged = [&path](absl::string_view what) {
    return DamagedError(path, absl::StrCat("its log ", path, "-wal ", what));
  };
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<LogIndex> index,
                            ReadIndex(directory, absl::StrCat(name, "-shm")));
  if (index.has_value() && index->frames == 0) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(File log, File::Open(directory, absl::StrCat(name, "-wal")));
  PLIMSOLL_ASSIGN_OR_RETURN(const absl::string_view start, log.Read(0, kLogHeaderBytes));
  if (start.empty() && !index.has_value()) return absl::OkStatus();
  const std::optional<LogHeader> header = sqlite::ParseLogHeader(start);
  if (start.empty()) {
    return damaged(absl::StrCat(log.is_there() ? "is empty" : "is not there", ", and there were ",
                                index->frames, " frames of changes in it"));
  }
  if (!header.has_value()) return damaged("has a broken header, and all in it would be lost");
  if (index.has_value() && index->salts != header->salts) {
    return damaged("isn't the one that was last written to");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Frames frames, ReadFrames(log, *header));
  const uint32_t expected = index.has_value() ? index->frames : frames.committed_after;
  if (frames.whole >= expected) return absl::OkStatus();
  return damaged(absl::StrCat("is broken at frame ", frames.whole + 1, " of ", expected,
                              ", and the changes from there on would be lost"));
}

}  // namespace plimsoll::runtime
