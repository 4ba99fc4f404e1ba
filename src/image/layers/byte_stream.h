// A byte stream, read once from beginning to end.
#ifndef PLIMSOLL_IMAGE_LAYERS_BYTE_STREAM_H_
#define PLIMSOLL_IMAGE_LAYERS_BYTE_STREAM_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"

namespace plimsoll::image {

// For one thread.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills `buffer` and returns the number of bytes; 0 at the end.
  virtual absl::StatusOr<size_t> Read(char* buffer, size_t size) = 0;

  // Returns once `ready` returns true. `ready` itself waits, for at most the time it is given. A
  // stream whose other side must not wait keeps the data that arrives meanwhile for Read.
  using ReadyFn = std::function<bool(absl::Duration)>;
  virtual absl::Status Await(const ReadyFn& ready) {
    while (!ready(absl::Milliseconds(100))) {
    }
    return absl::OkStatus();
  }
};

// A file from its current offset to its end. `name` is for messages.
class FileStream : public ByteStream {
 public:
  FileStream(UniqueFd fd, absl::string_view name) : fd_(std::move(fd)), name_(name) {}
  absl::StatusOr<size_t> Read(char* buffer, size_t size) override;

 private:
  const UniqueFd fd_;
  const std::string name_;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYERS_BYTE_STREAM_H_
