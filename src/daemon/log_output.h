// Where the log's lines go: a descriptor that may stop taking any (a pipe that nobody reads, a
// journal that hangs). Who logs, often with a lock held, is not stopped by that.
#ifndef PLIMSOLL_DAEMON_LOG_OUTPUT_H_
#define PLIMSOLL_DAEMON_LOG_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plimsoll::daemon {

// Used by one thread at a time.
class LogOutput {
 public:
  // A line that says how many before it are lost.
  using LostLine = std::function<std::string(uint64_t count)>;

  // `fd` stays the caller's, and open. `patience`: how long a line may wait to be taken; once one
  // has, those that follow wait no more until one is.
  LogOutput(int fd, LostLine lost_line, absl::Duration patience = absl::Milliseconds(200));

  // The line, to which a newline is added; what is not taken is lost, and counted.
  void Write(absl::string_view line);

 private:
  // Whether all of it was taken.
  bool WriteWhole(absl::string_view line);
  // What was taken of the text before the deadline.
  size_t WriteSome(absl::string_view text, absl::Time deadline) const;

  const int fd_;
  const LostLine lost_line_;
  const absl::Duration patience_;
  bool is_stuck_ = false;
  bool is_cut_ = false;  // the last line lacks its end
  uint64_t lost_ = 0;
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_LOG_OUTPUT_H_
