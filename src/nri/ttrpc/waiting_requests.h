// Calls of the other side that wait to be served.
#ifndef PLIMSOLL_NRI_TTRPC_WAITING_REQUESTS_H_
#define PLIMSOLL_NRI_TTRPC_WAITING_REQUESTS_H_

#include <cstddef>
#include <deque>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "nri/ttrpc/message.h"

namespace plimsoll::nri {

// A bounded queue from the thread that reads to the one that serves. The former must never wait, as
// it also brings the answers that the latter may be waiting for; so there is no back pressure, and
// a flood is an error.
class WaitingRequests {
 public:
  // The bodies of all that wait together.
  static constexpr size_t kMaxBytes = 4 * kMaxMessageBytes;

  explicit WaitingRequests(size_t max_requests) : max_requests_(max_requests) {}

  // RESOURCE_EXHAUSTED, and the message is dropped: too many wait.
  absl::Status Push(Message message);
  // Waits for one. Nothing: End was called.
  std::optional<Message> Pop();
  // Drops what waits.
  void End();

 private:
  const size_t max_requests_;
  absl::Mutex mutex_;
  std::deque<Message> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_TTRPC_WAITING_REQUESTS_H_
