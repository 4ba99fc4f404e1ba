// HTTP/1.1 requests: their text, and the reader of it.
#ifndef PLIMSOLL_AGENT_HTTP_REQUEST_H_
#define PLIMSOLL_AGENT_HTTP_REQUEST_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::agent {

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // "/api/v1/pods?watch=true"
  std::string body;
  bool keep_alive = false;   // the client waits for the answer and may ask again
  bool takes_chunks = true;  // HTTP/1.1; else only the connection's end ends a body
};

struct RequestLimits {
  uint32_t header_bytes = 16 * 1024;
  uint64_t body_bytes = 4 * 1024 * 1024;
};

// Reads one request from bytes as they arrive.
class RequestReader {
 public:
  explicit RequestReader(const RequestLimits& limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Takes the request's bytes from the front of `input`; what follows stays there. True: the
  // request is whole. INVALID_ARGUMENT: this is no HTTP request; RESOURCE_EXHAUSTED: the header is
  // too long; OUT_OF_RANGE: the body is.
  absl::StatusOr<bool> Take(std::string* input);
  // The header is whole.
  bool has_header() const;
  // The client sends the body once it has the answer "100 Continue". Known with the header.
  bool awaits_continue() const;
  // The whole request; once.
  HttpRequest Release();

 private:
  struct Parser;
  const std::unique_ptr<Parser> parser_;
};

// The text of a request without keep-alive. `body_type` is empty where there is no body.
std::string FormatRequest(absl::string_view method, absl::string_view target,
                          absl::string_view body_type, absl::string_view body);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_HTTP_REQUEST_H_
