// The streams of `plimsoll cp` in this process: counted, and cancellable.
#ifndef PLIMSOLL_CLI_STREAM_COMMANDS_COPY_STREAM_H_
#define PLIMSOLL_CLI_STREAM_COMMANDS_COPY_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/terminal/progress.h"
#include "image/layers/byte_stream.h"

namespace plimsoll::cli {

// The progress of a copy, shown on a terminal when the copy takes long. Not thread-safe.
class CopyWatch {
 public:
  CopyWatch(std::string title, bool quiet, std::function<bool()> cancelled);

  // CANCELLED after an interrupt.
  absl::Status Step(uint64_t bytes);
  bool cancelled() const { return cancelled_(); }
  // Clears the line.
  void Finish() { bar_.reset(); }

 private:
  const std::string title_;
  const bool shows_;
  const std::function<bool()> cancelled_;
  const absl::Time begin_;
  uint64_t bytes_ = 0;
  std::unique_ptr<ProgressBar> bar_;
};

// Reads from `fd`, and doesn't close it. `name` stands in messages.
class WatchedStream : public image::ByteStream {
 public:
  WatchedStream(int fd, std::string name, CopyWatch& watch)
      : fd_(fd), name_(std::move(name)), watch_(watch) {}
  absl::StatusOr<size_t> Read(char* buffer, size_t size) override;

 private:
  const int fd_;
  const std::string name_;
  CopyWatch& watch_;
};

// Copies everything to `to`. `name` is the target's name in messages.
absl::Status PassOn(image::ByteStream& from, int to, const std::string& name);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_STREAM_COMMANDS_COPY_STREAM_H_
