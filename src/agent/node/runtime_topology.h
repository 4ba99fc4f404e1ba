// The topology that a runtime reports (GetDynamicRuntimeConfig, KEP-5224).
#ifndef PLIMSOLL_AGENT_NODE_RUNTIME_TOPOLOGY_H_
#define PLIMSOLL_AGENT_NODE_RUNTIME_TOPOLOGY_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "topology/zones/zone.h"

namespace plimsoll::agent {

// Version and Follow: for one thread. Stop: for any.
class RuntimeTopology {
 public:
  virtual ~RuntimeTopology() = default;
  // The runtime's name and version, "containerd://1.6.20".
  virtual absl::StatusOr<std::string> Version() = 0;
  // Called with each message; an error is a message that is no topology, DATA_LOSS one that can't
  // be decoded, after which the stream ends. False: the stream is to end.
  using OnTold = std::function<bool(absl::StatusOr<topology::Topology>)>;
  // Returns the reason of the stream's end, UNIMPLEMENTED if the runtime has no such call. A stream
  // that either side ended without an error gives OK.
  virtual absl::Status Follow(const OnTold& told) = 0;
  // Ends a call under way, and each later one at once.
  virtual void Stop() = 0;
};

// Any CRI v1 runtime at "unix:///path". Connects at the first call. INVALID_ARGUMENT for another
// kind of address.
absl::StatusOr<std::unique_ptr<RuntimeTopology>> OpenRuntimeTopology(const std::string& address);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_RUNTIME_TOPOLOGY_H_
