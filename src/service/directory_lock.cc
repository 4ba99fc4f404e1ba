#include "service/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "linux/process.h"

namespace plimsoll {
namespace {

constexpr char kLockName[] = "lock";

// A daemon killed while it starts a program leaves a child that has not yet become the program, and
// that holds a copy of every descriptor until then.
constexpr absl::Duration kSpawnTime = absl::Seconds(5);

// False if the process whose pid is in the file has ended, or is ending.
bool HolderRuns(const FsRoot& directory) {
  const std::string text = directory.Read(kLockName, 32).value_or("");
  const absl::StatusOr<FsRoot> host = FsRoot::Open("/");
  pid_t pid = 0;
  if (!host.ok() || !absl::SimpleAtoi(text, &pid)) return true;  // it is about to
  return !linux::HasEndedOrIsEnding(*host, {.pid = pid});
}

// The program that runs under the pid, as "plimsolld".
std::string NameOf(absl::string_view pid) {
  pid_t number = 0;
  const absl::StatusOr<FsRoot> host = FsRoot::Open("/");
  if (!host.ok() || !absl::SimpleAtoi(pid, &number)) return "process";
  const std::string name = host->Read(absl::StrCat("proc/", number, "/comm"), 64).value_or("");
  const absl::string_view word = absl::StripAsciiWhitespace(name);
  return word.empty() ? "process" : Printable(word);
}

absl::Status Taken(const FsRoot& directory, absl::string_view what) {
  const std::string holder = directory.Read(kLockName, 32).value_or("");
  const absl::string_view pid = absl::StripAsciiWhitespace(holder);
  return absl::FailedPreconditionError(absl::StrCat(
      "another ", NameOf(pid), pid.empty() ? "" : absl::StrCat(" (pid ", pid, ")"), " uses the ",
      what, " ", directory.path(), "; stop it, or give this one a directory of its own"));
}

}  // namespace

absl::StatusOr<DirectoryLock> DirectoryLock::Take(const FsRoot& directory, absl::string_view what) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, directory.OpenFile(kLockName, O_RDWR | O_CREAT, 0600));
  const std::string path = directory.PathOf(kLockName);
  const absl::Time deadline = absl::Now() + kSpawnTime;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock " + path);
    if (HolderRuns(directory) || absl::Now() > deadline) return Taken(directory, what);
    absl::SleepFor(absl::Milliseconds(1));
  }
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd.get(), 0) != 0 ||
      pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return ErrnoStatus(errno, "write " + path);
  }
  return DirectoryLock(std::move(fd));
}

DirectoryLock::~DirectoryLock() {
  // A close alone would leave it to the descriptor's copies.
  if (fd_.valid()) flock(fd_.get(), LOCK_UN);
}

absl::Status DirectoryLock::CheckFree(const FsRoot& directory, absl::string_view what) {
  const absl::StatusOr<UniqueFd> fd = directory.OpenFile(kLockName, O_RDONLY);
  if (absl::IsNotFound(fd.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  // Held only for a moment, and shared: it can't stop a daemon that starts at that moment twice.
  if (flock(fd->get(), LOCK_SH | LOCK_NB) == 0) return absl::OkStatus();
  if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "lock " + directory.PathOf(kLockName));
  return Taken(directory, what);
}

absl::StatusOr<UniqueFd> WaitUntilNoClientIsLeft(const FsRoot& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd,
                            directory.OpenFile(kClientsLockName, O_RDWR | O_CREAT, 0600));
  while (flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) {
      return ErrnoStatus(errno, "lock " + directory.PathOf(kClientsLockName));
    }
  }
  return fd;
}

}  // namespace plimsoll
