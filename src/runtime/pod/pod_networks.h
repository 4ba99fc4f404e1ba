// The networks of pods that have one of their own: CNI, by way of network/.
#ifndef PLIMSOLL_RUNTIME_POD_POD_NETWORKS_H_
#define PLIMSOLL_RUNTIME_POD_POD_NETWORKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/inspection.h"
#include "runtime/objects/objects.h"

namespace plimsoll::runtime {

// If the options have no network, pods have loopback alone and every call does nothing.
//
// Uses `network`, `host`, `run`, `events` and `observe_phase` of the options, and Objects; no other
// part of the engine. Both arguments must outlive this object. Has no state and no lock of its own:
// the network records which pods are attached. Thread-safe for different pods; the caller
// serializes calls about one pod by Sandbox::operation. Plugins may take minutes.
class PodNetworks {
 public:
  PodNetworks(const EngineOptions& options, const Objects* objects)
      : options_(options), objects_(objects) {}

  // Makes the plugins attach a pod, whose namespace is pinned, to its network, and writes the pod's
  // addresses to its /etc/hosts. Does nothing for a pod without a network of its own. Host ports of
  // the pod's own older sandboxes don't count as taken (Objects::RemainsOf). After a failure,
  // Detach removes the remains. `file_label`: SELinux label of files for containers; empty: none.
  absl::Status Attach(const SandboxRecord& record, const std::string& file_label) const;
  // Makes the plugins free all they hold for the pod; OK if they hold nothing. After an error the
  // call can be repeated while the namespace exists.
  absl::Status Detach(const std::string& sandbox_id) const;
  // Whether plugins hold something for the pod.
  bool IsAttached(const std::string& sandbox_id) const;
  // Ids of all pods that plugins hold something for, recorded or not.
  std::vector<std::string> Attached() const;
  // The pod's own addresses, the primary one first; empty unless the pod is attached.
  std::vector<std::string> Addresses(const std::string& sandbox_id) const;

  // Asks the plugins of every Ready pod whether its network is still as made, and adds a finding
  // for each that is not. Looks twice, since a pod may be stopping. Ends after the first that takes
  // too long.
  void Check(std::vector<Finding>* findings) const;
  // Gives the plugins the existing networks, so that they free all others.
  absl::Status CollectGarbage() const;

 private:
  // Checks one pod's network. OK also if the pod has been stopped or removed meanwhile.
  absl::Status CheckOne(const std::string& sandbox_id) const;

  const EngineOptions& options_;
  const Objects* const objects_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_POD_NETWORKS_H_
