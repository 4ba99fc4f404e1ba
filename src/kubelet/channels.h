// gRPC channels over connections to unix sockets of root's, kept while they are good.
#ifndef PLIMSOLL_KUBELET_CHANNELS_H_
#define PLIMSOLL_KUBELET_CHANNELS_H_

#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "kubelet/connect.h"

namespace plimsoll::kubelet {

// Thread-safe. One channel for each socket and size of answers. It never connects by itself: gRPC
// would wait between attempts.
class Channels {
 public:
  struct Lease {
    std::shared_ptr<grpc::Channel> channel;
    bool is_fresh = false;  // connected just now, else kept from an earlier call
  };

  // Errors of FindSocket and Connect. A kept channel goes with its socket's file: another file is
  // another kubelet's.
  absl::StatusOr<Lease> Get(const std::string& socket, int most_bytes);
  // Forgets the channel, if it is the kept one: its next Get connects.
  void Drop(const std::string& socket, int most_bytes, const Lease& lease);

 private:
  struct Kept {
    SocketOfRoot socket;
    std::shared_ptr<grpc::Channel> channel;
  };

  absl::Mutex mutex_;
  std::map<std::pair<std::string, int>, Kept> kept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_CHANNELS_H_
