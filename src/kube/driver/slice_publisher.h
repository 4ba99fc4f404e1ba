// Keeps this node's ResourceSlices as its classes are.
#ifndef PLIMSOLL_KUBE_DRIVER_SLICE_PUBLISHER_H_
#define PLIMSOLL_KUBE_DRIVER_SLICE_PUBLISHER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kube/apiserver/api_client.h"
#include "kube/apiserver/reconciler.h"
#include "kube/driver/pool_devices.h"
#include "kube/driver/slice_copy.h"
#include "kube/driver/slices.h"

namespace plimsoll::kube {

struct SlicePublisherOptions {
  std::string node;
  // After each attempt: the slices are as the classes are (OK), or why not (it is tried again).
  std::function<void(const absl::Status&)> on_state;
  // Reports the features that this API server lacks, once each.
  std::function<void(const std::string&)> warn;
  // Between two attempts. Changes meanwhile become one.
  absl::Duration rest = absl::Seconds(1);
  RetryDelayOptions retry = {
      .first = absl::Milliseconds(800), .longest = absl::Seconds(30), .jitter = {}};
};

// Slices that others change or delete are put right. Thread-safe.
class SlicePublisher {
 public:
  // The client outlives this, and is stopped before the end of this. Slices stay then.
  SlicePublisher(ApiClient& api, SlicePublisherOptions options);
  ~SlicePublisher();
  SlicePublisher(const SlicePublisher&) = delete;
  SlicePublisher& operator=(const SlicePublisher&) = delete;

  // Before the first call, slices of an earlier run stay as they are.
  void SetDevices(std::vector<PoolDevice> devices);
  // Objects written or deleted.
  uint64_t writes() const { return writes_; }

 private:
  // The server's version of a slice of ours: it may lack features, or have hooks that add to it.
  struct Accepted {
    nlohmann::json sent;  // both as of OwnPart
    nlohmann::json answer;
  };
  using Slices = std::map<std::string, nlohmann::json>;

  void Wake();
  void HearWatch(const absl::Status& status);
  // A run of the loop.
  absl::Status Run();
  // False: nothing is known yet, so nothing was done.
  absl::StatusOr<bool> Publish();
  bool IsPublished(const std::vector<nlohmann::json>& wanted, const Slices& present) const;
  absl::StatusOr<std::string> NodeUid();
  absl::Status Write(std::vector<nlohmann::json> wanted, Slices present);
  // After a write that was refused: finds out whether the taints are the reason.
  absl::Status WriteWithoutTaints(const std::vector<PoolDevice>& devices,
                                  const absl::Status& refusal);
  absl::Status WriteOne(nlohmann::json wanted, const nlohmann::json* present);
  absl::Status Delete(const std::string& name);
  void Note(const nlohmann::json& sent, const nlohmann::json& answer);

  ApiClient& api_;
  const SlicePublisherOptions options_;
  absl::Mutex mutex_;
  std::optional<std::vector<PoolDevice>> devices_ ABSL_GUARDED_BY(mutex_);
  Reconciler* loop_ ABSL_GUARDED_BY(mutex_) = nullptr;  // reconciler_ while it lives
  std::atomic<uint64_t> writes_ = 0;
  // Used by the reconciler's thread alone:
  PoolFrame frame_;
  Dropped told_;
  std::map<std::string, Accepted> accepted_;  // by name
  SliceCopy copy_;
  Reconciler reconciler_;  // last: it uses the members above
};

// Deletes the node's slices. Returns how many there were.
absl::StatusOr<int> RemoveSlices(ApiClient& api, const std::string& node);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_SLICE_PUBLISHER_H_
