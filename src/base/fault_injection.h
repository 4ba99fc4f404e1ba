// Injected faults, for tests: a hook at the lowest doors through which this process changes
// anything outside itself. It provokes, at the Nth action of a call, failures that a temporary
// directory can't: EIO, a refused mount, a failed commit.
//
// The doors: Spawn; FsRoot's Write, ReplaceFile, MakeDirs and Remove...; mounting, unmounting and
// making namespaces; making a cgroup; a statement that changes the database; the rename or sync
// that makes or removes a layer at once. In production the hook is null, which costs one load and
// one branch beside a system call.
#ifndef PLIMSOLL_BASE_FAULT_INJECTION_H_
#define PLIMSOLL_BASE_FAULT_INJECTION_H_

#include <atomic>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll {

// Called before an action; if it returns an error, the action fails with that, undone. `verb` is
// one of "run", "write", "create", "make", "remove", "rename", "sync", "mount", "unmount",
// "unshare", "commit"; `object` is the program, path or statement. Called on any thread, on several
// at once.
using FaultHook = absl::Status (*)(absl::string_view verb, absl::string_view object);

namespace internal {
ABSL_CONST_INIT inline std::atomic<FaultHook> fault_hook{nullptr};
}  // namespace internal

// Sets the hook of the whole process; null for none. For tests only.
inline void SetFaultHook(FaultHook hook) {
  internal::fault_hook.store(hook, std::memory_order_release);
}

// The hook's answer to one action. For the doors.
inline absl::Status InjectedFault(absl::string_view verb, absl::string_view object) {
  const FaultHook hook = internal::fault_hook.load(std::memory_order_acquire);
  return hook == nullptr ? absl::OkStatus() : hook(verb, object);
}

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_FAULT_INJECTION_H_
