// The calls of this side that have no answer yet.
#ifndef PLIMSOLL_NRI_TTRPC_PENDING_CALLS_H_
#define PLIMSOLL_NRI_TTRPC_PENDING_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/steady_time.h"
#include "nri/ttrpc/message.h"

namespace plimsoll::nri {

// UNAVAILABLE, with the reason for which the connection has ended; OK: it was closed here.
absl::Status EndedFor(const absl::Status& why);

// Thread-safe. A call is begun, awaited and forgotten by one thread; answers come from another.
class PendingCalls {
 public:
  // The new call's stream id. UNAVAILABLE after End, or when all ids are used up.
  absl::StatusOr<uint32_t> Begin();
  // The answer. Forgets the call in any case. DEADLINE_EXCEEDED; UNAVAILABLE after End.
  absl::StatusOr<Message> Await(uint32_t stream, SteadyTime deadline);
  // The call was not sent.
  void Forget(uint32_t stream);

  // The message answers a call, or one that was given up a while ago. INVALID_ARGUMENT: it answers
  // none, or one a second time.
  absl::Status Answer(Message message);
  // All calls fail with UNAVAILABLE for the reason, as do later ones. What was answered stays so.
  void End(const absl::Status& why);

 private:
  mutable absl::Mutex mutex_;
  uint32_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint32_t, std::optional<Message>> calls_ ABSL_GUARDED_BY(mutex_);
  std::set<uint32_t> given_up_ ABSL_GUARDED_BY(mutex_);  // an answer may come yet
  bool is_ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_TTRPC_PENDING_CALLS_H_
