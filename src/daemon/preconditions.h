// Conditions of a start, checked before anything is made.
#ifndef PLIMSOLL_DAEMON_PRECONDITIONS_H_
#define PLIMSOLL_DAEMON_PRECONDITIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "daemon/config/config.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::daemon {

// NOT_FOUND if a program that containers need is missing. Checked before anything is made, so that
// such a machine is left as it was.
absl::Status CheckPrograms(const Config& config);

// FAILED_PRECONDITION "crun: ..." if the OCI runtime doesn't run or is none, NOT_FOUND if it is
// missing. Runs it; a start finds out by itself.
absl::Status CheckOciRuntime(const Config& config);

// FAILED_PRECONDITION where the hard RLIMIT_NOFILE is too low to start with. Asked before anything
// is opened, which would fail with another reason.
absl::Status CheckDescriptorLimit();

// Raises this process's descriptor limit to the maximum: each container costs some descriptors
// (monitor, exec, streams). Returns the previous limit, which is for containers: programs that use
// select(2), or that close every possible descriptor, can't bear a high one.
absl::StatusOr<runtime::DescriptorLimit> RaiseDescriptorLimit();

// FAILED_PRECONDITION if RLIMIT_FSIZE, which monitors and containers inherit, is too low for
// layers, logs and the database.
absl::Status CheckFileSizeLimit();

// FAILED_PRECONDITION if the state directory at `path` is on overlayfs: the kernel takes no
// directory of one for a container's changes. `directory`: it, or the one in which it would be
// made.
absl::Status CheckStateFileSystem(const FsRoot& directory, const std::string& path);

// Reports all reasons for which a start here would fail, beside the OCI runtime: limits, helper
// programs of another version than `version`, directories that can't be used or that another daemon
// uses. Changes nothing.
absl::Status CheckStart(const Config& config, const std::string& version);

// Adds the remedy if `opened` is the error of a full or read-only file system. `what`: "state
// directory".
absl::Status WithRemedy(const absl::Status& opened, absl::string_view what,
                        const std::string& directory);

// FAILED_PRECONDITION where RLIMIT_STACK is too low: it is the size of each thread's stack, and a
// stack that is full ends the process without a word. Asked first of all.
absl::Status CheckStackLimit();

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_PRECONDITIONS_H_
