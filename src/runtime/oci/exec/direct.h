// Commands that enter a container by plimsoll-exec, without the OCI runtime.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_DIRECT_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_DIRECT_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "runtime/oci/exec/command.h"
#include "runtime/oci/exec/group.h"
#include "runtime/oci/exec/request.h"

namespace plimsoll::runtime {

// crun spends some twenty milliseconds of CPU on a command, of which the kernel needs a third: it
// loads sixteen libraries and reads the container's whole configuration first. A container that
// crun made as it is, and whose bundle therefore has a template (entry_template.h), can do without.
// Thread-safe.
class DirectExec {
 public:
  static constexpr char kTemplate[] = "entry";  // in the bundle

  // Copies the program into a sealed memfd. `bundles` holds each container's directory.
  static absl::StatusOr<std::unique_ptr<DirectExec>> Load(const std::string& program,
                                                          FsRoot bundles);

  // The command without streams and working directory; nullopt: not for this container or command.
  // ABORTED: the container is frozen.
  absl::StatusOr<std::optional<Command>> MakeCommand(const ExecTools& tools, absl::string_view id,
                                                     absl::string_view cgroup_path,
                                                     const ExecRequest& request,
                                                     const std::optional<ExecGroup>& group,
                                                     ExecDescriptors* own);

  // Whether a message in the log says that crun may succeed (container_entry/protocol.h). Then crun
  // enters for the container's next command or, if the cause lasts, for all of them.
  bool LeavesToCrun(absl::string_view id, absl::string_view message);
  // Drops the record of a container that is gone.
  void Forget(absl::string_view id);

 private:
  DirectExec(UniqueFd program, FsRoot bundles);
  // Whether to leave the container to crun: once, unless the cause lasts.
  bool Avoids(absl::string_view id);

  const UniqueFd program_;
  const std::string executable_;
  const FsRoot bundles_;
  absl::Mutex mutex_;
  // Containers that crun enters; true: for good.
  std::map<std::string, bool, std::less<>> avoided_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_DIRECT_H_
