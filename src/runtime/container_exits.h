// The ends of containers: who notices them, what is recorded and told, and what is cleared after.
//
//   exits.Watch(container, record.monitor)       before anybody knows the container
//   exits.Kill(*container, deadline)             its processes; the monitor records the exit
//   exits.AwaitRecord(container, deadline)       until that is on record here
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
#include "runtime/class_assignments.h"
#include "runtime/engine_options.h"
#include "runtime/exit_watcher.h"
#include "runtime/pod_objects.h"

namespace plimsoll::runtime {

// An exit is saved and told under Container::mutex: nobody learns of an exit that a crash could
// undo, and no removal is told before it. While the container is being started (`starting`) its
// exit is saved and left for the start to tell.
//
// Uses `host`, `cgroups`, `runtime`, `store`, `events` and `clock` of the options, and
// ClassAssignments. The arguments must outlive it, and the watcher must end before it.
//
// Thread-safe, without a lock of its own. Record takes Container::mutex and may be called in the
// middle of any operation: it needs no lock of theirs.
class ContainerExits {
 public:
  // `boot_id`: what ran in another boot ended with it.
  ContainerExits(const EngineOptions& options, std::string boot_id, ClassAssignments* classes,
                 ExitWatcher* watcher)
      : options_(options), boot_id_(std::move(boot_id)), classes_(classes), watcher_(watcher) {}

  // From now on nothing is cleared any more that takes time. For an engine that ends.
  void End() { ending_ = true; }

  // Has the exit recorded when the container's monitor ends. NOT_FOUND: it has.
  absl::Status Watch(const std::shared_ptr<Container>& container, const linux::ProcessId& monitor);
  // The same of a container found after a restart: one whose monitor has ended is recorded at once.
  absl::Status WatchOrRecord(const std::shared_ptr<Container>& container);

  // Records and tells the exit that the monitor left, or that there is no monitor and nothing known
  // of the exit (code 255, reason Unknown). Ends what is left of the container; what takes time of
  // that goes on in another thread. Nothing of a container whose exit is recorded.
  void Record(const std::shared_ptr<Container>& container);
  // Records the end of a container whose start is refused (IsRefused); nothing of another.
  void EndRefused(Container& container) const;
  // Records and tells the end of a container that could not be let run: code 128, reason
  // StartError.
  void RecordFailedStart(Container& container, const absl::Status& failure) const;
  // Adds the events of an exit that is on record.
  void Tell(const ContainerRecord& record) const;

  // Kills all processes of the container, and waits until `deadline` for their end.
  // DEADLINE_EXCEEDED.
  absl::Status Kill(const Container& container, absl::Time deadline) const;
  // True when it has exited by then; by the wall clock.
  bool Await(const Container& container, absl::Time deadline) const;
  // The same by MonotonicNow, and records the exit itself when the monitor has gone unnoticed.
  bool AwaitRecord(const std::shared_ptr<Container>& container, absl::Time deadline);

 private:
  // Writes an exit, and tells it unless the container is being started.
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
