#include "linux/uevents.h"

#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

constexpr size_t kLongestEvent = 16 * 1024;  // the kernel's own is 2 KiB and the path
constexpr uint32_t kKernelsGroup = 1;        // udevd's is 2
constexpr absl::Duration kPauseAfterError = absl::Seconds(1);

}  // namespace

// "add@/devices/x\0ACTION=add\0DEVPATH=/devices/x\0SUBSYSTEM=block\0..."
absl::StatusOr<Uevent> ParseUevent(absl::string_view datagram) {
  const std::vector<absl::string_view> parts = absl::StrSplit(datagram, '\0', absl::SkipEmpty());
  if (parts.empty() || parts[0].find('@') == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        "no event of the kernel's: it doesn't begin with ACTION@PATH");
  }
  Uevent event;
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> property =
        absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
    event.properties.emplace(property.first, property.second);
  }
  event.action = event.properties["ACTION"];
  event.path = event.properties["DEVPATH"];
  event.subsystem = event.properties["SUBSYSTEM"];
  if (!event.action.empty() && parts[0] == absl::StrCat(event.action, "@", event.path)) {
    return event;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the event's head \"", parts[0], "\" doesn't match its properties"));
}

absl::StatusOr<UeventSocket> UeventSocket::Open(Options options) {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  if (!fd.valid()) return ErrnoStatus(errno, "socket for the kernel's device events");
  const int size = static_cast<int>(options.buffer_bytes);
  if (setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0) {
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));  // the kernel caps it
  }
  struct sockaddr_nl address = {};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelsGroup;
  if (bind(fd.get(), reinterpret_cast<const struct sockaddr*>(&address), sizeof(address)) != 0) {
    return ErrnoStatus(errno, "bind the socket for the kernel's device events");
  }
  return UeventSocket(std::move(fd), std::move(options));
}

absl::Status UeventSocket::Read(UeventNews* news) {
  std::string buffer(kLongestEvent, '\0');
  while (true) {
    struct sockaddr_nl from = {};
    socklen_t from_size = sizeof(from);
    const ssize_t n = recvfrom(fd_.get(), buffer.data(), buffer.size(), MSG_TRUNC,
                               reinterpret_cast<struct sockaddr*>(&from), &from_size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ENOBUFS) {  // events without room are lost; the rest are still to be read
      news->overrun = true;
      continue;
    }
    if (n < 0 && errno == EAGAIN) return absl::OkStatus();
    if (n < 0) return ErrnoStatus(errno, "read the kernel's device events");
    if (from.nl_pid != 0) continue;  // a writer to the group that is not the kernel
    if (static_cast<size_t>(n) > buffer.size()) {
      news->overrun = true;
      continue;
    }
    absl::StatusOr<Uevent> event =
        ParseUevent(absl::string_view(buffer.data(), static_cast<size_t>(n)));
    if (!event.ok()) continue;
    if (options_.subsystems.empty() || options_.subsystems.count(event->subsystem) > 0) {
      news->events.push_back(*std::move(event));
    }
  }
}

absl::StatusOr<std::unique_ptr<UeventWatcher>> UeventWatcher::Start(
    Options options, std::function<void(const UeventNews&)> tell) {
  PLIMSOLL_ASSIGN_OR_RETURN(UeventSocket socket,
                            UeventSocket::Open({.subsystems = options.subsystems}));
  std::unique_ptr<UeventWatcher> watcher(
      new UeventWatcher(std::move(options), std::move(socket), std::move(tell)));
  UeventWatcher* const raw = watcher.get();
  PLIMSOLL_ASSIGN_OR_RETURN(
      watcher->watch_,
      QuietWatch::Start({.quiet = raw->options_.quiet, .at_most = raw->options_.at_most},
                        {{.fd = raw->socket_.fd(),
                          .events = POLLIN,
                          .heard = [raw](short) { return raw->Read(); }}},
                        [raw] {
                          raw->tell_(raw->news_);
                          raw->news_ = UeventNews();
                          return absl::InfiniteFuture();
                        }));
  return watcher;
}

UeventWatcher::UeventWatcher(Options options, UeventSocket socket,
                             std::function<void(const UeventNews&)> tell)
    : options_(std::move(options)), socket_(std::move(socket)), tell_(std::move(tell)) {}

bool UeventWatcher::Read() {
  const size_t before = news_.events.size();
  const bool overrun_before = news_.overrun;
  if (!socket_.Read(&news_).ok()) {
    // Events that come meanwhile may be lost unnoticed.
    news_.overrun = true;
    absl::SleepFor(std::min(kPauseAfterError, options_.quiet));
  }
  const bool heard = news_.events.size() != before || news_.overrun != overrun_before;
  if (news_.events.size() > options_.most_events) {
    news_.events.clear();
    news_.overrun = true;
  }
  return heard;
}

}  // namespace plimsoll::linux
