#include "runtime/objects/pod_objects.h"

namespace plimsoll::runtime {

absl::Status SaveRow(Store& store, const Container& container) {
  absl::MutexLock lock(&container.mutex);
  return store.PutContainer(container.record);
}

}  // namespace plimsoll::runtime
