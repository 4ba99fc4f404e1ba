#include "daemon/run_directory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "base/random_id.h"
#include "base/status.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::daemon {

absl::StatusOr<std::unique_ptr<RunDirectory>> RunDirectory::Open(const FsRoot& host,
                                                                 const std::string& path) {
  // 0755: clients pass through to the socket; the content has its own modes. Locked before it is
  // mounted upon: a lock within the mount would keep the mount busy.
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot below, FsRoot::OpenOrCreate(path, 0755));
  PLIMSOLL_ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::Take(below, "run directory"));
  auto directory = std::unique_ptr<RunDirectory>(new RunDirectory(host, path, std::move(lock)));

  PLIMSOLL_ASSIGN_OR_RETURN(const bool was_mounted, linux::IsMountPoint(host, path));
  PLIMSOLL_RETURN_IF_ERROR(linux::MakePrivateMountPoint(host, path));
  directory->mounted_here_ = !was_mounted;
  absl::Cleanup undo = [&] { directory->Undo().IgnoreError(); };
  PLIMSOLL_ASSIGN_OR_RETURN(directory->root_, FsRoot::Open(path));
  std::move(undo).Cancel();
  return directory;
}

// Lazily: the process's starter may have files open in it (its log).
absl::Status RunDirectory::Undo() {
  if (!mounted_here_) return absl::OkStatus();
  root_.reset();
  return linux::Unmount(path_, /*lazy=*/true);
}

absl::Status RunDirectory::Remove() {
  root_.reset();
  PLIMSOLL_RETURN_IF_ERROR(linux::Unmount(path_, /*lazy=*/true));
  const size_t slash = path_.rfind('/');
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot parent,
                            FsRoot::Open(slash == 0 ? "/" : path_.substr(0, slash)));
  return parent.RemoveTree(path_.substr(slash + 1));
}

absl::StatusOr<size_t> CountSandboxes(const FsRoot& host, const std::string& path) {
  const absl::StatusOr<bool> is_mounted = linux::IsMountPoint(host, path);
  if (absl::IsNotFound(is_mounted.status())) return 0;
  PLIMSOLL_RETURN_IF_ERROR(is_mounted.status());
  if (!*is_mounted) return 0;
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot run, FsRoot::Open(path));
  const absl::StatusOr<std::vector<std::string>> names = run.List("sandboxes");
  if (absl::IsNotFound(names.status())) return 0;
  PLIMSOLL_RETURN_IF_ERROR(names.status());
  return static_cast<size_t>(
      std::count_if(names->begin(), names->end(), [](const auto& name) { return IsId(name); }));
}

absl::Status CheckStateIsThere(const std::string& state_directory, size_t sandboxes) {
  if (sandboxes == 0) return absl::OkStatus();
  const absl::StatusOr<FsRoot> state = FsRoot::Open(state_directory);
  if (!absl::IsNotFound(state.status())) {
    PLIMSOLL_RETURN_IF_ERROR(state.status());
    PLIMSOLL_ASSIGN_OR_RETURN(const bool has_images, state->Has("images"));
    if (has_images) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the state directory ", state_directory, " is ", state.ok() ? "empty" : "missing",
      ", and the run directory has ", sandboxes, sandboxes == 1 ? " pod" : " pods",
      " of this boot: is its disk mounted? Mount it, and the pods are found again. To start "
      "without them and end them all, make the directory images in it"));
}

}  // namespace plimsoll::daemon
