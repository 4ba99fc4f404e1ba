// Failures of plimsoll-exec, reported between its processes and to the daemon.
#ifndef PLIMSOLL_CONTAINER_ENTRY_REPORT_H_
#define PLIMSOLL_CONTAINER_ENTRY_REPORT_H_

#include <cstddef>
#include <cstdint>

#include "container_entry/plan.h"

namespace plimsoll::entry {

// Steps that can fail. Up to and including kFork nothing has been started in the container.
enum class Step : int32_t {
  kNone = 0,
  kClass,
  kOomScore,
  kDescriptorLimit,
  kResourceLimit,
  kLabel,
  kReadFilter,
  kConsole,
  kGroup,
  kDescriptors,
  kNamespaces,
  kSession,
  kTerminal,
  kStreams,
  kDirectory,
  kBeyondRoot,
  kSupplementalGroups,
  kBounding,
  kIds,
  kEarlyFilter,
  kCapabilities,
  kFork,
  kControlTerminal,
  kNoNewPrivileges,
  kFilter,
  kNotFound,
  kExecute,
  kCount,
};

struct Failure {
  Step step = Step::kNone;
  int32_t error = 0;  // errno
};

// Decodes `size` bytes of that pipe, which the process seen by the container may have written.
// False: they are no known failure.
bool Decode(const void* bytes, size_t size, Failure* failure);

// Writes the failure to the pipe to the supervisor and ends this process.
[[noreturn]] void Fail(int report, Step step);

// Writes a message for the daemon to the log: in the OCI runtime's words, or beginning as in
// container_entry/protocol.h.
void Tell(const Plan& plan, const Failure& failure);

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_CONTAINER_ENTRY_REPORT_H_
