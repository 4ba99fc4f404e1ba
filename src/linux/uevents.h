// Kernel events about devices that come, go or change: netlink's NETLINK_KOBJECT_UEVENT
// (lib/kobject_uevent.c; Documentation/ABI/testing/sysfs-uevent).
//
//   auto watcher = UeventWatcher::Start({.subsystems = {"block"}}, [&](const UeventNews& news) {
//     ...  // on a thread of the watcher's
//   });
//
// The kernel sends an event before udev has made the device's links. It drops events that don't fit
// into a socket's buffer: then everything may have changed.
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
  std::map<std::string, std::string> properties;  // all of the event's: "DEVNAME" -> "loop0"
};

// Parses one datagram of the kernel. INVALID_ARGUMENT for anything else, such as udevd's own.
absl::StatusOr<Uevent> ParseUevent(absl::string_view datagram);

struct UeventNews {
  std::vector<Uevent> events;  // in the kernel's order
  // Some events are missing: look at everything.
  bool overrun = false;
};

// A socket that receives the kernel's events. Used by one thread.
class UeventSocket {
 public:
  struct Options {
    std::set<std::string> subsystems;  // empty: all
    // The socket's receive buffer, at most this process's limit (net.core.rmem_max).
    size_t buffer_bytes = 1 << 20;
  };
  // Errors are those of socket(2) and bind(2).
  static absl::StatusOr<UeventSocket> Open(Options options);
  // For tests: takes a non-blocking datagram socket that somebody else writes events to.
  static UeventSocket Adopt(UniqueFd fd, Options options) {
    return UeventSocket(std::move(fd), std::move(options));
  }

  int fd() const { return fd_.get(); }  // readable when there is something
  // Adds all events there are now; doesn't wait. Leaves out other subsystems.
  absl::Status Read(UeventNews* news);

 private:
  UeventSocket(UniqueFd fd, Options options) : fd_(std::move(fd)), options_(std::move(options)) {}

  UniqueFd fd_;
  Options options_;
};

// Reports events in its own thread, one report at a time. Many events in a row make one report:
// after `quiet` without any, but no later than `at_most` after the first.
class UeventWatcher {
 public:
  struct Options {
    std::set<std::string> subsystems;
    absl::Duration quiet = absl::Milliseconds(500);
    absl::Duration at_most = absl::Seconds(5);
    size_t most_events = 1000;  // beyond these it drops all and reports an overrun
  };
  static absl::StatusOr<std::unique_ptr<UeventWatcher>> Start(
      Options options, std::function<void(const UeventNews&)> tell);
  // The destructor waits for a report under way.
  UeventWatcher(const UeventWatcher&) = delete;
  UeventWatcher& operator=(const UeventWatcher&) = delete;

 private:
  UeventWatcher(Options options, UeventSocket socket, std::function<void(const UeventNews&)> tell);
  bool Read();

  const Options options_;
  UeventSocket socket_;
  const std::function<void(const UeventNews&)> tell_;
  UeventNews news_;                    // since the last report; used by the watch's thread
  std::unique_ptr<QuietWatch> watch_;  // last, so that it ends first
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_UEVENTS_H_
