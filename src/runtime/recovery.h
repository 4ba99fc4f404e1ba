// Recovery's second half: after a restart of the daemon or of the machine, the engine's picture is
// rebuilt from the store, and each difference that runtime/objects/inspection.h finds gets its
// action.
//
// One broken object must not keep the others from being served. An object whose recovery fails is
// kept, for the next start or a client's removal to try again, and the failure is reported (event,
// log, Troubles).
#ifndef PLIMSOLL_RUNTIME_RECOVERY_H_
#define PLIMSOLL_RUNTIME_RECOVERY_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/worker_pool.h"
#include "runtime/engine_inspection.h"
#include "runtime/engine_parts.h"
#include "runtime/unused_layers.h"
#include "runtime/updates/container_updates.h"
#include "runtime/updates/pod_updates.h"

namespace plimsoll::runtime {

// Depends on all parts, the inspection, the updates (to finish those cut off), the unused layers,
// and two steps of the life cycle. All arguments must outlive this object.
//
// Run is called once, before any client calls the engine. Network plugins and handler commands may
// take minutes, so they run in other threads. The lock is held over no call elsewhere.
class Recovery {
 public:
  struct LifeCycle {
    // See Engine::RemoveSandbox.
    std::function<absl::Status(const std::string& sandbox_id)> remove;
    // Removes everything of a sandbox that is not among Objects, its row last.
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

  // Recovers everything. Fails only if the store can't be loaded, or if a directory below `run`
  // can't be made.
  absl::Status Run();
  // The troubles of Run, one sentence each: failed repairs, objects that could not be inspected,
  // damaged images.
  std::vector<std::string> Troubles() const;
  // Makes another thread give back the networks of the pod's remains (Objects::RemainsOf). Those
  // that are half made or half removed it removes. A new sandbox of the pod doesn't wait for them.
  // Networks that are under way already are tried once more if they fail. Skips those that find the
  // queue full: the pod's next sandbox or a client's stop or removal tries again.
  void DetachRemains(const SandboxRecord& pod);
  // Leaves networks whose detaching hasn't begun to the next start. For an engine that ends.
  void End() { ending_ = true; }

 private:
  // The finding about the object `id`; null: there is none.
  using FindingOf = absl::FunctionRef<const Finding*(const std::string& id)>;

  // `finding`: null if the object is in order.
  void RecoverContainer(ContainerRecord record, const Finding* finding);
  void RecoverSandbox(SandboxRecord record, const Finding* finding);
  // Brings the record to the state that the finding calls for. False: the container is removed.
  bool Mend(const Finding& finding, ContainerRecord* record);
  // Enforces the record of a container that may have processes: classes, an update that was cut
  // off, its group.
  void Reinstate(const Finding& finding, ContainerRecord* record);
  // Removes a half made or half removed sandbox. False: remains are left, without a class.
  bool Unmake(const Finding& finding, const SandboxRecord& record);
  void RecoverSandboxes(std::vector<SandboxRecord> records, FindingOf found);
  std::shared_ptr<Sandbox> Adopt(SandboxRecord record, const Finding& finding);
  // Adopts the pod's classes, unless its stop has begun.
  void AdoptClasses(const Finding& finding, SandboxRecord* record);
  // Registers a live container's group with the group manager, if that has to know it.
  absl::Status RegisterAgain(const ContainerRecord& record) const;
  // The settings in `asked` that systemd changes in a reload and that no class of `id` sets.
  linux::CgroupSettings LostInReloads(const linux::CgroupSettings& asked,
                                      const std::string& id) const;

  void RemoveStrays(const std::vector<Finding>& findings);
  // Removes a stray group, after waiting until `deadline` for its killed processes.
  // FAILED_PRECONDITION: a foreign process stays in it.
  absl::Status RemoveStrayGroup(const Finding& finding, absl::Time deadline) const;
  // Removes the place of a stray sandbox. `keeps_group`: only releases it, since the next start
  // recognizes the group by its files.
  absl::Status GiveUpPlace(const std::string& sandbox_id, bool keeps_group) const;

  // In other threads: detaches networks that a kill or a reboot left, and collects network garbage.
  void RecoverNetworks();
  // Schedules DetachNow, unless the queue is full. One that is pending or running for that sandbox
  // is repeated if it fails.
  void DetachLater(const std::string& sandbox_id);
  // False: failed, with a warning.
  bool DetachNow(const std::string& sandbox_id);
  // Ends a try of DetachLater's work. True: another one is due. False: the sandbox is forgotten.
  bool EndTry(const std::string& sandbox_id, bool is_done);
  void DetachStray(const std::string& sandbox_id, bool keeps_group);

  // Adds an error about the finding's object to the troubles, and reports it. Does nothing for OK.
  void Trouble(const Finding& finding, const absl::Status& status);

  EngineParts& parts_;
  const EngineInspection& inspection_;
  ContainerUpdates& updates_;
  PodUpdates& pod_updates_;
  UnusedLayers& layers_;
  const LifeCycle life_cycle_;
  mutable absl::Mutex mutex_;
  std::vector<std::string> troubles_ ABSL_GUARDED_BY(mutex_);
  // Sandboxes for which DetachLater's work is pending or running. True: asked for meanwhile.
  absl::flat_hash_map<std::string, bool> detaching_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> ending_ = false;
  // Last, so that its threads end before what they use.
  WorkerPool detachers_{/*max_threads=*/4, /*max_queued=*/10000};
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_RECOVERY_H_
