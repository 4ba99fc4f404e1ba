#include "runtime/objects/state_machine.h"

#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace plimsoll::runtime {
namespace {

using C = ContainerState;
using S = SandboxState;

constexpr std::array kContainerStates = {C::kCreating, C::kCreated, C::kRunning,
                                         C::kExited,   C::kUnknown, C::kRemoving};
constexpr std::array kSandboxStates = {S::kCreating, S::kReady, S::kNotReady, S::kRemoving};

template <typename State, typename States>
absl::Status Check(const char* what, absl::string_view id, State from, State to,
                   const States& states) {
  if (MayFollow(from, to)) return absl::OkStatus();
  std::vector<std::string> valid;
  for (const State state : states) {
    if (MayFollow(state, to)) valid.push_back(StateName(state));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(what, " ", id, " is ", StateName(from), "; only one that is ",
                   absl::StrJoin(valid, " or "), " can become ", StateName(to)));
}

}  // namespace

const char* StateName(ContainerState state) {
  switch (state) {
    case C::kCreating:
      return "Creating";
    case C::kCreated:
      return "Created";
    case C::kRunning:
      return "Running";
    case C::kExited:
      return "Exited";
    case C::kUnknown:
      return "Unknown";
    case C::kRemoving:
      return "Removing";
  }
  return "Invalid";
}

const char* StateName(SandboxState state) {
  switch (state) {
    case S::kCreating:
      return "Creating";
    case S::kReady:
      return "Ready";
    case S::kNotReady:
      return "NotReady";
    case S::kRemoving:
      return "Removing";
  }
  return "Invalid";
}

bool IsLive(ContainerState state) {
  return state == C::kCreated || state == C::kRunning;
}

bool IsRefused(const ContainerRecord& record) {
  return record.state == C::kCreated && record.reason == kStartError;
}

bool HasProcess(const ContainerRecord& record) {
  return IsLive(record.state) && !IsRefused(record);
}

absl::Status CheckLive(const ContainerRecord& record, absl::string_view what) {
  if (IsLive(record.state)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("container ", record.id, " is ",
                                                    StateName(record.state), "; ", what,
                                                    " needs one that is Created or Running"));
}

absl::Status CheckProcess(const ContainerRecord& record, absl::string_view what) {
  if (!IsRefused(record)) return CheckLive(record, what);
  return absl::FailedPreconditionError(absl::StrCat("container ", record.id, " has no process; ",
                                                    what, " needs one (", record.message, ")"));
}

bool MayFollow(ContainerState from, ContainerState to) {
  switch (to) {
    case C::kCreating:
      return false;
    case C::kCreated:
      return from == C::kCreating;
    case C::kRunning:
      return from == C::kCreated;
    case C::kExited:  // from Created: killed before it was started
      return from == C::kCreated || from == C::kRunning || from == C::kUnknown;
    case C::kUnknown:
      return from == C::kCreated || from == C::kRunning;
    case C::kRemoving:  // from Creating: a creation that failed
      return from == C::kCreating || from == C::kExited || from == C::kUnknown ||
             from == C::kRemoving;
  }
  return false;
}

bool MayFollow(SandboxState from, SandboxState to) {
  switch (to) {
    case S::kCreating:
      return false;
    case S::kReady:
      return from == S::kCreating;
    case S::kNotReady:
      return from == S::kReady || from == S::kNotReady;
    case S::kRemoving:
      return from == S::kCreating || from == S::kNotReady || from == S::kRemoving;
  }
  return false;
}

absl::Status CheckTransition(absl::string_view id, ContainerState from, ContainerState to) {
  return Check("container", id, from, to, kContainerStates);
}

absl::Status CheckTransition(absl::string_view id, SandboxState from, SandboxState to) {
  return Check("sandbox", id, from, to, kSandboxStates);
}

}  // namespace plimsoll::runtime
