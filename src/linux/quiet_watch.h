// A thread that waits on descriptors and reports events in bursts, one call for each burst.
//
//   auto watch = QuietWatch::Start(
//       {.quiet = absl::Milliseconds(15)},
//       {{.fd = socket.fd(), .events = POLLIN, .heard = [&](short) { return ReadAll(socket); }}},
//       [&] { LookAgain(); return absl::InfiniteFuture(); });
#ifndef PLIMSOLL_LINUX_QUIET_WATCH_H_
#define PLIMSOLL_LINUX_QUIET_WATCH_H_

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {

// A burst of events. It is over after `quiet` without any, but no later than `at_most` after the
// first. A value.
class Burst {
 public:
  Burst(absl::Duration quiet, absl::Duration at_most) : quiet_(quiet), at_most_(at_most) {}

  void Add(absl::Time now);
  bool Empty() const { return last_ == absl::InfiniteFuture(); }
  // The time at which it is over; InfiniteFuture for an empty one.
  absl::Time Over() const;
  // Keeps it open until then, even beyond `at_most`.
  void Hold(absl::Time until) { held_ = until; }
  absl::Time first() const { return first_; }
  void Clear() { *this = Burst(quiet_, at_most_); }

 private:
  absl::Duration quiet_;
  absl::Duration at_most_;
  absl::Time first_ = absl::InfiniteFuture();
  absl::Time last_ = absl::InfiniteFuture();
  absl::Time held_ = absl::InfinitePast();
};

class QuietWatch {
 public:
  struct Options {
    absl::Duration quiet = absl::Milliseconds(500);
    absl::Duration at_most = absl::Seconds(5);
    // The time of the first `tell` if no event comes before.
    absl::Time first = absl::InfiniteFuture();
    // Called when a burst is over, and again each `quiet` while it returns true: `tell` then waits,
    // but no longer than `wait_at_most` after the burst's first event. May be null.
    std::function<bool()> more_to_come = nullptr;
    absl::Duration wait_at_most = absl::Seconds(10);
  };
  struct Watched {
    int fd = -1;       // open as long as the watch lives; -1: none
    short events = 0;  // poll(2)'s
    // Called with poll(2)'s revents; must leave nothing to be read. True: this is an event.
    std::function<bool(short found)> heard;
  };
  // The watch's thread calls `tell`, `more_to_come` and all `heard`. It calls `tell` after each
  // burst, and, if no event came before, at the time that the last `tell` returned.
  static absl::StatusOr<std::unique_ptr<QuietWatch>> Start(Options options,
                                                           std::vector<Watched> watched,
                                                           std::function<absl::Time()> tell);
  // Waits for a call under way; none comes after that.
  ~QuietWatch();
  QuietWatch(const QuietWatch&) = delete;
  QuietWatch& operator=(const QuietWatch&) = delete;

 private:
  QuietWatch(Options options, std::vector<Watched> watched, UniqueFd stop,
             std::function<absl::Time()> tell);
  void Run();
  // True when there was an event. Returns at `until` at the latest.
  bool Listen(absl::Time until);
  bool MoreToCome(const Burst& burst, absl::Time now) const;
  bool Stopping() const;

  const Options options_;
  const std::vector<Watched> watched_;
  const UniqueFd stop_;  // eventfd
  const std::function<absl::Time()> tell_;
  std::thread thread_;
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_QUIET_WATCH_H_
