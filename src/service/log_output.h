// The destination of the log's lines: a descriptor that may stop taking any (a pipe without a
// reader, a journal that hangs). That never blocks a logging thread, which often holds a lock: each
// write of at most PIPE_BUF bytes follows a poll(2). spdlog's own answer, a queue with a thread,
// would end only when the reader comes back.
#ifndef PLIMSOLL_SERVICE_LOG_OUTPUT_H_
#define PLIMSOLL_SERVICE_LOG_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plimsoll {

// Used by one thread at a time.
class LogOutput {
 public:
  // A line that says how many lines before it are lost.
  using LostLine = std::function<std::string(uint64_t count)>;

  // `fd` stays the caller's, and open. `patience`: the longest wait for a line; once one has timed
  // out, later lines don't wait until one gets through.
  LogOutput(int fd, LostLine lost_line, absl::Duration patience = absl::Milliseconds(200));

  // Writes the line and a newline; an untaken line is lost, and counted.
  void Write(absl::string_view line);

 private:
  // True if all of it was taken.
  bool WriteWhole(absl::string_view line);
  // The number of bytes taken before the deadline.
  size_t WriteSome(absl::string_view text, absl::Time deadline) const;

  const int fd_;
  const LostLine lost_line_;
  const absl::Duration patience_;
  bool is_stuck_ = false;
  bool is_cut_ = false;  // the last line lacks its end
  uint64_t lost_ = 0;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_LOG_OUTPUT_H_
