#include <linux/magic.h>
#include <netdb.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include <cerrno>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "base/text/host_name.h"
#include "linux/namespaces/mounts.h"
#include "preflight/preflight.h"

namespace plimsoll::preflight {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(3);

// Reads without a change: no mode is set.
std::optional<bool> ClockIsSynchronised() {
  timex clock = {};
  const int state = adjtimex(&clock);
  if (state < 0) return std::nullopt;
  return state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0;
}

absl::Status LookUp(const std::string& name) {
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.c_str(), nullptr, nullptr, &found);
  if (error != 0) return absl::NotFoundError(gai_strerror(error));
  freeaddrinfo(found);
  return absl::OkStatus();
}

// The resolver's own limit is half a minute, and its thread can't be interrupted.
absl::Status Resolve(const std::string& name) {
  struct Answer {
    absl::Status status;
    absl::Notification is_there;
  };
  const auto answer = std::make_shared<Answer>();
  std::thread([answer, name] {
    answer->status = LookUp(name);
    answer->is_there.Notify();
  }).detach();
  if (answer->is_there.WaitForNotificationWithTimeout(kPatience)) return answer->status;
  return absl::DeadlineExceededError(
      absl::StrCat("no answer in ", absl::FormatDuration(kPatience)));
}

absl::StatusOr<DiskRoom> RoomOf(const std::string& directory) {
  struct statfs disk = {};
  if (statfs(directory.c_str(), &disk) != 0) {
    return ErrnoStatus(errno, absl::StrCat("statfs ", directory));
  }
  const auto block = static_cast<uint64_t>(disk.f_frsize);
  return DiskRoom{.bytes = uint64_t{disk.f_blocks} * block,
                  .free_bytes = uint64_t{disk.f_bavail} * block,
                  .inodes = disk.f_files,
                  .free_inodes = disk.f_ffree,
                  .is_overlayfs = disk.f_type == OVERLAYFS_SUPER_MAGIC};
}

constexpr char kUnitProperties[] =
    "LoadState,ActiveState,UnitFileState,NeedDaemonReload,KillMode,Delegate,RuntimeDirectory";

absl::StatusOr<std::map<std::string, std::string>> UnitProperties(const std::string& unit) {
  PLIMSOLL_ASSIGN_OR_RETURN(
      const std::string text,
      RunChecked({.argv = {"/bin/systemctl", "show", "--property", kUnitProperties, unit}},
                 {.timeout = kPatience}));
  std::map<std::string, std::string> properties;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    properties.insert(
        std::pair<std::string, std::string>(absl::StrSplit(line, absl::MaxSplits('=', 1))));
  }
  return properties;
}

}  // namespace

HostQueries ThisMachine() {
  utsname names = {};
  uname(&names);
  return {.host_name = HostNameOfNode(),
          .kernel_release = names.release,
          .clock_is_synchronised = ClockIsSynchronised(),
          .resolve = Resolve,
          .find_program = [](absl::string_view name) { return FindProgram(name); },
          .room = RoomOf,
          .has_overlayfs = [] { return linux::HasFileSystem("overlay"); },
          .unit = UnitProperties};
}

}  // namespace plimsoll::preflight
