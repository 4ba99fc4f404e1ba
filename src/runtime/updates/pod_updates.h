// Updates of the resources of a running pod as a whole.
#ifndef PLIMSOLL_RUNTIME_UPDATES_POD_UPDATES_H_
#define PLIMSOLL_RUNTIME_UPDATES_POD_UPDATES_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "runtime/cgroups/node_confinement.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/objects.h"
#include "runtime/objects/update_mark.h"
#include "runtime/pod/plugin_hooks.h"
#include "runtime/pod/pod_handlers.h"
#include "runtime/pod/pod_pictures.h"
#include "runtime/requests/resource_update.h"
#include "runtime/updates/handler_updates.h"

namespace plimsoll::runtime {

// Works as ContainerUpdates: checks the update, notifies the runtime handler, writes the row, then
// the kernel, under a mark of its own. A pod group that the client made is the client's to write.
//
// Uses `cgroups`, `runtime`, `store`, `events`, `classes` and `run` of the options. The arguments
// must outlive this object.
//
// Thread-safe, without a lock of its own. Update takes Sandbox::operation, then, one after the
// other, the hooks' turn; a HandlerTurn, the class registry's definitions() and, where containers
// follow, Container::cpuset before that; the turn again.
class PodUpdates {
 public:
  PodUpdates(const EngineOptions& options, const Objects* objects, NodeConfinement* confinement,
             PodPictures* pictures, const PodHandlers* handlers,
             const HandlerUpdates* handler_updates, const PluginHooks* plugin_hooks)
      : options_(options),
        objects_(objects),
        confinement_(confinement),
        pictures_(pictures),
        handlers_(handlers),
        handler_updates_(handler_updates),
        plugin_hooks_(plugin_hooks) {}

  // See Engine::UpdateSandboxResources.
  absl::Status Update(const std::shared_ptr<Sandbox>& sandbox, const SandboxUpdate& update);
  // Finishes an update that a kill cut off: writes the row's resources to the kernel. Does nothing
  // for a pod without a mark.
  absl::Status Finish(const SandboxRecord& record) const;
  // Writes to the pod's own group the settings that no class sets. A setting that the machine lacks
  // becomes a warning.
  absl::Status Apply(const SandboxRecord& record, const linux::CgroupSettings& settings) const;

 private:
  // `report`: see HandlerUpdates::Close.
  absl::Status UpdateAlone(Sandbox& sandbox, const SandboxUpdate& update,
                           HandlerUpdates::SizeReport* report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(sandbox.operation);
  // Refuses an update before the handler, the row or the kernel knows of it. `lost`: see
  // NodeConfinement::CheckPod.
  absl::Status Check(const SandboxRecord& record, const SandboxUpdate& update,
                     std::string* lost) const;
  // Notifies the runtime handler within the update's turn, and adds to `wanted` what the pod needed
  // before.
  absl::Status ReportToHandler(const SandboxRecord& record, const SandboxUpdate& update,
                               SandboxRecord* wanted, HandlerTurn& turn,
                               HandlerUpdates::SizeReport* report) const;
  // Sets the marks, writes the row, then the kernel.
  absl::Status Make(Sandbox& sandbox, const SandboxRecord& record, const SandboxUpdate& update,
                    const SandboxSpec& asked);
  absl::Status SaveAsked(Sandbox& sandbox, const SandboxSpec& asked) const;
  // Writes the recorded resources to the kernel; on failure the record and the kernel are as
  // before.
  absl::Status ApplyOrSetBack(Sandbox& sandbox, const SandboxRecord& record,
                              const SandboxUpdate& update, const linux::CgroupSettings& changed,
                              UpdateMark* room) const;
  // Gives the pod's init and containers the changed cpuset lists, except containers with a list of
  // their own.
  void FollowWithin(const Sandbox& sandbox, const linux::CgroupSettings& changed) const;
  // Makes room in the pod's own group for a memory limit below its use (memory_shrink.h).
  absl::Status MakeRoomFor(const SandboxRecord& record, const linux::CgroupSettings& settings,
                           UpdateMark* mark) const;
  absl::Status FinishLimits(const SandboxRecord& record) const;

  const EngineOptions& options_;
  const Objects* const objects_;
  NodeConfinement* const confinement_;
  PodPictures* const pictures_;
  const PodHandlers* const handlers_;
  const HandlerUpdates* const handler_updates_;
  const PluginHooks* const plugin_hooks_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_UPDATES_POD_UPDATES_H_
