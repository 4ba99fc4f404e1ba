// Changes the resources of containers that are there: limits, oom_score_adj and classes in one.
#ifndef PLIMSOLL_RUNTIME_CONTAINER_UPDATES_H_
#define PLIMSOLL_RUNTIME_CONTAINER_UPDATES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/class_assignments.h"
#include "runtime/engine_options.h"
#include "runtime/handler_updates.h"
#include "runtime/node_confinement.h"
#include "runtime/pod_handlers.h"
#include "runtime/pod_objects.h"
#include "runtime/pod_pictures.h"
#include "runtime/resource_update.h"
#include "runtime/update_mark.h"

namespace plimsoll::runtime {

// Asks the parts that its constructor names, in this order: what is asked for is checked, the
// runtime handler is told, the row is written, then the kernel. A mark (update_mark.h) is there
// from before the row until the kernel has all of it: a daemon that starts after a kill finishes
// what the row says.
//
// Uses `cgroups`, `runtime`, `store`, `events`, `classes`, `host` and `run` of the options. The
// arguments must outlive it.
//
// Thread-safe, without a lock of its own. Update takes Container::operation, a HandlerTurn,
// Container::cpuset and the class registry's definitions(), in that order.
class ContainerUpdates {
 public:
  ContainerUpdates(const EngineOptions& options, NodeConfinement* confinement,
                   const ClassAssignments* classes, PodPictures* pictures,
                   const PodHandlers* handlers, const HandlerUpdates* handler_updates)
      : options_(options),
        confinement_(confinement),
        classes_(classes),
        pictures_(pictures),
        handlers_(handlers),
        handler_updates_(handler_updates) {}

  // See Engine::UpdateResources.
  absl::Status Update(const std::shared_ptr<Container>& container, const ResourceUpdate& update);
  // Of one that is found after a kill: writes what its row says, if its update was cut off.
  absl::Status Finish(const ContainerRecord& record) const;

 private:
  // `told`: the runtime handler knows of it.
  absl::Status UpdateAlone(Container& container, const ResourceUpdate& update, bool* told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(container.operation);
  // What can be refused before anybody is told.
  absl::Status Check(const ContainerRecord& record, const ResourceUpdate& update) const;
  // What is on record once the update is made.
  absl::StatusOr<ContainerSpec> Merge(const ContainerRecord& record,
                                      const ResourceUpdate& update) const;
  // Writes the row, then the kernel, marked meanwhile; on failure both are as before. `lost`: what
  // the machine can't hold.
  absl::Status Make(Container& container, const ContainerRecord& record,
                    const ResourceUpdate& update, const ContainerSpec& asked,
                    const NodeConfinement::ShareNow& share, std::vector<std::string>* lost) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(container.cpuset);
  // Writes it to the kernel; on failure that is as before.
  absl::Status Apply(Container& container, const ContainerRecord& record,
                     const ResourceUpdate& update, UpdateMark* mark) const;
  // On record are the resources of `asked` from now on, and of the classes in `changing` what is
  // said there (see ClassAssignments::ChangingTo); on failure, those of before.
  absl::Status SaveAsked(Container& container, const ContainerSpec& asked,
                         const qos::HeldClasses& changing) const;

  const EngineOptions& options_;
  NodeConfinement* const confinement_;
  const ClassAssignments* const classes_;
  PodPictures* const pictures_;
  const PodHandlers* const handlers_;
  const HandlerUpdates* const handler_updates_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CONTAINER_UPDATES_H_
