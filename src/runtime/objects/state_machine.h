// States of sandboxes and containers, and their transitions. The only place that decides them.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_STATE_MACHINE_H_
#define PLIMSOLL_RUNTIME_OBJECTS_STATE_MACHINE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/store/records.h"

namespace plimsoll::runtime {

const char* StateName(ContainerState state);  // "Created"
const char* StateName(SandboxState state);    // "Ready"

bool IsLive(ContainerState state);  // Created or Running

// The reason of an exit without a run: the container's program could not be executed.
inline constexpr char kStartError[] = "StartError";

// Whether the container is Created without a process, since its program can't be executed: its
// start will fail with the record's message.
bool IsRefused(const ContainerRecord& record);
// Whether the container is live and not refused.
bool HasProcess(const ContainerRecord& record);

// FAILED_PRECONDITION unless the container is Created or Running. `what`: the operation in the
// message, "an update".
absl::Status CheckLive(const ContainerRecord& record, absl::string_view what);
// FAILED_PRECONDITION unless the container has a process; the error gives the reason if it is
// refused.
absl::Status CheckProcess(const ContainerRecord& record, absl::string_view what);

bool MayFollow(ContainerState from, ContainerState to);
bool MayFollow(SandboxState from, SandboxState to);

// FAILED_PRECONDITION unless `to` may follow `from`; the error names `from` and the states that
// `to` may follow.
absl::Status CheckTransition(absl::string_view id, ContainerState from, ContainerState to);
absl::Status CheckTransition(absl::string_view id, SandboxState from, SandboxState to);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_STATE_MACHINE_H_
