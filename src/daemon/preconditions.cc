#include "daemon/preconditions.h"

#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "daemon/own_programs.h"
#include "daemon/run_directory.h"
#include "runtime/oci/crun/crun.h"
#include "service/directory_lock.h"

namespace plimsoll::daemon {
namespace {

// An idle daemon has some 60. gRPC ends the process when it gets none.
constexpr rlim_t kLeastDescriptors = 256;
constexpr rlim_t kLeastFileBytes = rlim_t{1} << 30;
constexpr rlim_t kLeastStackBytes = rlim_t{1} << 20;

// `name`: "NOFILE", of RLIMIT_NOFILE. `text` has places for the limit and for the least.
absl::Status CheckLimit(int resource, absl::string_view name, rlim_t rlimit::*limit, rlim_t least,
                        absl::string_view text, absl::string_view ulimit_option) {
  rlimit found = {};
  if (getrlimit(resource, &found) != 0) {
    return ErrnoStatus(errno, absl::StrCat("read RLIMIT_", name));
  }
  if (found.*limit >= least) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this process may ", absl::Substitute(text, found.*limit, least), ": raise RLIMIT_", name,
      " (ulimit ", ulimit_option, "; in a systemd unit, Limit", name, "=)"));
}

// The directory at an absolute path, or the nearest one above it that is there, in which a start
// would make it.
absl::StatusOr<FsRoot> OpenNearest(std::string path) {
  for (;;) {
    absl::StatusOr<FsRoot> directory = FsRoot::Open(path.empty() ? "/" : path);
    if (!absl::IsNotFound(directory.status()) || path.empty()) return directory;
    path.resize(path.rfind('/'));
  }
}

absl::Status CheckDirectory(const std::string& path, absl::string_view what) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, OpenNearest(path));
  // For root: EROFS, or EPERM for an immutable directory.
  if (faccessat(directory.fd(), ".", W_OK, 0) != 0) {
    return ErrnoStatus(errno, absl::StrCat("write into ", directory.path(), " for the ", what));
  }
  if (directory.path() != path) return absl::OkStatus();
  return DirectoryLock::CheckFree(directory, what);
}

absl::Status CheckStateDirectory(const Config& config) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const size_t sandboxes, CountSandboxes(host, config.run_dir));
  PLIMSOLL_RETURN_IF_ERROR(CheckStateIsThere(config.state_dir, sandboxes));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot nearest, OpenNearest(config.state_dir));
  PLIMSOLL_RETURN_IF_ERROR(CheckStateFileSystem(nearest, config.state_dir));
  return CheckDirectory(config.state_dir, "state directory");
}

}  // namespace

absl::Status CheckStart(const Config& config, const std::string& version) {
  absl::Status fits = AlsoTell(CheckDescriptorLimit(), CheckFileSizeLimit());
  fits = AlsoTell(fits, CheckInstalledWhole(version));
  fits = AlsoTell(fits, CheckStateDirectory(config));
  return AlsoTell(fits, CheckDirectory(config.run_dir, "run directory"));
}

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
  return CheckLimit(RLIMIT_NOFILE, "NOFILE", &rlimit::rlim_max, kLeastDescriptors,
                    "have $0 open files, and needs $1 and some for each container", "-Hn");
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
  return CheckLimit(RLIMIT_FSIZE, "FSIZE", &rlimit::rlim_cur, kLeastFileBytes,
                    "write files of $0 bytes, and needs $1 for images, logs and its database",
                    "-f");
}

absl::Status CheckStateFileSystem(const FsRoot& directory, const std::string& path) {
  struct statfs info = {};
  if (fstatfs(directory.fd(), &info) != 0) return ErrnoStatus(errno, "statfs " + directory.path());
  if (info.f_type != OVERLAYFS_SUPER_MAGIC) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the state directory ", path,
      " is on overlayfs, as inside a container, and no container can have its root file system "
      "there: mount a volume on it, or set state_dir in the configuration"));
}

absl::Status WithRemedy(const absl::Status& opened, absl::string_view what,
                        const std::string& directory) {
  absl::string_view remedy;
  const int error = ErrnoOf(opened);
  if (error == ENOSPC || error == EDQUOT) remedy = "make room on the file system of";
  if (error == EROFS) remedy = "mount read-write the file system of";
  if (remedy.empty()) return opened;
  return AlsoSay(
      opened, absl::StrCat(remedy, " the ", what, " ", directory, ". Running pods are unaffected"));
}

absl::Status CheckStackLimit() {
  return CheckLimit(RLIMIT_STACK, "STACK", &rlimit::rlim_cur, kLeastStackBytes,
                    "have stacks of $0 bytes, and needs $1", "-s");
}

}  // namespace plimsoll::daemon
