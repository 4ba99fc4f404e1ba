// The engine's hooks of pods.
#ifndef PLIMSOLL_NRI_POD_HOOKS_H_
#define PLIMSOLL_NRI_POD_HOOKS_H_

#include <string>

#include "absl/status/status.h"
#include "nri/dispatcher.h"
#include "nri/parts.h"
#include "runtime/pod/hooks.h"

namespace plimsoll::nri {

// See runtime::Hooks. Thread-safe.
class PodHooks {
 public:
  PodHooks(Parts* parts, Dispatcher* dispatcher) : parts_(parts), dispatcher_(dispatcher) {}

  absl::Status Run(const runtime::HookedPod& pod);
  void Undo(const std::string& id);
  absl::Status Update(const runtime::HookedPod& pod, const runtime::SandboxUpdate& update);
  void Updated(const runtime::HookedPod& pod);
  void Stop(const runtime::HookedPod& pod);

 private:
  Parts* const parts_;
  Dispatcher* const dispatcher_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_POD_HOOKS_H_
