// Counts of one plugin, over all its connections.
#ifndef PLIMSOLL_NRI_PLUGIN_COUNTS_H_
#define PLIMSOLL_NRI_PLUGIN_COUNTS_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "nri/nri.h"

namespace plimsoll::nri {

// Thread-safe.
class PluginCounts {
 public:
  // The plugin answered, with an error or without: its row of strikes ends, and so does the row of
  // this kind of request.
  void Answered(absl::string_view request, absl::Duration took, const absl::Status& status);
  // It didn't answer. Returns the strikes in a row, of all its requests or of this kind alone: a
  // plugin that answers everything but CreateContainer would delay each container for ever.
  int Strike(absl::string_view request, absl::Duration took, const absl::Status& status);
  // A new connection, without strikes.
  void Connected();
  void Failed(absl::string_view text);
  void Adjusted() { Count(&Changes::adjusted); }
  void Updated() { Count(&Changes::updated); }
  void Evicted() { Count(&Changes::evicted); }

  // Sets the counts, the strikes and the last error.
  void Fill(PluginReport* report) const;

 private:
  struct Changes {
    uint64_t adjusted = 0;
    uint64_t updated = 0;
    uint64_t evicted = 0;
  };

  RequestCounts& Took(absl::string_view request, absl::Duration took)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetError(absl::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(uint64_t Changes::*counter) {
    absl::MutexLock lock(&mutex_);
    ++(changes_.*counter);
  }

  mutable absl::Mutex mutex_;
  std::map<std::string, RequestCounts, std::less<>> requests_ ABSL_GUARDED_BY(mutex_);
  int strikes_ ABSL_GUARDED_BY(mutex_) = 0;  // in a row, of all requests
  std::map<std::string, int, std::less<>> strikes_of_ ABSL_GUARDED_BY(mutex_);  // and of each kind
  std::string last_error_ ABSL_GUARDED_BY(mutex_);
  Changes changes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_PLUGIN_COUNTS_H_
