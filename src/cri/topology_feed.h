// GetDynamicRuntimeConfig (KEP-5224): the node's topology to any number of streams.
#ifndef PLIMSOLL_CRI_TOPOLOGY_FEED_H_
#define PLIMSOLL_CRI_TOPOLOGY_FEED_H_

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "topology/publisher.h"

namespace plimsoll::cri {

// Each edition is serialized once and shared by all streams, each of which has at most one message
// under way: a slow client gets the newest one next, and costs no more memory than a fast one. No
// stream holds a thread. Thread-safe.
//
// A stream opened before there is a topology waits for one, then ends with UNAVAILABLE and the
// reason, so that the client tries again. On UNIMPLEMENTED it would do without for good (KEP-5224
// "kubelet").
class TopologyFeed {
 public:
  using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;

  // The kind of reader: a client acts upon the topology, an observer only looks at it.
  enum class Reader { kClient, kObserver };

  // Each may be null.
  struct Hooks {
    // Called for each message that has left.
    std::function<void(Reader)> on_sent;
    // Called for each client's stream, no observer's: true once its first message has left, false
    // at its end after that.
    std::function<void(bool)> on_client;
    // Gives the reason why there is no topology. It may ask the publisher.
    std::function<std::string()> why_none;
    // The wait of a stream for the first topology.
    absl::Duration first_within = absl::Seconds(10);
  };

  // `publisher` outlives it.
  TopologyFeed(topology::Publisher* publisher, Hooks hooks);
  // Call after the server's end: no stream may be left.
  ~TopologyFeed();
  TopologyFeed(const TopologyFeed&) = delete;
  TopologyFeed& operator=(const TopologyFeed&) = delete;

  // A stream for an incoming call. The newest topology goes out at once. `on_end` is called when
  // the client has left.
  Reactor* Open(Reader reader, std::function<void(const absl::Status&)> on_end);

 private:
  class Stream;

  void Take(const topology::Edition& edition);
  void Forget(Stream* stream);

  topology::Publisher* const publisher_;
  const Hooks hooks_;
  int subscription_ = 0;
  // Taken before a stream's own.
  absl::Mutex mutex_;
  uint64_t number_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: nothing yet
  grpc::ByteBuffer newest_ ABSL_GUARDED_BY(mutex_);
  std::set<Stream*> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_TOPOLOGY_FEED_H_
