// The networks of pods that have one of their own: CNI, by way of network/.
#ifndef PLIMSOLL_RUNTIME_POD_NETWORKS_H_
#define PLIMSOLL_RUNTIME_POD_NETWORKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/engine_options.h"
#include "runtime/inspection.h"
#include "runtime/objects.h"

namespace plimsoll::runtime {

// Where the options have no network, pods have loopback alone and every call does nothing.
//
// Uses `network`, `host`, `run`, `events` and `observe_phase` of the options, and Objects; no other
// part of the engine. Both arguments must outlive it. Has no state and no lock of its own:
// the network keeps which pods it holds something for. Thread-safe for different pods; calls about
// one pod follow each other (Sandbox::operation sees to that). Plugins may take minutes.
class PodNetworks {
 public:
  PodNetworks(const EngineOptions& options, const Objects* objects)
      : options_(options), objects_(objects) {}

  // Has the plugins make the network of a pod whose namespace is pinned, and names the pod's
  // addresses in its /etc/hosts. OK with nothing done for a pod without a network of its own. After
  // a failure something may be there, for Detach. `file_label`: SELinux's, of what containers are
  // given; empty: none.
  absl::Status Attach(const SandboxRecord& record, const std::string& file_label) const;
  // Gives back what plugins hold for the pod; OK when that is nothing. On error it can be asked
  // again, as long as the namespace is there.
  absl::Status Detach(const std::string& sandbox_id) const;
  // Whether plugins hold something for the pod.
  bool IsAttached(const std::string& sandbox_id) const;
  // All pods that plugins hold something for, recorded or not.
  std::vector<std::string> Attached() const;
  // The pod's own addresses, the primary one first; none unless it is attached.
  std::vector<std::string> Addresses(const std::string& sandbox_id) const;

  // Asks the plugins of every Ready pod whether its network is as it was made, and adds a finding
  // for each that is not. Looks twice: a pod may just be being stopped. Ends after the first that
  // takes too long.
  void Check(std::vector<Finding>* findings) const;
  // Tells the plugins which networks there are, to let go of all else.
  absl::Status CollectGarbage() const;

 private:
  // OK also for a pod that has been stopped or removed meanwhile.
  absl::Status CheckOne(const std::string& sandbox_id) const;

  const EngineOptions& options_;
  const Objects* const objects_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_NETWORKS_H_
