#include "linux/uevents.h"

#include <linux/netlink.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

constexpr size_t kLongest = 16 * 1024;  // the kernel's own is 2 KiB and the path
constexpr uint32_t kKernelsGroup = 1;   // udevd's is 2
constexpr absl::Duration kAfterError = absl::Seconds(1);

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
      absl::StrCat("an event whose head \"", parts[0], "\" is not that of its properties"));
}

absl::StatusOr<UeventSocket> UeventSocket::Open(Options options) {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  if (!fd.valid()) return ErrnoStatus(errno, "socket for the kernel's device events");
  const int size = static_cast<int>(options.buffer_bytes);
  if (setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0) {
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));  // as much as may be
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
  std::string buffer(kLongest, '\0');
  while (true) {
    struct sockaddr_nl from = {};
    socklen_t from_size = sizeof(from);
    const ssize_t n = recvfrom(fd_.get(), buffer.data(), buffer.size(), MSG_TRUNC,
                               reinterpret_cast<struct sockaddr*>(&from), &from_size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ENOBUFS) {  // what there was no room for is lost; the rest is to come
      news->overrun = true;
      continue;
    }
    if (n < 0 && errno == EAGAIN) return absl::OkStatus();
    if (n < 0) return ErrnoStatus(errno, "read the kernel's device events");
    if (from.nl_pid != 0) continue;  // of somebody who may write to the group, and is no kernel
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
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return ErrnoStatus(errno, "eventfd");
  return std::unique_ptr<UeventWatcher>(
      new UeventWatcher(std::move(options), std::move(socket), std::move(stop), std::move(tell)));
}

UeventWatcher::UeventWatcher(Options options, UeventSocket socket, UniqueFd stop,
                             std::function<void(const UeventNews&)> tell)
    : options_(std::move(options)),
      socket_(std::move(socket)),
      stop_(std::move(stop)),
      tell_(std::move(tell)),
      thread_([this] { Run(); }) {}

UeventWatcher::~UeventWatcher() {
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
}

bool UeventWatcher::Wait(absl::Time until) {
  struct pollfd polls[2] = {{socket_.fd(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  int wait = -1;
  if (until != absl::InfiniteFuture()) {
    wait = static_cast<int>(
        std::clamp<int64_t>(absl::ToInt64Milliseconds(until - absl::Now()) + 1, 0, 1 << 30));
  }
  poll(polls, 2, wait);
  return polls[1].revents == 0;
}

void UeventWatcher::Run() {
  UeventNews news;
  absl::Time first = absl::InfiniteFuture();
  absl::Time last = absl::InfiniteFuture();
  while (Wait(std::min(last + options_.quiet, first + options_.at_most))) {
    const size_t before = news.events.size();
    const bool overrun_before = news.overrun;
    if (!socket_.Read(&news).ok()) {
      // It can't be told what is missed meanwhile.
      news.overrun = true;
      if (!overrun_before) last = absl::Now();
      absl::SleepFor(std::min(kAfterError, options_.quiet));
    }
    if (news.events.size() > options_.most_events) {
      news.events.clear();
      news.overrun = true;
    }
    const absl::Time now = absl::Now();
    if (news.events.size() != before || news.overrun != overrun_before) {
      last = now;
      first = std::min(first, now);
    }
    if (now < std::min(last + options_.quiet, first + options_.at_most)) continue;
    tell_(news);
    news = UeventNews();
    first = last = absl::InfiniteFuture();
  }
}

}  // namespace plimsoll::linux
