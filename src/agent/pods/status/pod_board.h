// The objects of all pods as the agent last reported them, for readers and watchers.
#ifndef PLIMSOLL_AGENT_PODS_STATUS_POD_BOARD_H_
#define PLIMSOLL_AGENT_PODS_STATUS_POD_BOARD_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "agent/pods/records/pod_key.h"
#include "agent/pods/status/pod_service.h"

namespace plimsoll::agent {

// Thread-safe. Memory is bounded by the pods that are there: a slow watcher gets a pod's latest
// object, and keeps none of the objects in between.
class PodBoard {
 public:
  using Object = std::shared_ptr<const nlohmann::json>;

  // Shows the object in place of the pod's earlier one. Sets metadata.resourceVersion. An equal
  // object is no change.
  void Put(const PodKey& pod, nlohmann::json object);
  // Shows the object if `is_latest` holds, which is called with the board's lock. False: nothing
  // has changed.
  bool PutIf(const PodKey& pod, nlohmann::json object, absl::FunctionRef<bool()> is_latest);
  // Replaces the pod's object, if there is one, by what `change` makes of it, with the lock held.
  void Change(const PodKey& pod,
              absl::FunctionRef<nlohmann::json(const nlohmann::json& shown)> change);
  void Remove(const PodKey& pod);

  // Null without the pod.
  Object Get(const PodKey& pod) const;
  // Sorted by namespace and name. An empty namespace: all.
  std::vector<Object> List(const std::string& pod_namespace) const;
  // See PodService. `quiet` is the time between two calls that tell of nothing.
  void Watch(const std::string& pod_namespace, absl::Duration quiet,
             const PodService::OnChange& change) const;

 private:
  struct Shown {
    uint64_t version = 0;
    Object object;
  };
  using Table = std::map<PodKey, Shown>;

  void PutLocked(const PodKey& pod, nlohmann::json object);
  // The pods of the namespace; waits at most `quiet` for a version above `seen`, which is updated.
  Table Await(const std::string& pod_namespace, absl::Duration quiet, uint64_t* seen) const;

  mutable std::mutex mutex_;
  // The standard library's: its waits use the monotonic clock.
  mutable std::condition_variable changed_;
  uint64_t version_ = 0;
  Table pods_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_STATUS_POD_BOARD_H_
