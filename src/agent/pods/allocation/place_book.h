// The managers of the node and the CPUs that are shared, for all that starts and keeps containers.
#ifndef PLIMSOLL_AGENT_PODS_ALLOCATION_PLACE_BOOK_H_
#define PLIMSOLL_AGENT_PODS_ALLOCATION_PLACE_BOOK_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/managers/node_managers.h"
#include "agent/managers/pod_grant.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

// Thread-safe. Holds its lock for copies alone.
class PlaceBook {
 public:
  // `shared`: see AllocationLedger::shared_cpus. True: they differ from those of before.
  bool Set(std::shared_ptr<const NodeManagers> managers, std::optional<resources::CpuSet> shared);

  // Null: none are known yet.
  std::shared_ptr<const NodeManagers> managers() const;
  // A manager confines containers, so that their places are to be looked after.
  bool Confines() const;
  // See PlacesOf. UNAVAILABLE: no managers are known yet.
  absl::StatusOr<std::map<std::string, pod::ContainerPlace>> Places(const pod::Manifest& pod,
                                                                    const PodGrant& grant) const;

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<const NodeManagers> managers_ ABSL_GUARDED_BY(mutex_);
  std::optional<resources::CpuSet> shared_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_ALLOCATION_PLACE_BOOK_H_
