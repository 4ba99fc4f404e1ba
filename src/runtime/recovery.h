// Recovery's second half: after a restart of the daemon or of the machine, the engine's picture is
// rebuilt from the store, and each difference that inspection.h finds gets its action.
//
// One broken object must not keep the others from being served: what fails is kept as it is, tried
// again at the next start or when a client removes it, and told (event, log, Troubles).
#ifndef PLIMSOLL_RUNTIME_RECOVERY_H_
#define PLIMSOLL_RUNTIME_RECOVERY_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/worker_pool.h"
#include "runtime/container_updates.h"
#include "runtime/engine_inspection.h"
#include "runtime/engine_parts.h"
#include "runtime/pod_updates.h"
#include "runtime/unused_layers.h"

namespace plimsoll::runtime {

// Depends on all parts, on updates, whose cut-off ones it finishes, and on two steps of the life
// cycle. All arguments must outlive it.
//
// Run is called once, before anybody else calls the engine. Networks that have to be given back,
// and handlers that have to be told, follow in other threads, since plugins and commands may take
// minutes. Its lock guards the troubles alone and is held over no call elsewhere.
class Recovery {
 public:
  struct LifeCycle {
    // See Engine::RemoveSandbox.
    std::function<absl::Status(const std::string& sandbox_id)> remove;
    // Takes away all there is of a sandbox that is not among Objects, its row last.
    std::function<absl::Status(const SandboxRecord& record)> unmake;
  };
  Recovery(EngineParts* parts, const EngineInspection* inspection, ContainerUpdates* updates,
           PodUpdates* pod_updates, UnusedLayers* layers, LifeCycle life_cycle)
      : parts_(*parts),
        inspection_(*inspection),
        updates_(*updates),
        pod_updates_(*pod_updates),
        layers_(*layers),
        life_cycle_(std::move(life_cycle)) {}

  // An error says that nothing can be known: the store or the run directory can't be read.
  absl::Status Run();
  // What could not be put in order, one sentence each.
  std::vector<std::string> Troubles() const;
  // What is to be given back and has not begun is left to the next start. For an engine that ends.
  void End() { ending_ = true; }

 private:
  // Of the object with that id; null: there is nothing to put in order.
  using FindingOf = absl::FunctionRef<const Finding*(const std::string& id)>;

  // `finding`: null when there is nothing to put in order.
  void RecoverContainer(ContainerRecord record, const Finding* finding);
  void RecoverSandbox(SandboxRecord record, const Finding* finding);
  // Puts in force what a container that may hold something has on record: classes, an update that
  // was cut off, its group.
  void Reinstate(const Finding& finding, ContainerRecord* record);
  void RecoverSandboxes(std::vector<SandboxRecord> records, FindingOf found);
  std::shared_ptr<Container> Adopt(ContainerRecord record, const Finding& finding);
  std::shared_ptr<Sandbox> Adopt(SandboxRecord record, const Finding& finding);
  // Where the group of a container that lives must be known to who manages groups.
  absl::Status RegisterAgain(const ContainerRecord& record) const;
  // Of what was asked for, what systemd changes in a reload, unless a class of `id` sets it.
  linux::CgroupSettings LostInReloads(const linux::CgroupSettings& asked,
                                      const std::string& id) const;

  void RemoveStrays(const std::vector<Finding>& findings);
  // Waits until `deadline` for what was ended in it. FAILED_PRECONDITION: somebody else stays.
  absl::Status RemoveStrayGroup(const Finding& finding, absl::Time deadline) const;
  // Of a stray sandbox. `keeps_group`: it is what the next start knows the group by.
  absl::Status GiveUpPlace(const std::string& sandbox_id, bool keeps_group) const;

  // What a kill or a reboot has left of networks, in other threads.
  void RecoverNetworks();
  void DetachLater(const std::string& sandbox_id);
  void DetachStray(const std::string& sandbox_id, bool keeps_group);

  // Notes and tells an error that concerns the finding's object.
  void Trouble(const Finding& finding, const absl::Status& status);

  EngineParts& parts_;
  const EngineInspection& inspection_;
  ContainerUpdates& updates_;
  PodUpdates& pod_updates_;
  UnusedLayers& layers_;
  const LifeCycle life_cycle_;
  mutable absl::Mutex mutex_;
  std::vector<std::string> troubles_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> ending_ = false;
  // Last, so that its threads end before what they use.
  WorkerPool detachers_{/*max_threads=*/4, /*max_queued=*/10000};
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_RECOVERY_H_
