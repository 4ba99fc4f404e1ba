// Updates of existing containers' resources: limits, oom_score_adj and classes in one.
#ifndef PLIMSOLL_RUNTIME_UPDATES_CONTAINER_UPDATES_H_
#define PLIMSOLL_RUNTIME_UPDATES_CONTAINER_UPDATES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cgroups/node_confinement.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/pod_objects.h"
#include "runtime/objects/update_mark.h"
#include "runtime/pod/class_assignments.h"
#include "runtime/pod/pod_handlers.h"
#include "runtime/pod/pod_pictures.h"
#include "runtime/requests/resource_update.h"
#include "runtime/updates/handler_updates.h"

namespace plimsoll::runtime {

// The order of an update: check the request, tell the runtime handler, write the row, then the
// kernel. A mark (objects/update_mark.h) stands from before the row until the kernel has all of it:
// a daemon that starts after a kill finishes the update by the row.
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

  // See Engine::UpdateResources. `by_client`: the client's own part of the settings (TakeUpdate).
  absl::Status Update(const std::shared_ptr<Container>& container, const ResourceUpdate& update,
                      const linux::CgroupSettings& by_client);
  // The error with which Update would refuse at this moment, without effects.
  absl::Status CheckNow(const Container& container, const ResourceUpdate& update) const;
  // Finishes an update that a kill cut off: writes the row's resources to the kernel. Does nothing
  // for a container without a mark.
  absl::Status Finish(const ContainerRecord& record) const;
  // The same. If the kernel refuses an update that was reported to a runtime handler, the row and
  // the record have the values from before that update, and the error says so.
  absl::Status FinishOrTakeBack(ContainerRecord* record) const;

 private:
  // `report`: see HandlerUpdates::Close.
  absl::Status UpdateAlone(Container& container, const ResourceUpdate& asked_for,
                           linux::CgroupSettings by_client, HandlerUpdates::SizeReport* report);
  // Makes an update that the handler knows of. On failure the row and the kernel are as before.
  absl::Status Make(Container& container, const ContainerRecord& record,
                    const ResourceUpdate& update, const ContainerSpec& asked, bool takes_turns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(container.operation);
  // Refuses an update before the handler, the row or the kernel knows of it.
  absl::Status Check(const ContainerRecord& record, const ResourceUpdate& update) const;
  // The container's spec after the update.
  absl::StatusOr<ContainerSpec> Merge(const ContainerRecord& record, const ResourceUpdate& update,
                                      const linux::CgroupSettings& by_client) const;
  // Takes the update's turn and notifies the runtime handler. Does nothing if the pod's row is lost
  // or its updates take no turns.
  absl::Status ReportToHandler(const ContainerRecord& record, const ResourceUpdate& update,
                               const ContainerSpec& asked, std::optional<HandlerTurn>* turn,
                               HandlerUpdates::SizeReport* report) const;
  // Sets the marks, then writes the row.
  absl::Status MarkAndSave(Container& container, const ContainerSpec& asked,
                           const qos::HeldClasses& changing, const UpdateMark& mark,
                           const UpdateMark& classes_mark) const;
  // Writes the update to the kernel; on failure the kernel's values are as before.
  absl::Status Apply(Container& container, const ContainerRecord& record,
                     const ResourceUpdate& update, UpdateMark* mark) const;
  // Records the resources of `asked`, and the classes of `changing` (see
  // ClassAssignments::ChangingTo). On failure the record is as before.
  absl::Status SaveAsked(Container& container, const ContainerSpec& asked,
                         const qos::HeldClasses& changing) const;

  // Reports an update that is made. `lost`: the settings that the machine lacks.
  void TellUpdated(Container& container, const ContainerRecord& before,
                   const ResourceUpdate& update, const NodeShare& share,
                   const std::vector<std::string>& lost) const;

  const EngineOptions& options_;
  NodeConfinement* const confinement_;
  const ClassAssignments* const classes_;
  PodPictures* const pictures_;
  const PodHandlers* const handlers_;
  const HandlerUpdates* const handler_updates_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_UPDATES_CONTAINER_UPDATES_H_
