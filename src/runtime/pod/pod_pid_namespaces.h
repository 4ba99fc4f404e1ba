// PID namespaces shared by the containers of a pod, if the pod asks for one, and their inits.
#ifndef PLIMSOLL_RUNTIME_POD_POD_PID_NAMESPACES_H_
#define PLIMSOLL_RUNTIME_POD_POD_PID_NAMESPACES_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cgroups/node_confinement.h"
#include "runtime/cgroups/pod_groups.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/pod_objects.h"
#include "runtime/pod/exit_watcher.h"
#include "runtime/pod/pause.h"

namespace plimsoll::runtime {

// Uses `host`, `run`, `pause_program`, `cgroups`, `store` and `events` of the options, PodGroups,
// and NodeConfinement for the init's cpuset. The arguments must outlive this object, but the
// watcher must end before it.
//
// Thread-safe for different pods, without a lock of its own. The end of an init is recorded under
// Sandbox::mutex, in the watcher's thread.
class PodPidNamespaces {
 public:
  // `boot_id`: of this boot; an init of another boot ended with that.
  PodPidNamespaces(const EngineOptions& options, std::string boot_id, PodGroups* groups,
                   NodeConfinement* confinement, ExitWatcher* watcher)
      : options_(options),
        boot_id_(std::move(boot_id)),
        groups_(groups),
        confinement_(confinement),
        watcher_(watcher) {}

  // Starts the init in a group of its own below the pod's, and pins its namespace at the sandbox's
  // place. Fills the record's `pause`; the record must be in the making (PodGroups), and its row
  // must name the group. The caller saves the record, then releases the result. After a failure,
  // End removes the remains.
  absl::StatusOr<HeldPause> Make(SandboxRecord* record);
  // Ends the init, with which all processes of the namespace end, and removes its group. OK if both
  // are gone, and for a pod without a shared namespace. DEADLINE_EXCEEDED: the init hasn't ended.
  absl::Status End(const SandboxRecord& record) const;
  // Makes the sandbox NotReady when the init ends by itself, or has ended.
  absl::Status Watch(const std::shared_ptr<Sandbox>& sandbox) const;

 private:
  void RecordEnd(Sandbox& sandbox) const;

  const EngineOptions& options_;
  const std::string boot_id_;
  PodGroups* const groups_;
  NodeConfinement* const confinement_;
  ExitWatcher* const watcher_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_POD_PID_NAMESPACES_H_
