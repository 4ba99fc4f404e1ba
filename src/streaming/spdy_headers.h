// Header blocks of SPDY/3.1 (section 2.6.10): pairs of name and value, compressed by zlib with a
// dictionary. Each direction of a connection is one zlib stream, so blocks must be read in the
// order in which they were written.
#ifndef PLIMSOLL_STREAMING_SPDY_HEADERS_H_
#define PLIMSOLL_STREAMING_SPDY_HEADERS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct z_stream_s;  // zlib.h

namespace plimsoll::streaming {

// Names in lower case, in the order of the block.
using SpdyHeaders = std::vector<std::pair<std::string, std::string>>;

// The value of `name` (in lower case); empty if absent.
absl::string_view HeaderOf(const SpdyHeaders& headers, absl::string_view name);

// Used by one thread.
class SpdyHeaderReader {
 public:
  // Limit of one decompressed block. More is RESOURCE_EXHAUSTED: a small block can grow a
  // thousandfold.
  static constexpr size_t kMaxBytes = 64 * 1024;
  static constexpr size_t kMaxHeaders = 256;

  SpdyHeaderReader();
  ~SpdyHeaderReader();
  SpdyHeaderReader(const SpdyHeaderReader&) = delete;
  SpdyHeaderReader& operator=(const SpdyHeaderReader&) = delete;

  // INVALID_ARGUMENT for a malformed block. After an error the connection can't be read any
  // further.
  absl::StatusOr<SpdyHeaders> Read(absl::string_view block);

 private:
  absl::StatusOr<std::string> Decompress(absl::string_view block);

  const std::unique_ptr<z_stream_s> zlib_;
  bool usable_ = false;
};

// Used by one thread.
class SpdyHeaderWriter {
 public:
  SpdyHeaderWriter();
  ~SpdyHeaderWriter();
  SpdyHeaderWriter(const SpdyHeaderWriter&) = delete;
  SpdyHeaderWriter& operator=(const SpdyHeaderWriter&) = delete;

  absl::StatusOr<std::string> Write(const SpdyHeaders& headers);

 private:
  const std::unique_ptr<z_stream_s> zlib_;
  bool usable_ = false;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_SPDY_HEADERS_H_
