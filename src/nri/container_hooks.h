// The engine's hooks of containers.
#ifndef PLIMSOLL_NRI_CONTAINER_HOOKS_H_
#define PLIMSOLL_NRI_CONTAINER_HOOKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nri/adjust/adjust.h"
#include "nri/dispatcher.h"
#include "nri/parts.h"
#include "nri/update_applier.h"
#include "runtime/pod/hooks.h"

namespace plimsoll::nri {

// See runtime::Hooks. Thread-safe.
class ContainerHooks {
 public:
  ContainerHooks(Parts* parts, Dispatcher* dispatcher, UpdateApplier* applier)
      : parts_(parts), dispatcher_(dispatcher), applier_(applier) {}

  absl::StatusOr<runtime::ContainerSpec> Create(const runtime::HookedPod& pod,
                                                const runtime::HookedContainer& container);
  void Undo(const std::string& id);
  absl::Status Start(const runtime::HookedPod& pod, const runtime::HookedContainer& container);
  absl::Status Update(const runtime::HookedPod& pod, const runtime::HookedContainer& container,
                      const runtime::ResourceUpdate& update, runtime::Hooks::ApplyFn apply);

 private:
  // Takes the changes of all plugins. Returns the names of those that have seen the container.
  absl::StatusOr<std::vector<std::string>> AskForChanges(const std::string& id, Creation* creation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);
  // The update as all plugins want it.
  absl::StatusOr<runtime::ResourceUpdate> AskForUpdate(const api::PodSandbox& pod,
                                                       const api::Container& container,
                                                       const runtime::ResourceUpdate& update,
                                                       Updates* updates)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);
  void TellUpdated(const api::Container& before) ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);

  Parts* const parts_;
  Dispatcher* const dispatcher_;
  UpdateApplier* const applier_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_CONTAINER_HOOKS_H_
