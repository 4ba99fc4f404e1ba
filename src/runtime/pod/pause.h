// plimsoll-pause: the process that holds a PID namespace which a pod's containers share.
#ifndef PLIMSOLL_RUNTIME_POD_PAUSE_H_
#define PLIMSOLL_RUNTIME_POD_PAUSE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "linux/process.h"

namespace plimsoll::runtime {

// A pause process that waits to be released. Until then it ends with this object, also when the
// daemon is killed, so no unrecorded process is left.
class HeldPause {
 public:
  HeldPause(linux::ProcessId id, UniqueFd go) : id_(id), go_(std::move(go)) {}

  const linux::ProcessId& id() const { return id_; }
  // Lets the process outlive this object.
  absl::Status Release();

 private:
  linux::ProcessId id_;
  UniqueFd go_;
};

// Starts a pause process in a PID namespace of its own and in the `namespaces` (files), with the
// empty directory <directory>/pause as its root. `program`: empty for this build's plimsoll-pause.
// NOT_FOUND when the program is missing.
absl::StatusOr<HeldPause> StartPause(const FsRoot& host, const FsRoot& directory,
                                     const std::string& program,
                                     const std::vector<std::string>& namespaces);

// Kills the pause process, and waits for its end, with which all processes of its namespace end
// too. OK if it is gone already, or `id` names no process. DEADLINE_EXCEEDED: it hasn't ended.
absl::Status EndPause(const FsRoot& host, const linux::ProcessId& id, absl::Time deadline);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_PAUSE_H_
