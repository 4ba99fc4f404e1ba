// Failures of plimsoll-exec, as its processes tell each other and the daemon.
#ifndef PLIMSOLL_ENTRY_REPORT_H_
#define PLIMSOLL_ENTRY_REPORT_H_

#include <cstddef>
#include <cstdint>

#include "entry/plan.h"

namespace plimsoll::entry {

// What can fail. Up to kFork nothing has been started in the container.
enum class Step : int32_t {
  kNone = 0,
  kClass,
  kOomScore,
  kDescriptorLimit,
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

// What `size` bytes of that pipe say, which the process that the container sees may have written.
// False: nothing that is known.
bool Decode(const void* bytes, size_t size, Failure* failure);

// Writes it to the pipe to the supervisor and ends this process.
[[noreturn]] void Fail(int report, Step step);

// Writes to the log what the daemon reads: a message in the OCI runtime's words, or one that begins
// as entry/protocol.h says.
void Tell(const Plan& plan, const Failure& failure);

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_ENTRY_REPORT_H_
