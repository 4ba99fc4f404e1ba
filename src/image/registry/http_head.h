// The head of an HTTP/1.1 message: its first line and its fields.
#ifndef PLIMSOLL_IMAGE_REGISTRY_HTTP_HEAD_H_
#define PLIMSOLL_IMAGE_REGISTRY_HTTP_HEAD_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "dial/stream.h"

namespace plimsoll::image {

struct HttpHead {
  std::string first;  // "GET /v2/ HTTP/1.1", "HTTP/1.1 200 OK"
  std::vector<std::pair<std::string, std::string>> fields;

  // A field's value, by its name in any case; empty without one.
  std::string Get(absl::string_view name) const;
  void Remove(absl::string_view name);
  // The code of a response; 0 for anything else.
  int Code() const;
  // With the empty line.
  std::string ToString() const;
};

// INVALID_ARGUMENT for text that is no head; `text` has no empty line at its end.
absl::StatusOr<HttpHead> ParseHttpHead(absl::string_view text);

// Reads a head of at most 64 KiB. Bytes behind its empty line are left in `rest`.
// RESOURCE_EXHAUSTED above the limit, errors of ParseHttpHead and of the stream.
absl::StatusOr<HttpHead> ReadHttpHead(dial::Stream& stream, std::string* rest);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_REGISTRY_HTTP_HEAD_H_
