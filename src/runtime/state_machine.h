// Which state may follow which. The only place that decides it.
#ifndef PLIMSOLL_RUNTIME_STATE_MACHINE_H_
#define PLIMSOLL_RUNTIME_STATE_MACHINE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/store/records.h"

namespace plimsoll::runtime {

const char* StateName(ContainerState state);  // "Created"
const char* StateName(SandboxState state);    // "Ready"

bool IsLive(ContainerState state);  // Created or Running

// The reason of an exit without a run: the container's program could not be executed.
inline constexpr char kStartError[] = "StartError";

// Created without a process, since what it is to run can't be executed: its start will fail with
// the record's message.
bool IsRefused(const ContainerRecord& record);
// IsLive, and not refused.
bool HasProcess(const ContainerRecord& record);

// FAILED_PRECONDITION unless it is Created or Running, for `what`: "an update".
absl::Status CheckLive(const ContainerRecord& record, absl::string_view what);
// The same; of one that is refused the error says why it has no process.
absl::Status CheckProcess(const ContainerRecord& record, absl::string_view what);

bool MayFollow(ContainerState from, ContainerState to);
bool MayFollow(SandboxState from, SandboxState to);

// FAILED_PRECONDITION, naming the state it is in and those that would be right.
absl::Status CheckTransition(absl::string_view id, ContainerState from, ContainerState to);
absl::Status CheckTransition(absl::string_view id, SandboxState from, SandboxState to);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STATE_MACHINE_H_
