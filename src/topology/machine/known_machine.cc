#include "topology/machine/known_machine.h"

#include "base/status.h"

namespace plimsoll::topology {

absl::StatusOr<bool> KnownMachine::Read() {
  // The signature comes first: the next look sees what changes meanwhile.
  PLIMSOLL_ASSIGN_OR_RETURN(MachineSignature signature, Signature(host_));
  if (machine_ && signature == signature_) return false;
  std::optional<Machine> processors = processors_;
  if (!processors || signature.processors != signature_.processors) {
    PLIMSOLL_ASSIGN_OR_RETURN(processors, DiscoverProcessors(host_, hwloc_program_));
  }
  Machine machine = *processors;
  PLIMSOLL_RETURN_IF_ERROR(AddMemory(host_, machine));
  signature_ = std::move(signature);
  processors_ = std::move(processors);
  machine_ = std::move(machine);
  return true;
}

}  // namespace plimsoll::topology
