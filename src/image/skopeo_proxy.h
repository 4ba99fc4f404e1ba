// Blobs of an image as streams, from `skopeo experimental-image-proxy`.
#ifndef PLIMSOLL_IMAGE_SKOPEO_PROXY_H_
#define PLIMSOLL_IMAGE_SKOPEO_PROXY_H_

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
#include "base/subprocess.h"
#include "base/unique_fd.h"

namespace plimsoll::image {

// One process that gives one blob after the other; several beside each other give several at once.
// It speaks JSON over a socket of packets (containers/skopeo, docs-experimental, version 0.2):
// {"method", "args"} and {"success", "value", "pipeid", "error"}, with a pipe's descriptor beside.
// It doesn't hold images against policy.json. Not thread-safe.
class SkopeoProxy {
 public:
  struct Waiting {
    std::function<bool()> stopped;  // may be null
    absl::Duration stall_timeout = absl::InfiniteDuration();
    std::string what;      // "pull registry.example/app:1", for messages
    std::string registry;  // for messages
    // Of what skopeo says.
    std::function<absl::Status(absl::string_view words)> translate;
    // Of a skopeo that has ended by itself: how, and what it has said.
    std::function<absl::Status(absl::string_view how, absl::string_view words)> ended;
  };

  // `command` is run with `--sockfd 3` behind it. UNIMPLEMENTED when this skopeo is no such proxy:
  // it ends by itself without an answer, or gives another than version 0.2's.
  static absl::StatusOr<std::unique_ptr<SkopeoProxy>> Start(Command command, Waiting waiting);
  // Ends the process.
  ~SkopeoProxy();

  // "docker://registry.example/app@sha256:..."
  absl::Status OpenImage(const std::string& source);
  // A pipe that gives the blob and then ends, not blocking. `size`: what the manifest says, -1
  // where it doesn't.
  absl::StatusOr<UniqueFd> Begin(absl::string_view digest, int64_t size);
  // After the pipe's end, whether the blob was whole.
  absl::Status End();
  // Whether every request has its answer. A proxy that owes one would give it to the next request.
  bool is_at_rest() const { return !owes_answer_; }

  // Waits a moment for the descriptor to be readable. CANCELLED; UNAVAILABLE where nothing has come
  // since `last`, a moment of MonotonicNow, for too long.
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
  const UniqueFd errors_;  // a file of a fixed size, to which its standard error goes
  const Waiting waiting_;
  bool is_proxy_ = false;  // as its first answer has shown
  bool owes_answer_ = false;
  uint64_t image_ = 0;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_SKOPEO_PROXY_H_
