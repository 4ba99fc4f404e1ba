// v1alpha1.DRAResourceHealth: the board's devices, to kubelet.
#ifndef PLIMSOLL_KUBE_DRIVER_HEALTH_STREAMS_H_
#define PLIMSOLL_KUBE_DRIVER_HEALTH_STREAMS_H_

#include <grpcpp/grpcpp.h>

#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "kube/driver/device_board.h"
#include "kubelet/drahealth/v1alpha1/api.grpc.pb.h"

namespace plimsoll::kube {

// kubelet takes a device's health as unknown after this time without news. The driver reminds it
// three times as often (DeviceBoard::Remind).
inline constexpr int64_t kHealthTimeoutSeconds = 1800;

// Each stream sends the newest states; what a slow reader misses, it never gets.
class HealthStreams final : public v1alpha1::DRAResourceHealth::CallbackService {
 public:
  // The number of a server's clients, which are kubelet and people that look.
  static constexpr size_t kMostStreams = 16;

  // The board outlives this.
  HealthStreams(std::string node, DeviceBoard& board) : node_(std::move(node)), board_(board) {}
  // Every stream must have ended.
  ~HealthStreams() override = default;

  grpc::ServerWriteReactor<v1alpha1::NodeWatchResourcesResponse>* NodeWatchResources(
      grpc::CallbackServerContext* context,
      const v1alpha1::NodeWatchResourcesRequest* request) override;

  // Ends all streams, now and later ones, and waits until they have ended. A client that doesn't
  // read holds its stream until the server is shut down.
  void End(absl::Duration patience);

 private:
  class Stream;

  v1alpha1::NodeWatchResourcesResponse Message() const;
  void Remove(Stream* stream);

  const std::string node_;
  DeviceBoard& board_;
  absl::Mutex mutex_;
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<Stream*> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_HEALTH_STREAMS_H_
