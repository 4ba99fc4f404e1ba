#include "daemon/preconditions.h"

#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/subprocess.h"
#include "runtime/oci/crun/crun.h"

namespace plimsoll::daemon {
namespace {

// An idle daemon has some 60. gRPC ends the process when it gets none.
constexpr rlim_t kLeastDescriptors = 256;
constexpr rlim_t kLeastFileBytes = rlim_t{1} << 30;
constexpr rlim_t kLeastStackBytes = rlim_t{1} << 20;

}  // namespace

absl::Status CheckPrograms(const Config& config) {
  if (!config.crun.empty()) return absl::OkStatus();  // checked by ValidateConfig
  const absl::Status found = FindProgram("crun").status();
  if (found.ok()) return found;
  return absl::Status(found.code(), absl::StrCat(found.message(),
                                                 "; install it (Debian: apt-get install crun) or "
                                                 "set crun in the configuration"));
}

absl::Status CheckOciRuntime(const Config& config) {
  PLIMSOLL_RETURN_IF_ERROR(CheckPrograms(config));
  return Annotate(runtime::CheckOciRuntime(config.crun), "crun");
}

absl::Status CheckDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return ErrnoStatus(errno, "read RLIMIT_NOFILE");
  if (limit.rlim_max >= kLeastDescriptors) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this process may have ", limit.rlim_max, " open files, and needs ", kLeastDescriptors,
      " and some for each container: raise RLIMIT_NOFILE (ulimit -Hn; in a systemd unit, ",
      "LimitNOFILE=)"));
}

absl::StatusOr<runtime::DescriptorLimit> RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return ErrnoStatus(errno, "read RLIMIT_NOFILE");
  const runtime::DescriptorLimit found = {.soft = limit.rlim_cur, .hard = limit.rlim_max};
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return ErrnoStatus(errno, "raise RLIMIT_NOFILE");
  return found;
}

absl::Status CheckFileSizeLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return ErrnoStatus(errno, "read RLIMIT_FSIZE");
  if (limit.rlim_cur >= kLeastFileBytes) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this process may write files of ", limit.rlim_cur, " bytes, and needs ", kLeastFileBytes,
      " for images, logs and its database: raise RLIMIT_FSIZE (ulimit -f; in a systemd unit, ",
      "LimitFSIZE=)"));
}

absl::Status CheckStateFileSystem(const FsRoot& state) {
  struct statfs info = {};
  if (fstatfs(state.fd(), &info) != 0) return ErrnoStatus(errno, "statfs " + state.path());
  if (info.f_type != OVERLAYFS_SUPER_MAGIC) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the state directory ", state.path(),
      " is on overlayfs, as inside a container, and no container can have its root file system "
      "there: mount a volume on it, or set state_dir in the configuration"));
}

absl::Status CheckStackLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return ErrnoStatus(errno, "read RLIMIT_STACK");
  if (limit.rlim_cur >= kLeastStackBytes) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this process may have stacks of ", limit.rlim_cur, " bytes, and needs ", kLeastStackBytes,
      ": raise RLIMIT_STACK (ulimit -s; in a systemd unit, LimitSTACK=)"));
}

}  // namespace plimsoll::daemon
