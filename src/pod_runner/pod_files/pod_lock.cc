#include "pod_runner/pod_files/pod_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "pod_runner/pod_files/dir.h"

namespace plimsoll::pod {
namespace {

constexpr absl::Duration kLockInterval = absl::Milliseconds(10);

// FNV-1a: the same in every build. The name itself may be longer than a file name. Two names with
// one hash wait for each other.
uint64_t HashOf(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// True while the path names the open file: the last holder removes it.
bool IsAt(const FsRoot& root, const std::string& path, int fd) {
  struct stat held = {};
  const absl::StatusOr<struct stat> named = root.Stat(path);
  return named.ok() && fstat(fd, &held) == 0 && held.st_ino == named->st_ino &&
         held.st_dev == named->st_dev;
}

}  // namespace

absl::StatusOr<PodLock> PodLock::TakeName(const FsRoot& root, const std::string& state_directory,
                                          absl::string_view pod_namespace, absl::string_view name,
                                          absl::Duration patience,
                                          const std::function<bool()>& give_up) {
  const std::string pod = absl::StrCat(pod_namespace, "/", name);
  const std::string file = absl::StrCat("name-", absl::Hex(HashOf(pod), absl::kZeroPad16), ".lock");
  return TakeFile(root, state_directory, file,
                  absl::StrCat("pod ", pod, ": another plimsoll is making a pod of this name"),
                  patience, give_up);
}

absl::StatusOr<PodLock> PodLock::TakeUserIds(const FsRoot& root, const std::string& state_directory,
                                             absl::Duration patience,
                                             const std::function<bool()>& give_up) {
  return TakeFile(root, state_directory, "user-ids.lock",
                  "hostUsers: another plimsoll is choosing user ids", patience, give_up);
}

absl::StatusOr<PodLock> PodLock::TakeFile(const FsRoot& root, const std::string& state_directory,
                                          absl::string_view file, absl::string_view another,
                                          absl::Duration patience,
                                          const std::function<bool()>& give_up) {
  const std::string directory = PodsDirectory(state_directory);
  const std::string path = absl::StrCat(directory, "/", file);
  PLIMSOLL_RETURN_IF_ERROR(root.MakeDirs(directory, 0700));
  const absl::Time deadline = absl::Now() + patience;
  for (;;) {
    PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, root.OpenFile(path, O_RDWR | O_CREAT, 0600));
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      if (IsAt(root, path, fd.get())) return PodLock(root, path, std::move(fd));
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      return ErrnoStatus(errno, "flock " + path);
    }
    if (give_up && give_up()) return absl::CancelledError("interrupted");
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat(another, " and does not get done (it holds ", path, ")"));
    }
    absl::SleepFor(kLockInterval);
  }
}

void PodLock::RemoveAbandoned(const FsRoot& root, const std::string& state_directory,
                              absl::string_view file) {
  if (!absl::EndsWith(file, ".lock")) return;
  const std::string path = absl::StrCat(PodsDirectory(state_directory), "/", file);
  absl::StatusOr<UniqueFd> fd = root.OpenFile(path, O_RDWR);
  if (!fd.ok() || flock(fd->get(), LOCK_EX | LOCK_NB) != 0) return;
  if (IsAt(root, path, fd->get())) PodLock(root, path, *std::move(fd));  // its end removes the file
}

PodLock::~PodLock() {
  // Removed while the lock is held. The next holder sees that its file is gone, and opens a new
  // one.
  if (fd_.valid()) root_.RemoveFile(path_).IgnoreError();
}

}  // namespace plimsoll::pod
