// News of the runtime's sandboxes and containers (kubelet's PLEG, generic and evented).
#ifndef PLIMSOLL_AGENT_PODS_LIFE_RUNTIME_NEWS_H_
#define PLIMSOLL_AGENT_PODS_LIFE_RUNTIME_NEWS_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/steady_time.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::agent {

// Reports which pods changed: by the runtime's stream of events, and by comparing lists of all
// sandboxes and containers. The lists find what a stream missed. A runtime without the stream is
// listed each second. A stream need not have brought an event: one that a runtime keeps open for a
// while is there.
class RuntimeNews {
 public:
  struct Pace {
    absl::Duration without_events = absl::Seconds(1);
    absl::Duration with_events = absl::Seconds(30);
    absl::Duration open_stream = absl::Seconds(2);  // without an event until it counts as there
  };
  // Called from threads of this object.
  struct Hooks {
    std::function<void(const std::string& uid)> changed;
    // The runtime answers again, or for the first time, or with OK's opposite fails to; called at
    // each change of that.
    std::function<void(const absl::Status&)> answers;
    // An event that can't be decoded ended the stream; called once until an event can be read.
    std::function<void()> unreadable;
  };
  // Each client serves this alone.
  RuntimeNews(std::unique_ptr<pod::Client> events, std::unique_ptr<pod::Client> lists, Pace pace,
              Hooks hooks);
  ~RuntimeNews();
  RuntimeNews(const RuntimeNews&) = delete;
  RuntimeNews& operator=(const RuntimeNews&) = delete;

 private:
  // A text that changes when a pod's sandboxes or containers do, by the pod's uid.
  using Picture = std::map<std::string, std::string>;

  void FollowEvents();
  void FollowLists();
  absl::StatusOr<Picture> Look();
  // False: this object is ending.
  bool Rest(absl::Duration pause);
  // Rests like Rest; ends early once there is no stream.
  bool RestByStream(absl::Duration pause);
  bool HasStream();

  const std::unique_ptr<pod::Client> events_;
  const std::unique_ptr<pod::Client> lists_;
  const Pace pace_;
  const Hooks hooks_;
  std::mutex mutex_;
  // The standard library's: its waits use the monotonic clock.
  std::condition_variable turned_;
  bool is_ending_ = false;
  SteadyTime stream_since_ = kNever;  // there is one from then on
  std::thread event_thread_;
  std::thread list_thread_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_RUNTIME_NEWS_H_
