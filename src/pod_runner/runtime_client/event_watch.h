// The daemon's events as wake-ups, in place of polling.
#ifndef PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_EVENT_WATCH_H_
#define PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_EVENT_WATCH_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/time/time.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::pod {

// The longest pause between two looks of an event's reader. Events don't tell that a daemon hangs:
// only a call finds that out.
inline constexpr absl::Duration kLookAnyway = absl::Seconds(5);

// Follows the events of one daemon and of its successors, in a thread of its own.
//
//   for (;;) {
//     const uint64_t seen = events.news();  // before the look: what happens after it is news
//     if (LooksAsItShould()) return;
//     events.Await(seen, kLookAnyway);
//   }
//
// This loop misses no event, be it between two daemons or before the stream began: a stream starts
// with the events that the daemon keeps, and its end counts as news. Thread-safe.
class EventWatch {
 public:
  // `client` serves this alone. `wanted` picks the events that are news; it is called in the
  // thread.
  EventWatch(std::unique_ptr<Client> client, std::function<bool(const node::Event&)> wanted);
  ~EventWatch();
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;

  // Grows with each wanted event, and at each end of the stream.
  uint64_t news() const;
  // Returns once news() is above `seen`, or after `limit`.
  void Await(uint64_t seen, absl::Duration limit) const;

 private:
  void Follow();
  void Tell();

  const std::unique_ptr<Client> client_;
  const std::function<bool(const node::Event&)> wanted_;
  mutable std::mutex mutex_;
  // The standard library's: its waits use the monotonic clock.
  mutable std::condition_variable changed_;
  uint64_t news_ = 0;
  std::thread thread_;
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_EVENT_WATCH_H_
