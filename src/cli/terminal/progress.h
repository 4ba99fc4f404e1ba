// A progress bar on a terminal; one line per step where there is none.
#ifndef PLIMSOLL_CLI_TERMINAL_PROGRESS_H_
#define PLIMSOLL_CLI_TERMINAL_PROGRESS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plimsoll::cli {

// One state of the bar, at most `width` columns: "copying blob ab12  [=====>     ]  45%  12 MiB".
// `total` 0: unknown, no bar.
std::string ProgressLine(absl::string_view step, uint64_t done, uint64_t total, size_t width);

// Writes to standard error. Not thread-safe.
class ProgressBar {
 public:
  explicit ProgressBar(std::string title);
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Update(absl::string_view step, uint64_t done, uint64_t total);

 private:
  const std::string title_;
  const bool terminal_;
  std::string step_;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_PROGRESS_H_
