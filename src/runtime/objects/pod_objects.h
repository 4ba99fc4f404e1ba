// A sandbox and a container as the engine holds them in memory.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_POD_OBJECTS_H_
#define PLIMSOLL_RUNTIME_OBJECTS_POD_OBJECTS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "image/image_service.h"
#include "runtime/objects/handler_turns.h"
#include "runtime/store/records.h"
#include "runtime/store/store.h"

namespace plimsoll::runtime {

// Lock order: see runtime/engine_parts.h. A `mutex` is held for moments only, at most for one write
// to the store.

struct Sandbox {
  explicit Sandbox(SandboxRecord initial) : id(initial.id), record(std::move(initial)) {}

  const std::string id;
  // Held for writing by run, stop and remove; for reading by creation and start of a container.
  absl::Mutex operation;
  // Taken by an update of the pod or of a container in it, where its runtime handler has fixed
  // resources or gets updates. After Container::operation.
  const std::shared_ptr<HandlerTurns> turns = std::make_shared<HandlerTurns>(id);
  // Held while the pod's picture is computed and written, so that the last one computed is written
  // last.
  absl::Mutex picture;
  mutable absl::Mutex mutex;
  SandboxRecord record ABSL_GUARDED_BY(mutex);
  bool stopping ABSL_GUARDED_BY(mutex) = false;  // an end of its processes is expected
  bool unsaved ABSL_GUARDED_BY(mutex) = false;   // row lacks its NotReady: a stop retries
  // Hooks know of its stop, or it was stopped while there were none.
  bool stop_told ABSL_GUARDED_BY(mutex) = false;
  // Contradictions between Linux and kubelet's word, or an announcement that a container did not
  // follow, as they were reported last, by container; "": the pod's own; "/": why the word isn't
  // used. A missing one was reported by an earlier daemon, if at all.
  std::map<std::string, std::string> contradictions ABSL_GUARDED_BY(mutex);

  SandboxRecord Snapshot() const {
    absl::MutexLock lock(&mutex);
    return record;
  }
};

struct Container {
  explicit Container(ContainerRecord initial)
      : id(initial.id), sandbox_id(initial.sandbox_id), record(std::move(initial)) {}

  const std::string id;
  const std::string sandbox_id;
  // Held by a start, over its hook too: a second start waits. Before `operation`.
  absl::Mutex start;
  // Held by create, start, stop, update and remove. Not by the recording of an exit, which may
  // happen in the middle of any of them.
  absl::Mutex operation;
  // Held while the container's cpuset is computed and written. After `operation`.
  absl::Mutex cpuset;
  // Held while QoS classes are changed, and while they are released at the exit; held shared while
  // a command enters the classes. After `cpuset`, before `mutex`.
  absl::Mutex classes;
  mutable absl::Mutex mutex;
  ContainerRecord record ABSL_GUARDED_BY(mutex);
  std::shared_ptr<image::LayerLease> layers ABSL_GUARDED_BY(mutex);
  std::string lost_cpus ABSL_GUARDED_BY(mutex);  // Confined::lost, as it was told last
  // While the container is being started, an exit is recorded but not told: the start must be told
  // first.
  bool starting ABSL_GUARDED_BY(mutex) = false;
  bool stop_signalled ABSL_GUARDED_BY(mutex) = false;  // its stop signal has been sent

  ContainerRecord Snapshot() const {
    absl::MutexLock lock(&mutex);
    return record;
  }
};

// Writes the container's current record to the store, under its mutex: rows arrive in the order of
// the states.
absl::Status SaveRow(Store& store, const Container& container);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_POD_OBJECTS_H_
