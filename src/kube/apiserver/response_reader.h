// One HTTP/1.1 response, read from bytes as they arrive.
#ifndef PLIMSOLL_KUBE_APISERVER_RESPONSE_READER_H_
#define PLIMSOLL_KUBE_APISERVER_RESPONSE_READER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::kube {

class ResponseReader {
 public:
  explicit ResponseReader(uint32_t most_header_bytes);
  ~ResponseReader();
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  // Takes the response's bytes from the front of `input`. True: it is whole. UNAVAILABLE: this is
  // no HTTP response, or its header is too long.
  absl::StatusOr<bool> Take(std::string* input);
  // The connection has ended. UNAVAILABLE: in the middle of the response.
  absl::Status End();
  // Some of it has come.
  bool begun() const;
  bool header_done() const;
  // Known with the header, as the next ones.
  int code() const;
  std::string retry_after() const;
  std::string location() const;
  // The connection can be used for another request.
  bool keeps_alive() const;
  // The part of the body that has come since the last call: no more than the last Take took.
  std::string TakeBody();

 private:
  struct Parser;
  const uint32_t most_header_bytes_;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_RESPONSE_READER_H_
