// Joins lines for standard output and standard error into large writes.
#ifndef PLIMSOLL_CLI_TERMINAL_LINE_BUFFER_H_
#define PLIMSOLL_CLI_TERMINAL_LINE_BUFFER_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace plimsoll::cli {

// Call Flush before each wait, or lines stay unseen. Not thread-safe.
class LineBuffer {
 public:
  using Write = std::function<void(absl::string_view text, bool is_stderr)>;

  explicit LineBuffer(Write write) : write_(std::move(write)) {}
  ~LineBuffer() { Flush(); }
  LineBuffer(const LineBuffer&) = delete;
  LineBuffer& operator=(const LineBuffer&) = delete;

  // Writes by itself where the stream changes, which keeps the order, and once 64 KiB are buffered.
  void Add(absl::string_view line, bool is_stderr) {
    if (is_stderr != is_stderr_) Flush();
    is_stderr_ = is_stderr;
    text_.append(line.data(), line.size());
    if (text_.size() >= kMostBytes) Flush();
  }
  void Flush() {
    if (!text_.empty()) write_(text_, is_stderr_);
    text_.clear();
  }

 private:
  static constexpr size_t kMostBytes = size_t{64} * 1024;

  const Write write_;
  std::string text_;
  bool is_stderr_ = false;
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_LINE_BUFFER_H_
