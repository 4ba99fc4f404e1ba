// The engine's Commands.
#ifndef PLIMSOLL_RUNTIME_ENGINE_COMMANDS_H_
#define PLIMSOLL_RUNTIME_ENGINE_COMMANDS_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "runtime/commands.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/objects.h"
#include "runtime/pod/class_assignments.h"

namespace plimsoll::runtime {

// Uses `host`, `run`, `cgroups` and `runtime` of the options, Objects, and ClassAssignments for the
// classes that a command enters. The arguments must outlive this object.
//
// Holds Container::classes, shared, while a command enters, and no other lock.
class EngineCommands final : public Commands {
 public:
  EngineCommands(const EngineOptions& options, const Objects* objects,
                 const ClassAssignments* classes)
      : options_(options), objects_(objects), classes_(classes) {}

  absl::StatusOr<ExecResult> ExecSync(absl::string_view id, const ExecRequest& request) override;
  absl::StatusOr<std::unique_ptr<RunningCommand>> StartExec(absl::string_view id,
                                                            const ExecRequest& request) override;
  absl::StatusOr<AttachedContainer> Attach(absl::string_view id, bool input) override;
  absl::StatusOr<UniqueFd> PodSocket(absl::string_view id, int family) override;
  absl::Status ReopenLog(absl::string_view id) override;

 private:
  // Runs `enter` with `request` completed for the container, and lets no class change come between.
  // Tries again, until the request's deadline, while the container is frozen (ABORTED). Each
  // further try lets no class change for longer, since the OCI runtime looks at the command only
  // after it has entered.
  absl::Status Enter(Container& container, const ContainerRecord& record,
                     const ExecRequest& request,
                     absl::FunctionRef<absl::Status(const ExecRequest&)> enter) const;

  const EngineOptions& options_;
  const Objects* const objects_;
  const ClassAssignments* const classes_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_COMMANDS_H_
