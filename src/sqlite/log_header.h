// The header of a database's write-ahead log (<file>-wal).
//
// SQLite takes a log whose header it doesn't understand for an empty one, and forgets all commits
// in it without a word.
#ifndef PLIMSOLL_SQLITE_LOG_HEADER_H_
#define PLIMSOLL_SQLITE_LOG_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::sqlite {

// https://www.sqlite.org/fileformat2.html section 4. Numbers are big-endian.
inline constexpr size_t kLogHeaderBytes = 32;
inline constexpr uint32_t kLogFormatVersion = 3007000;  // of the log and of its index

// The four bytes there as a number.
uint32_t WordAt(const char* bytes, bool big_endian);

struct LogChecksum {
  uint32_t first = 0;
  uint32_t second = 0;

  // `size` is a multiple of 8.
  void Add(const char* bytes, size_t size, bool big_endian);
  bool Matches(const char* bytes, bool big_endian) const;
};

struct LogHeader {
  bool big_endian = false;  // byte order of the checksummed words
  uint32_t page_size = 0;
  std::string salts;
  LogChecksum checksum;  // the frames' checksums continue it
};

// nullopt: SQLite would not take the header.
std::optional<LogHeader> ParseLogHeader(absl::string_view bytes);

// The log's index (<file>-shm), as the last commit left it; it outlives a killed process.
// https://www.sqlite.org/walformat.html section 2.1.
struct LogIndex {
  uint32_t frames = 0;  // frames up to the last commit
  std::string salts;
};

// The header's two copies, in the machine's own byte order except for the salts.
inline constexpr size_t kLogIndexBytes = 2 * 48;

// nullopt: no valid copy. A kill may interrupt the write of one of the two copies, never of both.
std::optional<LogIndex> ParseLogIndex(absl::string_view bytes);

// The reason why SQLite would drop the commits in the log of the database at `path`. Empty: the
// header is whole, or no commit follows it. After a power cut a new log may be shorter than its
// header, or all zeros, as SQLite writes no commit before the header is on the disk. `is_synced`:
// each commit is on the disk before the index counts it, so that a log which lost what the index
// counts is damaged, too. SQLite itself reports a log that can't be read.
std::string FaultOfLog(const std::string& path, bool is_synced);

}  // namespace plimsoll::sqlite

#endif  // PLIMSOLL_SQLITE_LOG_HEADER_H_
