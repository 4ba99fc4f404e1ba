#include "linux/quiet_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/time/clock.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

// poll(2) fails while the limit of descriptors is lower than the number given to it.
constexpr absl::Duration kAfterError = absl::Milliseconds(100);

int Timeout(absl::Time until) {
  if (until == absl::InfiniteFuture()) return -1;
  return static_cast<int>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(until - absl::Now()) + 1, 0, 1 << 30));
}

}  // namespace

void Burst::Add(absl::Time now) {
  first_ = std::min(first_, now);
  last_ = now;
}

absl::Time Burst::Over() const {
  return std::max(std::min(last_ + quiet_, first_ + at_most_), held_);
}

absl::StatusOr<std::unique_ptr<QuietWatch>> QuietWatch::Start(Options options,
                                                              std::vector<Watched> watched,
                                                              std::function<absl::Time()> tell) {
  UniqueFd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return ErrnoStatus(errno, "eventfd");
  return std::unique_ptr<QuietWatch>(
      new QuietWatch(std::move(options), std::move(watched), std::move(stop), std::move(tell)));
}

QuietWatch::QuietWatch(Options options, std::vector<Watched> watched, UniqueFd stop,
                       std::function<absl::Time()> tell)
    : options_(std::move(options)),
      watched_(std::move(watched)),
      stop_(std::move(stop)),
      tell_(std::move(tell)),
      thread_([this] { Run(); }) {}

QuietWatch::~QuietWatch() {
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
}

bool QuietWatch::Stopping() const {
  uint64_t count = 0;
  return read(stop_.get(), &count, sizeof(count)) > 0;
}

bool QuietWatch::MoreToCome(const Burst& burst, absl::Time now) const {
  return !burst.Empty() && now < burst.first() + options_.wait_at_most && options_.more_to_come &&
         options_.more_to_come();
}

bool QuietWatch::Listen(absl::Time until) {
  std::vector<pollfd> fds = {{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
  for (const Watched& each : watched_) {
    fds.push_back({.fd = each.fd, .events = each.events, .revents = 0});
  }
  if (poll(fds.data(), fds.size(), Timeout(until)) < 0) {
    if (errno != EINTR) absl::SleepFor(kAfterError);
    return false;
  }
  bool event = false;
  for (size_t i = 0; i < watched_.size(); ++i) {
    const short found = fds[i + 1].revents;
    if (found != 0 && watched_[i].heard(found)) event = true;
  }
  return event;
}

void QuietWatch::Run() {
  Burst burst(options_.quiet, options_.at_most);
  absl::Time idle = options_.first;
  while (true) {
    const bool event = Listen(burst.Empty() ? idle : burst.Over());
    if (Stopping()) return;
    const absl::Time now = absl::Now();
    if (event) burst.Add(now);
    if (now < (burst.Empty() ? idle : burst.Over())) continue;
    if (MoreToCome(burst, now)) {
      burst.Hold(now + options_.quiet);
      continue;
    }
    burst.Clear();
    idle = tell_();
  }
}

}  // namespace plimsoll::linux
