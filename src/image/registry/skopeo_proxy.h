// Streams an image's blobs from `skopeo experimental-image-proxy`.
#ifndef PLIMSOLL_IMAGE_REGISTRY_SKOPEO_PROXY_H_
#define PLIMSOLL_IMAGE_REGISTRY_SKOPEO_PROXY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"

namespace plimsoll::image {

// One process that sends one blob after the other; several processes send several at once. It
// speaks JSON over a socket of packets (containers/skopeo, docs-experimental, version 0.2):
// {"method", "args"} and {"success", "value", "pipeid", "error"}, with a pipe's descriptor beside.
// It doesn't check images against policy.json. Not thread-safe.
class SkopeoProxy {
 public:
  struct Waiting {
    std::function<bool()> stopped;  // may be null
    absl::Duration stall_timeout = absl::InfiniteDuration();
    std::string what;      // "pull registry.example/app:1", for messages
    std::string registry;  // for messages
    // Translates skopeo's words.
    std::function<absl::Status(absl::string_view words)> translate;
    // Translates the end of a skopeo that ended by itself: how, and its words.
    std::function<absl::Status(absl::string_view how, absl::string_view words)> ended;
  };

  // Runs `command` with `--sockfd 3` appended. UNIMPLEMENTED when this skopeo is no such proxy: it
  // ends by itself without an answer, or its version is not 0.2.
  static absl::StatusOr<std::unique_ptr<SkopeoProxy>> Start(Command command, Waiting waiting);
  // Ends the process.
  ~SkopeoProxy();

  // "docker://registry.example/app@sha256:..."
  absl::Status OpenImage(const std::string& source);
  // A non-blocking pipe that delivers the blob and then ends. `size`: the manifest's, or -1 for
  // none.
  absl::StatusOr<UniqueFd> Begin(absl::string_view digest, int64_t size);
  // After the pipe's end: OK if the blob was whole.
  absl::Status End();
  // True when every request has its answer. An answer still owed would go to the next request.
  bool is_at_rest() const { return !owes_answer_; }

  // Waits a moment for the descriptor to be readable. CANCELLED; UNAVAILABLE when nothing has come
  // for too long since `last`, a time of MonotonicNow.
  absl::Status AwaitReadable(int fd, absl::Time last) const;
  const Waiting& waiting() const { return waiting_; }

 private:
  struct Reply;
  SkopeoProxy(Child child, UniqueFd socket, UniqueFd errors, Waiting waiting)
      : child_(std::move(child)),
        socket_(std::move(socket)),
        errors_(std::move(errors)),
        waiting_(std::move(waiting)) {}
  absl::Status Initialize();
  absl::Status Send(absl::string_view request);
  absl::StatusOr<Reply> Receive();
  absl::StatusOr<Reply> ReceiveMessage();
  absl::Status Gone();

  Child child_;
  const UniqueFd socket_;
  const UniqueFd errors_;  // a file of fixed size for its standard error
  const Waiting waiting_;
  bool is_proxy_ = false;  // its first answer has shown it
  bool owes_answer_ = false;
  uint64_t image_ = 0;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_REGISTRY_SKOPEO_PROXY_H_
