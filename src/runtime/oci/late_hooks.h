// Hooks of a container that run after its creation. The OCI runtime runs those of the stages up to
// its init's exec; it must be asked to run the others.
#ifndef PLIMSOLL_RUNTIME_OCI_LATE_HOOKS_H_
#define PLIMSOLL_RUNTIME_OCI_LATE_HOOKS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "runtime/oci/crun/crun.h"

namespace plimsoll::runtime {

struct LateHooks {
  bool poststart = false;
  bool poststop = false;
  bool any() const { return poststart || poststop; }
};

LateHooks LateHooksOf(const nlohmann::json& config);

// Notes them in the container's bundle. `program`: the OCI runtime that makes it; empty: crun.
absl::Status NoteLateHooks(const FsRoot& bundle, const LateHooks& hooks,
                           const std::string& program);

// Starts a container that has poststart hooks, by the OCI runtime's own `start`, which returns
// after them. False: there are none, and nothing was done. A hook that fails doesn't make the start
// fail, as the OCI runtime specification has it.
absl::StatusOr<bool> StartWithHooks(const Crun& crun, const FsRoot& bundle, absl::string_view id);

// Runs the poststop hooks of a container without processes, if it has some, by the OCI runtime's
// own `delete`: at most once, also if that fails. A container that was never created gets none.
absl::Status RunPoststopHooks(const Crun& crun, const FsRoot& bundle, absl::string_view id);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_LATE_HOOKS_H_
