// Changes the resources of a pod as a whole while it runs.
#ifndef PLIMSOLL_RUNTIME_POD_UPDATES_H_
#define PLIMSOLL_RUNTIME_POD_UPDATES_H_

#include <memory>

#include "absl/status/status.h"
#include "runtime/engine_options.h"
#include "runtime/handler_updates.h"
#include "runtime/node_confinement.h"
#include "runtime/objects.h"
#include "runtime/pod_handlers.h"
#include "runtime/pod_pictures.h"
#include "runtime/resource_update.h"
#include "runtime/update_mark.h"

namespace plimsoll::runtime {

// Changes a pod as ContainerUpdates changes a container: checks, tells the runtime handler, writes
// the row, then the kernel, under a mark of its own. A pod group that the client made is the
// client's to write.
//
// Uses `cgroups`, `runtime`, `store`, `events`, `classes` and `run` of the options. The arguments
// must outlive it.
//
// Thread-safe, without a lock of its own. Update takes Sandbox::operation, a HandlerTurn, the class
// registry's definitions() and, where containers follow, Container::cpuset before that.
class PodUpdates {
 public:
  PodUpdates(const EngineOptions& options, const Objects* objects, NodeConfinement* confinement,
             PodPictures* pictures, const PodHandlers* handlers,
             const HandlerUpdates* handler_updates)
      : options_(options),
        objects_(objects),
        confinement_(confinement),
        pictures_(pictures),
        handlers_(handlers),
        handler_updates_(handler_updates) {}

  // See Engine::UpdateSandboxResources.
  absl::Status Update(const std::shared_ptr<Sandbox>& sandbox, const SandboxUpdate& update);
  // Of one that is found after a kill: writes what its row says, if its update was cut off.
  absl::Status Finish(const SandboxRecord& record) const;
  // Writes to the pod's own group what no class sets; what the machine lacks is told as a warning.
  absl::Status Apply(const SandboxRecord& record, const linux::CgroupSettings& settings) const;

 private:
  // `told`: the runtime handler knows of it.
  absl::Status UpdateAlone(Sandbox& sandbox, const SandboxUpdate& update, bool* told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(sandbox.operation);
  absl::Status SaveAsked(Sandbox& sandbox, const SandboxSpec& asked) const;
  // Writes what is on record to the kernel; on failure both are as before.
  absl::Status Make(Sandbox& sandbox, const SandboxRecord& record, const SandboxUpdate& update,
                    const linux::CgroupSettings& changed, UpdateMark* room) const;
  // Has the pod's init and its containers follow, but for those with a list of their own of what is
  // changed.
  void FollowWithin(const Sandbox& sandbox, const linux::CgroupSettings& changed) const;
  // In the pod's own group, for a memory limit below what is in use.
  absl::Status MakeRoomFor(const SandboxRecord& record, const linux::CgroupSettings& settings,
                           UpdateMark* mark) const;
  absl::Status FinishLimits(const SandboxRecord& record) const;

  const EngineOptions& options_;
  const Objects* const objects_;
  NodeConfinement* const confinement_;
  PodPictures* const pictures_;
  const PodHandlers* const handlers_;
  const HandlerUpdates* const handler_updates_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_UPDATES_H_
