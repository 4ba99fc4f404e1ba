// WatchNode: the newest report to any number of streams.
#ifndef PLIMSOLL_CLUSTER_SOCKET_NODE_WATCH_H_
#define PLIMSOLL_CLUSTER_SOCKET_NODE_WATCH_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/steady_news.h"
#include "base/steady_time.h"
#include "base/worker_pool.h"
#include "cluster_socket/report.h"
#include "plimsoll/v1/cluster.pb.h"

namespace plimsoll::cluster {

struct NodeWatchOptions {
  size_t most_streams = 16;
  absl::Duration least_interval = absl::Seconds(1);  // between two reports
  absl::Duration grants_every = absl::Seconds(10);
  absl::Duration drift_every = absl::Seconds(20);
  // Pause before the second look at new drift, which counts once two looks have seen it.
  absl::Duration confirm_after = absl::Seconds(3);
  // True while new drift waits for its second look. Called after `make`, by its thread. Null:
  // never.
  std::function<bool()> has_new_drift;
  // A stream whose client takes nothing for so long is ended.
  absl::Duration write_limit = absl::Minutes(1);
};

// Thread-safe. One thread makes reports while somebody watches; nothing is looked at before and
// after. A stream has at most one report under way: a slow client gets the newest one next. No
// stream holds a thread.
class NodeWatch {
 public:
  using Reactor = grpc::ServerWriteReactor<::plimsoll::v1::NodeReport>;
  using Make = std::function<::plimsoll::v1::NodeReport(Looks)>;

  // `make` is called from one thread at a time.
  explicit NodeWatch(Make make, NodeWatchOptions options = NodeWatchOptions());
  // Call AwaitEnd first.
  ~NodeWatch();
  NodeWatch(const NodeWatch&) = delete;
  NodeWatch& operator=(const NodeWatch&) = delete;

  // A stream for an incoming call. RESOURCE_EXHAUSTED when there are too many. `on_end` is called
  // when the client has left.
  Reactor* Open(grpc::CallbackServerContext* context,
                std::function<void(const absl::Status&)> on_end);
  // Something that a report shows may have changed. Quick, takes no other lock.
  void Wake();

  // Waits for the end of all streams; call it after the server's end. gRPC reports a stream's end
  // from a thread of its own, possibly late.
  void AwaitEnd();

  size_t watchers() const;
  uint64_t sent() const;  // reports that have left

 private:
  class Stream;

  void Run();
  // Waits until a report is due. False: nobody watches any more, and the thread is to end.
  bool AwaitNeed(SteadyTime not_before, SteadyTime at_last);
  void Publish(::plimsoll::v1::NodeReport report);
  void EndStuckStreams() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(Stream* stream);
  void CountSent();
  void CountEnd();
  // The time at which a report is due as things are; in the past: now.
  SteadyTime Due(SteadyTime not_before, SteadyTime at_last) const;
  // The thread's end, unless somebody watches.
  bool EndIfUnwatched();

  const Make make_;
  const NodeWatchOptions options_;
  // Taken before a stream's own.
  mutable absl::Mutex mutex_;
  std::set<Stream*> streams_ ABSL_GUARDED_BY(mutex_);
  int not_ended_ ABSL_GUARDED_BY(mutex_) = 0;  // streams, refused ones included
  bool is_running_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  struct Newest {
    uint64_t number = 0;                                       // counts the different reports
    std::shared_ptr<const ::plimsoll::v1::NodeReport> report;  // null: there is none
    std::string bytes;
  };
  Newest newest_ ABSL_GUARDED_BY(mutex_);
  uint64_t sent_ ABSL_GUARDED_BY(mutex_) = 0;
  SteadyNews news_;  // for the thread: streams come and go, something was woken
  // Last: its thread ends first.
  WorkerPool thread_{/*max_threads=*/1, /*max_queued=*/2, /*idle_time=*/absl::ZeroDuration()};
};

}  // namespace plimsoll::cluster

#endif  // PLIMSOLL_CLUSTER_SOCKET_NODE_WATCH_H_
