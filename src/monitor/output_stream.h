// An output stream of a container on its way into the log, cut into lines. Used by one thread.
#ifndef PLIMSOLL_MONITOR_OUTPUT_STREAM_H_
#define PLIMSOLL_MONITOR_OUTPUT_STREAM_H_

#include <cstddef>
#include <cstdint>

#include "monitor/attachments.h"
#include "monitor/log_file.h"
#include "monitor/protocol.h"

namespace plimsoll::monitor {

class OutputStream {
 public:
  // A line longer than this becomes several entries.
  static constexpr size_t kMaxLine = 16 * 1024;

  // `name` is "stdout" or "stderr".
  OutputStream(const char* name, LogFile* log) : name_(name), log_(log) {}
  ~OutputStream() { Close(); }
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  // From now on output is also passed on to attached clients, as packets of that kind.
  void PassOn(Attachments* attachments, char kind) {
    attachments_ = attachments;
    kind_ = kind;
  }
  // Takes over `fd`, makes it non-blocking, and reads from it from now on.
  void Read(int fd);
  // The descriptor to poll; -1 once the writers are gone, or while a terminal is hung up.
  int fd() const { return hung_up_ ? -1 : fd_; }
  // Whether no process has the terminal open now; the next Pump notices when one opens it again.
  bool hung_up() const { return hung_up_; }

  // Reads at most one buffer and logs the complete lines. Returns the number of bytes: 0 when
  // nothing was there or the writers are gone.
  size_t Pump();
  // Reads the rest of the pipe, without waiting for its writers, and logs an incomplete last line.
  void Finish();
  // Reads at most one buffer without logging it: an OCI runtime and its hooks mustn't wait for room
  // in the pipe. Bytes beyond the first 64 KiB are dropped.
  void Hold();
  // Logs the complete lines of held output.
  void LogHeld();
  // The first bytes that Pump has read, null-terminated, whichever process wrote them. If init
  // could not execute its program, they are the OCI runtime's message.
  const char* First() const { return first_; }
  // Bytes read and not logged yet: the message of a runtime that failed. Null-terminated.
  const char* Unlogged();

 private:
  void LogLines(int64_t now);
  void KeepFirst(const char* bytes, size_t size);
  void Close();

  const char* name_;
  LogFile* log_;
  Attachments* attachments_ = nullptr;
  char kind_ = 0;
  int fd_ = -1;
  bool hung_up_ = false;
  size_t size_ = 0;  // bytes in buffer_
  size_t first_size_ = 0;
  char first_[kMaxStartError] = {};
  char buffer_[4 * kMaxLine];
};

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_OUTPUT_STREAM_H_
