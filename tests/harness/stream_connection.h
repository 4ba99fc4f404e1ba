// A client's connection to the streaming server: blocking, with a time limit on each wait, over TCP
// or TLS. Written for the tests alone, so that they share no mistake with the server.
#ifndef PLIMSOLL_TESTS_HARNESS_STREAM_CONNECTION_H_
#define PLIMSOLL_TESTS_HARNESS_STREAM_CONNECTION_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plimsoll::testing {

// An answer; the names of its headers are in lower case.
struct HttpAnswer {
  int code = 0;
  std::map<std::string, std::string> headers;
  std::string body;  // the part that came with the headers
};

// Not thread-safe, except that over TCP one thread may write while another reads.
class StreamConnection {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  virtual ~StreamConnection() = default;

  // Connects to an address of the form "http://127.0.0.1:1234/path" or https; certificates are not
  // checked.
  static absl::StatusOr<std::unique_ptr<StreamConnection>> Connect(const std::string& url);

  // Sends a request for the URL's path and reads the answer's head.
  absl::StatusOr<HttpAnswer> Request(const std::string& method, const Headers& headers);

  virtual absl::Status Write(absl::string_view bytes) = 0;
  // Reads at least one byte; empty: the end. DEADLINE_EXCEEDED when nothing comes within `limit`.
  absl::StatusOr<std::string> Read(absl::Duration limit);
  // Reads exactly that many bytes. OUT_OF_RANGE at the end.
  absl::StatusOr<std::string> ReadExactly(size_t size, absl::Duration limit);
  // Sends no more (TCP's half close).
  virtual void Shutdown() = 0;
  // Makes the close a reset, which overtakes bytes that the server hasn't read.
  virtual void ResetAtClose() = 0;
  // Makes the close silent, as when a machine loses power. Needs CAP_NET_ADMIN.
  virtual absl::Status TellNobodyAtClose() = 0;
  // Whether the server has announced the end (TLS's close_notify); call it after Read has found the
  // end.
  virtual bool HasEndBeenSaid() const { return false; }

 protected:
  explicit StreamConnection(std::string path) : path_(std::move(path)) {}
  virtual absl::StatusOr<std::string> ReadSome(absl::Duration limit) = 0;

 private:
  const std::string path_;
  std::string host_ = "localhost";
  std::string unread_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_STREAM_CONNECTION_H_
