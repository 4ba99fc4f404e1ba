// HTTP/1.1 responses: their text, and the reader of it.
#ifndef PLIMSOLL_AGENT_HTTP_RESPONSE_H_
#define PLIMSOLL_AGENT_HTTP_RESPONSE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::agent {

inline constexpr char kJsonType[] = "application/json";
inline constexpr char kTextType[] = "text/plain; charset=utf-8";

struct ResponseHead {
  int code = 200;
  std::string type = kJsonType;
  std::optional<size_t> length;  // bytes of the body; nullopt: it comes in chunks
  bool chunked = false;          // else a body without a length ends with the connection
  bool keep_alive = false;
  std::vector<std::string> fields;  // further ones, as "Allow: GET"
};
std::string FormatHead(const ResponseHead& head);
// One chunk of a body. `text` is not empty: an empty chunk is the last one.
std::string FormatChunk(absl::string_view text);
inline constexpr char kLastChunk[] = "0\r\n\r\n";

// Reads one response from bytes as they arrive, its body piece by piece.
class ResponseReader {
 public:
  ResponseReader();
  ~ResponseReader();
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  // Takes the response's bytes from the front of `input`. True: it is whole. UNAVAILABLE: this is
  // no HTTP response.
  absl::StatusOr<bool> Take(std::string* input);
  // The connection has ended. UNAVAILABLE: in the middle of the response.
  absl::Status End();
  bool header_done() const;
  int code() const;  // known with the header
  // The part of the body that has come since the last call.
  std::string TakeBody();

 private:
  struct Parser;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_HTTP_RESPONSE_H_
