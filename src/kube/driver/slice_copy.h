// This node's ResourceSlices of this driver as they are: what a watch reports, and our own writes
// that it hasn't reported yet.
#ifndef PLIMSOLL_KUBE_DRIVER_SLICE_COPY_H_
#define PLIMSOLL_KUBE_DRIVER_SLICE_COPY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "kube/apiserver/api_client.h"
#include "kube/apiserver/watched.h"

namespace plimsoll::kube {

// The selector of them.
std::string SlicesOfNodeSelector(const std::string& node);

// Thread-safe.
class SliceCopy {
 public:
  // `on_change` runs after each change by others, and once the copy is whole; `on_state` as of
  // Watched. Both from a thread of this object's. The client outlives this, and is stopped before
  // the end of this.
  SliceCopy(ApiClient& api, const std::string& node, std::function<void()> on_change,
            std::function<void(const absl::Status&)> on_state);

  bool is_whole() const { return watched_.listed(); }
  std::map<std::string, nlohmann::json> Slices() const;
  // The answer to a write of ours.
  void Remember(const nlohmann::json& answer);
  // The object is removed, as an answer says.
  void Forget(const std::string& name);

 private:
  struct Written {
    nlohmann::json object;  // the answer; null: the object is removed
    uint64_t version = 0;   // of the object; of a removed one, the last known
  };

  WatchedOptions OptionsFor(const std::string& node,
                            std::function<void(const absl::Status&)> on_state);
  void Hear(const ObjectChange& change);
  void NoteDeleted(const std::string& name, uint64_t version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<void()> on_change_;
  mutable absl::Mutex mutex_;
  // By name: our last write, until the watch reports it or news of it.
  std::map<std::string, Written> written_ ABSL_GUARDED_BY(mutex_);
  // By name: the last version of a removed object.
  std::map<std::string, uint64_t> deleted_ ABSL_GUARDED_BY(mutex_);
  Watched watched_;  // last: it calls the members above
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_SLICE_COPY_H_
