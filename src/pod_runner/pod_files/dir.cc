#include "pod_runner/pod_files/dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "pod_runner/cri_requests/hosts_file.h"
#include "pod_runner/pod_files/mount_sub_paths.h"
#include "pod_runner/pod_files/pod_lock.h"
#include "pod_runner/pod_files/volume_dirs.h"

namespace plimsoll::pod {
namespace {

absl::StatusOr<std::string> DirectoryOf(const std::string& state_directory, absl::string_view uid) {
  if (uid.empty() || uid.size() > 64) return absl::InvalidArgumentError("pod uid is malformed");
  for (const char c : uid) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-') {
      return absl::InvalidArgumentError("pod uid is malformed");
    }
  }
  return PodDirPath(state_directory, uid);
}

bool HasType(const struct stat& info, const std::string& type) {
  if (type == "Directory" || type == "DirectoryOrCreate") return S_ISDIR(info.st_mode);
  if (type == "File" || type == "FileOrCreate") return S_ISREG(info.st_mode);
  if (type == "Socket") return S_ISSOCK(info.st_mode);
  if (type == "CharDevice") return S_ISCHR(info.st_mode);
  if (type == "BlockDevice") return S_ISBLK(info.st_mode);
  return true;
}

absl::Status PrepareHostPath(const FsRoot& root, const Volume& volume) {
  const std::string what = absl::StrCat("volume ", volume.name, ": hostPath ", volume.host_path);
  const absl::StatusOr<struct stat> info = root.Stat(volume.host_path);
  if (info.ok()) {
    if (HasType(*info, volume.host_path_type)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(what, " is there but is no ", volume.host_path_type));
  }
  if (!absl::IsNotFound(info.status())) return Annotate(info.status(), what);
  if (volume.host_path_type == "DirectoryOrCreate") {
    return Annotate(root.MakeDirs(volume.host_path, 0755), what);
  }
  if (volume.host_path_type == "FileOrCreate") {
    return Annotate(root.OpenFile(volume.host_path, O_WRONLY | O_CREAT | O_EXCL, 0644).status(),
                    what);
  }
  return absl::NotFoundError(
      absl::StrCat(what, " does not exist",
                   volume.host_path_type.empty() ? "; type: DirectoryOrCreate would make it" : ""));
}

absl::Status RemoveAt(const FsRoot& root, const std::string& path) {
  PLIMSOLL_RETURN_IF_ERROR(UnmountSubPathsOfPod(root, path));
  PLIMSOLL_RETURN_IF_ERROR(UnmountVolumes(root, absl::StrCat(path, "/volumes")));
  return root.RemoveTree(path);
}

// Opens a directory and locks it as flock(2) `operation` says. NOT_FOUND: another process holds a
// lock that excludes this one, or the directory is being removed.
absl::StatusOr<UniqueFd> Lock(const FsRoot& root, const std::string& path, int operation) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, root.OpenFile(path, O_RDONLY | O_DIRECTORY));
  struct stat held = {};
  const bool locked = flock(fd.get(), operation | LOCK_NB) == 0 && fstat(fd.get(), &held) == 0;
  const absl::StatusOr<struct stat> named = root.Stat(path);
  if (locked && named.ok() && named->st_ino == held.st_ino && named->st_dev == held.st_dev) {
    return fd;
  }
  return absl::NotFoundError(absl::StrCat(path, " is in use, or gone"));
}

// Unmounts the subPaths of a pod that the daemon has and no process holds.
absl::Status ReleaseEnded(Client& client, const FsRoot& root, const std::string& state_directory,
                          const cri::PodSandbox& pod) {
  const std::string path = PodDirPath(state_directory, pod.metadata().uid());
  PLIMSOLL_ASSIGN_OR_RETURN(const bool any, HasMountedSubPaths(root, path));
  if (!any) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client.ListContainers(pod.id()));
  std::set<std::string> living;
  for (const cri::Container& each : containers) {
    if (each.state() != cri::CONTAINER_EXITED) living.insert(each.metadata().name());
  }
  return UnmountSubPathsOfPod(root, path, living);
}

// RemoveOrphanedPodDirs of another process may hold the new directory's lock for a moment, or have
// removed it.
absl::StatusOr<UniqueFd> MakeLocked(const FsRoot& root, const std::string& path) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  for (;;) {
    PLIMSOLL_RETURN_IF_ERROR(root.MakeDirs(path, 0700));
    absl::StatusOr<UniqueFd> lock = Lock(root, path, LOCK_SH);
    if (lock.ok() || !absl::IsNotFound(lock.status()) || absl::Now() > deadline) return lock;
    absl::SleepFor(absl::Milliseconds(5));
  }
}

}  // namespace

std::string PodsDirectory(absl::string_view state_directory) {
  return absl::StrCat(state_directory, "/pods");
}

std::string PodDirPath(absl::string_view state_directory, absl::string_view uid) {
  return absl::StrCat(PodsDirectory(state_directory), "/", uid);
}

absl::StatusOr<PodDir> MakePodDir(const FsRoot& root, const std::string& state_directory,
                                  absl::string_view uid, const Manifest& pod,
                                  const PodContext& context) {
  PodContext own = context;
  own.uid = std::string(uid);
  PodDir dir;
  PLIMSOLL_ASSIGN_OR_RETURN(dir.path, DirectoryOf(state_directory, uid));
  dir.log_directory = absl::StrCat(dir.path, "/logs");
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_old, root.Has(dir.path));
  absl::Cleanup undo = [&] {
    if (!is_old) RemoveAt(root, dir.path).IgnoreError();
  };
  PLIMSOLL_ASSIGN_OR_RETURN(dir.lock, MakeLocked(root, dir.path));
  PLIMSOLL_RETURN_IF_ERROR(root.MakeDirs(dir.log_directory, 0700));
  for (const Volume& volume : pod.volumes) {
    if (volume.image) continue;
    if (volume.IsHostPath()) {
      PLIMSOLL_RETURN_IF_ERROR(PrepareHostPath(root, volume));
      dir.volumes[volume.name] = volume.host_path;
      continue;
    }
    const std::string path = absl::StrCat(dir.path, "/volumes/", volume.name);
    PLIMSOLL_RETURN_IF_ERROR(MakeVolumeDir(root, path, pod, volume, own));
    dir.volumes[volume.name] = path;
  }
  std::move(undo).Cancel();
  return dir;
}

absl::StatusOr<std::string> WriteHostsFile(const FsRoot& root, const PodDir& dir,
                                           const Manifest& pod, const PodContext& context) {
  const std::string path = absl::StrCat(dir.path, "/hosts");
  // A machine without the file has no lines for its pods.
  const std::string text = HostsFile(pod, context, root.Read("etc/hosts").value_or(""));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd,
                            root.OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  if (fchmod(fd.get(), 0644) != 0) return ErrnoStatus(errno, absl::StrCat("chmod ", path));
  PLIMSOLL_RETURN_IF_ERROR(root.Write(path, text));
  return path;
}

absl::Status RemoveOrphanedPodDirs(Client& client, const FsRoot& root,
                                   const std::string& state_directory) {
  std::map<std::string, UniqueFd> candidates;  // by uid
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            root.List(PodsDirectory(state_directory)));
  for (const std::string& name : names) {
    const absl::StatusOr<std::string> path = DirectoryOf(state_directory, name);
    if (!path.ok()) {
      PodLock::RemoveAbandoned(root, state_directory, name);
      continue;
    }
    absl::StatusOr<UniqueFd> lock = Lock(root, *path, LOCK_EX);
    if (lock.ok()) candidates[name] = *std::move(lock);
  }
  if (candidates.empty()) return absl::OkStatus();
  // The list comes after the locks: a pod that is being made holds its own.
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<cri::PodSandbox> pods, client.ListPodSandboxes());
  absl::Status status;
  for (const cri::PodSandbox& pod : pods) {
    if (!candidates.contains(pod.metadata().uid())) continue;
    status = FirstError(status, ReleaseEnded(client, root, state_directory, pod));
    candidates.erase(pod.metadata().uid());
  }
  for (const auto& [uid, lock] : candidates) {
    status = FirstError(status, RemovePodDir(root, state_directory, uid));
  }
  return status;
}

bool IsLetGo(const FsRoot& root, const std::string& state_directory, absl::string_view uid) {
  const absl::StatusOr<std::string> path = DirectoryOf(state_directory, uid);
  return path.ok() && Lock(root, *path, LOCK_EX).ok();
}

absl::Status ReleaseSubPaths(const FsRoot& root, const std::string& state_directory,
                             absl::string_view uid) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, DirectoryOf(state_directory, uid));
  return UnmountSubPathsOfPod(root, path);
}

absl::Status RemovePodDir(const FsRoot& root, const std::string& state_directory,
                          absl::string_view uid) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, DirectoryOf(state_directory, uid));
  return RemoveAt(root, path);
}

}  // namespace plimsoll::pod
