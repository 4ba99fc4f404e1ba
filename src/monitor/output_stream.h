// One output stream of a container on its way into the log, cut into lines. Used by one thread.
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

  // From now on what is read is passed on to attached clients too, as packets of that kind.
  void PassOn(Attachments* attachments, char kind) {
    attachments_ = attachments;
    kind_ = kind;
  }
  // Reads from `fd` from now on, which it owns and makes non-blocking.
  void Read(int fd);
  // What to poll; -1 once the writers are gone, or while a terminal is hung up.
  int fd() const { return hung_up_ ? -1 : fd_; }
  // A terminal that nobody has open at this moment: the next Pump sees whether somebody has again.
  bool hung_up() const { return hung_up_; }

  // Takes what is there, at most one buffer, and logs the lines that are complete. How many bytes
  // it took: 0 when nothing was there or the writers are gone.
  size_t Pump();
  // Takes what the pipe holds, whoever goes on writing, and logs what is left of a last line.
  void Finish();
  // Takes what is there, at most one buffer, without logging it: an OCI runtime and its hooks
  // mustn't wait for room in the pipe. What is beyond the first 64 KiB is dropped.
  void Hold();
  // Logs the complete lines of what was held.
  void LogHeld();
  // The first of what Pump has read: null-terminated, of whoever wrote it. Of an init that could
  // not execute its program it is the OCI runtime's words.
  const char* First() const { return first_; }
  // What was read and not logged yet: for the message of a runtime that failed. Null-terminated.
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
  size_t size_ = 0;  // what buffer_ holds
  size_t first_size_ = 0;
  char first_[kMaxStartError] = {};
  char buffer_[4 * kMaxLine];
};

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_OUTPUT_STREAM_H_
