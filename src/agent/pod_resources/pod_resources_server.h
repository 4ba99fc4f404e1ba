// kubelet's PodResources API on a unix socket, by which monitoring agents, topology exporters and
// network plugins see which pod has which devices, CPUs and memory: v1, and for old tools v1alpha1,
// which shows devices alone.
#ifndef PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_SERVER_H_
#define PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/counters/counters.h"
#include "agent/pod_resources/pod_resources_source.h"
#include "base/clock.h"
#include "base/fs_root.h"

namespace plimsoll::agent {

class PodResourcesServer {
 public:
  struct Options {
    FsRoot root;            // "/"
    std::string directory;  // of kubelet.sock, beneath `root`; is made, with mode 0750
    std::unique_ptr<PodResourcesSource> source;
    Counters* counters = nullptr;  // outlives the server; may be null
    // Others removed the socket's file: OK once it is there again. ALREADY_EXISTS: another file has
    // taken its place. Called from a thread of the server's. May be null.
    std::function<void(const absl::Status&)> tell_socket;
    // Above the rate calls fail at once, RESOURCE_EXHAUSTED. Numbers are kubelet's.
    double calls_per_second = 100;
    double burst = 10;
    Clock* clock = &Clock::Real();
  };
  // Listens at kubelet.sock, which root alone may open. A socket that a process left behind is
  // replaced. Errors name the directory. FAILED_PRECONDITION: a process listens there, or the file
  // is no socket.
  static absl::StatusOr<std::unique_ptr<PodResourcesServer>> Start(Options options);
  // Waits for calls under way. Removes the socket, unless another file has taken its place.
  virtual ~PodResourcesServer() = default;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_SERVER_H_
