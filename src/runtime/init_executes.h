// Predicate: a container's init goes on to execute a program.
#ifndef PLIMSOLL_RUNTIME_INIT_EXECUTES_H_
#define PLIMSOLL_RUNTIME_INIT_EXECUTES_H_

#include "absl/status/statusor.h"
#include "runtime/handlers/handler.h"

namespace plimsoll::runtime {

// True if the daemon's own OCI runtime makes the container: `handler` is null, or has no program. A
// handler's program may run the workload in its init, as krun does. False if the handler isn't
// configured any more.
inline bool InitExecutes(const absl::StatusOr<const Handler*>& handler) {
  return handler.ok() && (*handler == nullptr || (*handler)->program.empty());
}

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_INIT_EXECUTES_H_
