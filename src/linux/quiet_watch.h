// A thread that waits on descriptors and tells of what came in bursts, one call for each.
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

// When a burst of events is over: after `quiet` without any, but no later than `at_most` after the
// first. A value.
class Burst {
 public:
  Burst(absl::Duration quiet, absl::Duration at_most) : quiet_(quiet), at_most_(at_most) {}

  void Add(absl::Time now);
  bool Empty() const { return last_ == absl::InfiniteFuture(); }
  // InfiniteFuture for an empty one.
  absl::Time Over() const;
  // Not over before that, `at_most` or not.
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
    // When to tell for the first time although nothing was heard.
    absl::Time first = absl::InfiniteFuture();
    // Asked when a burst is over, and again each `quiet` while it says yes: then it is not told
    // yet, but no later than `wait_at_most` after its first event. May be null.
    std::function<bool()> more_to_come = nullptr;
    absl::Duration wait_at_most = absl::Seconds(10);
  };
  struct Watched {
    int fd = -1;       // open as long as the watch lives; -1: none
    short events = 0;  // poll(2)'s
    // Called with what poll(2) found; must leave nothing to be read. True: this is an event.
    std::function<bool(short found)> heard;
  };
  // `tell`, `more_to_come` and all `heard` are called in the watch's thread. `tell` is called after
  // each burst, and at the time that its last call returned, if nothing was heard by then.
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
