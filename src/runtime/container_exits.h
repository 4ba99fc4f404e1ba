// Exits of containers: watching for them, recording and telling them, and the cleanup after.
//
//   exits.Watch(container, record.monitor)       before anybody knows the container
//   exits.Kill(*container, deadline)             its processes; the monitor records the exit
// exits.AwaitRecord(container, deadline) until the exit is on record here
#ifndef PLIMSOLL_RUNTIME_CONTAINER_EXITS_H_
#define PLIMSOLL_RUNTIME_CONTAINER_EXITS_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/worker_pool.h"
#include "linux/process.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/pod_objects.h"
#include "runtime/pod/class_assignments.h"
#include "runtime/pod/exit_watcher.h"

namespace plimsoll::runtime {

// An exit is saved and told under Container::mutex: no client learns of an exit that a crash could
// undo, or of a removal before the exit. While the container is being started (`starting`), its
// exit is saved, and the start reports it.
//
// Uses `host`, `cgroups`, `runtime`, `store`, `events` and `clock` of the options, and
// ClassAssignments. The arguments must outlive this object, but the watcher must end before it.
//
// Thread-safe, without a lock of its own. Record takes Container::mutex alone, so it may be called
// in the middle of any operation.
class ContainerExits {
 public:
  // `boot_id`: of this boot; containers of another boot ended with it.
  ContainerExits(const EngineOptions& options, std::string boot_id, ClassAssignments* classes,
                 ExitWatcher* watcher)
      : options_(options), boot_id_(std::move(boot_id)), classes_(classes), watcher_(watcher) {}

  // Skips slow cleanup from now on. For an engine that ends.
  void End() { ending_ = true; }

  // Records the exit when the container's monitor ends. NOT_FOUND: the monitor has ended already.
  absl::Status Watch(const std::shared_ptr<Container>& container, const linux::ProcessId& monitor);
  // Watch for a container found after a restart: if its monitor has ended, records the exit at
  // once.
  absl::Status WatchOrRecord(const std::shared_ptr<Container>& container);

  // Records and reports the exit that the monitor left; without one, an exit with code 255 and
  // reason Unknown. Ends the rest of the container, slow steps in another thread. Does nothing if
  // the exit is recorded already.
  void Record(const std::shared_ptr<Container>& container);
  // Records the end of a container whose start is refused (IsRefused). Does nothing for others.
  void EndRefused(Container& container) const;
  // Records and reports the end of a container whose process could not be started: code 128, reason
  // StartError.
  void RecordFailedStart(Container& container, const absl::Status& failure) const;
  // Adds the events of the exit in `record`.
  void Tell(const ContainerRecord& record) const;

  // Kills all processes of the container, and waits for their end. DEADLINE_EXCEEDED: some are
  // left.
  absl::Status Kill(const Container& container, absl::Time deadline) const;
  // True when the container has exited by `deadline`, a time of the wall clock.
  bool Await(const Container& container, absl::Time deadline) const;
  // True when the container has exited by `deadline`, a time of MonotonicNow. Records the exit
  // itself when the monitor's end went unnoticed.
  bool AwaitRecord(const std::shared_ptr<Container>& container, absl::Time deadline);

 private:
  // Saves an exit, and reports it unless the container is being started.
  void Save(const Container& container) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(container.mutex);
  void ClearGroup(const std::shared_ptr<Container>& container);

  const EngineOptions& options_;
  const std::string boot_id_;
  ClassAssignments* const classes_;
  ExitWatcher* const watcher_;
  std::atomic<bool> ending_ = false;
  // Last, so that its threads end before what they use.
  WorkerPool clearers_{/*max_threads=*/4, /*max_queued=*/10000};
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CONTAINER_EXITS_H_
