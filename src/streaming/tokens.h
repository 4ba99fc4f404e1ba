// Admitted stream requests, kept until their client connects.
//
// A CRI call (Exec, Attach, PortForward) describes the stream and is answered with a URL. The token
// at its end is the client's only credential, so it is good for one connection, for a short while,
// and can't be guessed.
#ifndef PLIMSOLL_STREAMING_TOKENS_H_
#define PLIMSOLL_STREAMING_TOKENS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plimsoll::streaming {

enum class StreamKind { kExec, kAttach, kPortForward };

struct StreamRequest {
  StreamKind kind = StreamKind::kExec;
  std::string id;                 // of the container; for kPortForward: of the sandbox
  std::vector<std::string> argv;  // for kExec
  bool input = false;             // for kExec and kAttach, as are the next three
  bool output = false;
  bool errors = false;
  bool terminal = false;
  std::vector<uint16_t> ports;  // for kPortForward; over SPDY the client names them itself
};

// Thread-safe.
class Tokens {
 public:
  static constexpr size_t kMaxTokens = 1000;
  static constexpr size_t kMaxBytes = 64 * 1024 * 1024;  // of all commands' arguments
  static constexpr absl::Duration kLife = absl::Minutes(1);

  // A steady clock: by the wall clock, setting it would end tokens early or late.
  using SteadyTime = std::chrono::steady_clock::time_point;

  explicit Tokens(std::function<SteadyTime()> now = std::chrono::steady_clock::now)
      : now_(std::move(now)) {}

  // 32 characters that are valid in a URL. RESOURCE_EXHAUSTED if too many wait to be used.
  absl::StatusOr<std::string> Add(StreamRequest request);
  // The request, once. nullopt: no such token (any more), or it doesn't fit; then the token stays
  // good.
  std::optional<StreamRequest> Take(
      absl::string_view token, absl::FunctionRef<bool(const StreamRequest&)> fits =
                                   [](const StreamRequest&) { return true; });
  size_t size() const;

 private:
  // The tokens' end times, in order.
  using Ends = std::list<std::pair<SteadyTime, std::string>>;
  struct Entry {
    StreamRequest request;
    Ends::iterator end;
  };

  void DropExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // nullopt: no such token.
  std::optional<StreamRequest> Remove(const std::string& token)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<SteadyTime()> now_;
  mutable absl::Mutex mutex_;
  std::unordered_map<std::string, Entry> requests_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  Ends ends_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_TOKENS_H_
