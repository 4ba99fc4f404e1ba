// The daemon's events as a reason to look, in place of looking all the time.
#ifndef PLIMSOLL_POD_EVENT_WATCH_H_
#define PLIMSOLL_POD_EVENT_WATCH_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/time/time.h"
#include "pod/client.h"

namespace plimsoll::pod {

// Who follows events looks at least this often all the same: only a call finds out that a daemon
// doesn't answer.
inline constexpr absl::Duration kLookAnyway = absl::Seconds(5);

// Follows the events of one daemon, and of those that take its place, in a thread of its own.
//
//   for (;;) {
//     const uint64_t seen = events.news();  // before the look: what happens after it is news
//     if (LooksAsItShould()) return;
//     events.Await(seen, kLookAnyway);
//   }
//
// An event between two daemons, or before the stream began, is missed by nobody who looks so: a
// stream begins with the events that the daemon keeps, and its end is news too. Thread-safe.
class EventWatch {
 public:
  // `client` is for this alone. `wanted` says of which events to tell; it is called in the thread.
  EventWatch(std::unique_ptr<Client> client, std::function<bool(const node::Event&)> wanted);
  ~EventWatch();
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;

  // Grows with each wanted event, and when the stream breaks.
  uint64_t news() const;
  // Returns once news() is above `seen`, or after `limit`.
  void Await(uint64_t seen, absl::Duration limit) const;

 private:
  void Follow();
  void Tell();

  const std::unique_ptr<Client> client_;
  const std::function<bool(const node::Event&)> wanted_;
  mutable std::mutex mutex_;
  // The standard's, whose waits go by the monotonic clock.
  mutable std::condition_variable changed_;
  uint64_t news_ = 0;
  std::thread thread_;
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_EVENT_WATCH_H_
