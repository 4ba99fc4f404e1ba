#include "sqlite/log_header.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"

namespace plimsoll::sqlite {
namespace {

constexpr size_t kSalts = 16;               // in the header; 8 bytes
constexpr uint32_t kLogMagic = 0x377f0682;  // its last bit: checksums are over big-endian words
constexpr uint32_t kMinPage = 512;
constexpr uint32_t kMaxPage = 65536;

// Fills the buffer, unless the file ends or can't be read; returns the number of bytes read.
size_t ReadNext(int fd, char* buffer, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = read(fd, buffer + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

// The frames that the database's index counts as committed; 0: none, or there is no index.
uint32_t CommittedFrames(const std::string& path) {
  const UniqueFd fd(open(absl::StrCat(path, "-shm").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return 0;
  char bytes[kLogIndexBytes];
  const std::optional<LogIndex> index =
      ParseLogIndex({bytes, ReadNext(fd.get(), bytes, sizeof(bytes))});
  return index.has_value() ? index->frames : 0;
}

bool AreZero(absl::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

}  // namespace

uint32_t WordAt(const char* bytes, bool big_endian) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[big_endian ? i : 3 - i]);
  }
  return value;
}

void LogChecksum::Add(const char* bytes, size_t size, bool big_endian) {
  for (size_t i = 0; i < size; i += 8) {
    first += WordAt(bytes + i, big_endian) + second;
    second += WordAt(bytes + i + 4, big_endian) + first;
  }
}

bool LogChecksum::Matches(const char* bytes, bool big_endian) const {
  return first == WordAt(bytes, big_endian) && second == WordAt(bytes + 4, big_endian);
}

std::optional<LogHeader> ParseLogHeader(absl::string_view bytes) {
  constexpr bool kBigEndian = true;
  if (bytes.size() < kLogHeaderBytes) return std::nullopt;
  const uint32_t magic = WordAt(bytes.data(), kBigEndian);
  LogHeader header;
  header.big_endian = (magic & 1) != 0;
  header.page_size = WordAt(bytes.data() + 8, kBigEndian);
  header.salts = std::string(bytes.substr(kSalts, 8));
  header.checksum.Add(bytes.data(), kLogHeaderBytes - 8, header.big_endian);
  if ((magic & ~1u) != kLogMagic || WordAt(bytes.data() + 4, kBigEndian) != kLogFormatVersion ||
      !std::has_single_bit(header.page_size) || header.page_size < kMinPage ||
      header.page_size > kMaxPage ||
      !header.checksum.Matches(bytes.data() + kLogHeaderBytes - 8, kBigEndian)) {
    return std::nullopt;
  }
  return header;
}

std::optional<LogIndex> ParseLogIndex(absl::string_view bytes) {
  constexpr bool kBigEndian = std::endian::native == std::endian::big;
  constexpr size_t kCopy = kLogIndexBytes / 2;
  for (size_t at = 0; at + kCopy <= bytes.size(); at += kCopy) {
    const char* header = bytes.data() + at;
    LogChecksum checksum;
    checksum.Add(header, kCopy - 8, kBigEndian);
    const bool is_made = header[12] != 0;
    if (!is_made || WordAt(header, kBigEndian) != kLogFormatVersion ||
        !checksum.Matches(header + kCopy - 8, kBigEndian)) {
      continue;
    }
    return LogIndex{.frames = WordAt(header + 16, kBigEndian),
                    .salts = std::string(header + 32, 8)};
  }
  return std::nullopt;
}

std::string FaultOfLog(const std::string& path, bool is_synced) {
  const std::string log = absl::StrCat(path, "-wal");
  // Not held up by a FIFO.
  const UniqueFd fd(open(log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid() && errno != ENOENT) return "";
  char header[kLogHeaderBytes];
  const size_t size = fd.valid() ? ReadNext(fd.get(), header, sizeof(header)) : 0;
  if (size < sizeof(header)) {
    // An index beside no database is left from one that was moved away.
    const bool is_there = access(path.c_str(), F_OK) == 0;
    const uint32_t lost = is_synced && is_there ? CommittedFrames(path) : 0;
    if (lost == 0) return "";
    return absl::StrCat("its log ", log, fd.valid() ? " is cut off" : " is not there",
                        ", and there were ", lost, " frames of changes in it");
  }
  if (ParseLogHeader({header, size}).has_value()) return "";
  bool is_zero = AreZero({header, size});
  bool has_more = false;
  char buffer[16384];
  while (const size_t more = ReadNext(fd.get(), buffer, sizeof(buffer))) {
    has_more = true;
    is_zero = is_zero && AreZero({buffer, more});
    if (!is_zero) break;
  }
  if (!has_more || is_zero) return "";
  return absl::StrCat("its log ", log, " has a broken header, and all in it would be lost");
}

}  // namespace plimsoll::sqlite
