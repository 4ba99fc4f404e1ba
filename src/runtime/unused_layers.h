// Removal of layers that no container uses any more.
#ifndef PLIMSOLL_RUNTIME_UNUSED_LAYERS_H_
#define PLIMSOLL_RUNTIME_UNUSED_LAYERS_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/objects.h"

namespace plimsoll::runtime {

// A damaged container's row doesn't tell its layers: until all such containers are gone, every
// layer stays. Then all unused ones go: a node that never restarts would fill its disk otherwise.
//
// Uses `images` and `events` of the options, and Objects. Both arguments must outlive this object.
// Thread-safe; its lock is held over no call elsewhere.
class UnusedLayers {
 public:
  UnusedLayers(const EngineOptions& options, const Objects* objects)
      : options_(options), objects_(objects) {}

  // Removes unused layers after a restart, once all containers are among Objects. OK also if layers
  // have to stay.
  absl::Status Collect(const std::vector<DamagedRow>& damaged);
  // After a container's removal: removes unused layers if this was the last damaged container. A
  // failure becomes a warning.
  void CollectAfter(const std::string& container_id);

 private:
  const EngineOptions& options_;
  const Objects* const objects_;
  absl::Mutex mutex_;
  absl::flat_hash_set<std::string> uncertain_ ABSL_GUARDED_BY(mutex_);  // damaged containers' ids
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_UNUSED_LAYERS_H_
