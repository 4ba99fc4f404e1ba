// What the kernel tells of devices that come, go or change: netlink's NETLINK_KOBJECT_UEVENT
// (lib/kobject_uevent.c; Documentation/ABI/testing/sysfs-uevent).
//
//   auto watcher = UeventWatcher::Start({.subsystems = {"block"}}, [&](const UeventNews& news) {
//     ...  // on a thread of the watcher's
//   });
//
// The kernel tells this before udev has made the device's links, and drops what a socket has no
// room for: then everything may have changed.
#ifndef PLIMSOLL_LINUX_UEVENTS_H_
#define PLIMSOLL_LINUX_UEVENTS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "linux/quiet_watch.h"

namespace plimsoll::linux {

struct Uevent {
  std::string action;     // "add", "remove", "change", "online", "offline", "move", "bind", ...
  std::string path;       // of the device in sysfs, without /sys: "/devices/virtual/block/loop0"
  std::string subsystem;  // "block", "cpu", "memory", "node", "net", ...
  std::map<std::string, std::string> properties;  // all the kernel says: "DEVNAME" -> "loop0"
};

// From one datagram of the kernel's. INVALID_ARGUMENT for anything else, such as udevd's own.
absl::StatusOr<Uevent> ParseUevent(absl::string_view datagram);

struct UeventNews {
  std::vector<Uevent> events;  // in the kernel's order
  // Some are missing: look at everything.
  bool overrun = false;
};

// A socket that gets what the kernel tells. Used by one thread.
class UeventSocket {
 public:
  struct Options {
    std::set<std::string> subsystems;  // empty: all
    // What the kernel may keep for it, before this process's limit (net.core.rmem_max) counts.
    size_t buffer_bytes = 1 << 20;
  };
  // Errors are those of socket(2) and bind(2).
  static absl::StatusOr<UeventSocket> Open(Options options);
  // For tests: a datagram socket, not blocking, that somebody else writes events to.
  static UeventSocket Adopt(UniqueFd fd, Options options) {
    return UeventSocket(std::move(fd), std::move(options));
  }

  int fd() const { return fd_.get(); }  // readable when there is something
  // Adds all that is there now; doesn't wait. Events of other subsystems are left out.
  absl::Status Read(UeventNews* news);

 private:
  UeventSocket(UniqueFd fd, Options options) : fd_(std::move(fd)), options_(std::move(options)) {}

  UniqueFd fd_;
  Options options_;
};

// Tells in its own thread, one after the other. Where many events come at once they are told as
// one: after `quiet` without any, but no later than `at_most` after the first.
class UeventWatcher {
 public:
  struct Options {
    std::set<std::string> subsystems;
    absl::Duration quiet = absl::Milliseconds(500);
    absl::Duration at_most = absl::Seconds(5);
    size_t most_events = 1000;  // beyond these it is an overrun, and they are forgotten
  };
  static absl::StatusOr<std::unique_ptr<UeventWatcher>> Start(
      Options options, std::function<void(const UeventNews&)> tell);
  // Its end waits for what is being told.
  UeventWatcher(const UeventWatcher&) = delete;
  UeventWatcher& operator=(const UeventWatcher&) = delete;

 private:
  UeventWatcher(Options options, UeventSocket socket, std::function<void(const UeventNews&)> tell);
  bool Read();

  const Options options_;
  UeventSocket socket_;
  const std::function<void(const UeventNews&)> tell_;
  UeventNews news_;                    // since it told the last; of the watch's thread
  std::unique_ptr<QuietWatch> watch_;  // last, so that it ends first
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_UEVENTS_H_
