// The plugins' answers to STATUS (CNI specification 1.1.0): could they serve an ADD now? A short
// failure among good answers changes nothing, since it would make the whole node unready.
#ifndef PLIMSOLL_NETWORK_PLUGIN_STATUS_H_
#define PLIMSOLL_NETWORK_PLUGIN_STATUS_H_

#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plimsoll::network {

// An answer counts for this time. Plugins are asked no more often.
inline constexpr absl::Duration kStatusAge = absl::Seconds(5);
// Plugins that have served count as ready for this time after the first failure.
inline constexpr absl::Duration kStatusGrace = absl::Seconds(30);

// Thread-safe.
class PluginStatus {
 public:
  // `now`: a clock without jumps. `tell`: receives a failure that is passed over, once until the
  // next success; in any thread; may be null.
  PluginStatus(std::function<absl::Time()> now, std::function<void(const std::string&)> tell);

  // OK: the plugins of `config` can serve, or could until less than kStatusGrace ago. Otherwise the
  // answer of `ask`. A configuration whose plugins have never served has no grace. One caller at a
  // time asks. The others don't wait: they get the last answer, even another configuration's.
  // UNAVAILABLE: the first is still awaited.
  absl::Status Of(const std::string& config, const std::function<absl::Status()>& ask);

 private:
  absl::Status Verdict() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the text to report; empty: none.
  std::string Take(const std::string& config, const absl::Status& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<absl::Time()> now_;
  const std::function<void(const std::string&)> tell_;
  absl::Mutex mutex_;
  bool is_asking_ ABSL_GUARDED_BY(mutex_) = false;
  std::string config_ ABSL_GUARDED_BY(mutex_);  // the answer's
  absl::Status answer_ ABSL_GUARDED_BY(mutex_) =
      absl::UnavailableError("plugins are being asked for their status");
  absl::Time asked_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool has_served_ ABSL_GUARDED_BY(mutex_) = false;
  // The first failure since the last success.
  absl::Time failing_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
};

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_PLUGIN_STATUS_H_
