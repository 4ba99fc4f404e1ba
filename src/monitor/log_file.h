// A container's log in the format that kubelet reads: one entry a line,
//
//   2026-11-21T03:10:53.123456789Z stdout F the line, without its newline
//
// with tag P instead of F where the line goes on in the stream's next entry (CRI, "Container
// logging"). Used by one thread.
#ifndef PLIMSOLL_MONITOR_LOG_FILE_H_
#define PLIMSOLL_MONITOR_LOG_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace plimsoll::monitor {

class LogFile {
 public:
  LogFile() = default;
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Opens or makes the file, mode 0640, and closes the previous one. 0 or an errno; after an error
  // the previous one stays. A pod that can write to the directory of logs (to ship them) must not
  // redirect the writes. So no symlink is followed (ELOOP), and the file stays below the directory
  // `below`, with which the path begins (null: the file's own). A file that isn't regular is not
  // opened, ENOTSUP or EISDIR: opening a FIFO would block.
  int Open(const char* path, const char* below = nullptr);
  bool is_open() const { return fd_ >= 0; }
  // From now on a file that has grown to `max_bytes` is renamed "<path>.1", replacing an earlier
  // one, and a new one is begun at `path`, which must outlive this. Where that fails the file grows
  // on.
  void LimitSize(const char* path, int64_t max_bytes);

  // Adds one entry, at `unix_nanos`, to what Flush writes. `stream` is "stdout" or "stderr".
  void Add(const char* stream, bool full, const char* text, size_t size, int64_t unix_nanos);
  // Writes the entries. A container never waits for its log: entries that the file doesn't take (a
  // full disk) are dropped whole, and an entry that says so follows as soon as there is room.
  void Flush();

 private:
  size_t Format(char* to, const char* stream, bool full, const char* text, size_t size,
                int64_t unix_nanos);
  bool Append(const char* bytes, size_t size);
  bool AppendLossNote();
  void RotateIfFull();

  int fd_ = -1;
  const char* path_ = nullptr;  // set with a limit
  int64_t max_bytes_ = 0;       // 0: no limit
  size_t size_ = 0;             // bytes in buffer_
  char buffer_[64 * 1024];
  uint64_t lost_bytes_ = 0;
  int lost_errno_ = 0;
  int64_t last_nanos_ = 0;
  // The formatted time up to the second, for the next entry of the same second.
  int64_t formatted_second_ = -1;
  char formatted_[20];
};

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_LOG_FILE_H_
