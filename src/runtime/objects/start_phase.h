// Timing of the parts of a start.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_START_PHASE_H_
#define PLIMSOLL_RUNTIME_OBJECTS_START_PHASE_H_

#include <functional>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace plimsoll::runtime {

// The parts, in their order:
//   sandbox_cgroup         the pod's group is made and limited
//   sandbox_namespaces     namespaces are made and pinned, /dev/shm and /etc files are made
//   sandbox_network_plugins  network plugins run (pods with a network)
// sandbox_network the rest of attaching to the network
//   sandbox_pid_namespace  plimsoll-pause is started (pods that share a PID namespace)
//   container_image        the image is found and its layers are leased
//   container_plugins      plugins are asked about it (if there are any)
//   container_create       spec, root filesystem, monitor, the OCI runtime's create
// container_classes QoS classes and settings without an OCI field are written
// container_start the container's process is started
using PhaseObserver = std::function<void(const char* phase, absl::Duration duration)>;

// Times one part after the other. Reports only those that succeed: a failed step's time says
// nothing about starts.
class StartPhase {
 public:
  explicit StartPhase(const PhaseObserver& observer) : observer_(observer), since_(absl::Now()) {}

  // Reports the time since the last call, or since construction, as that of `phase`.
  void Done(const char* phase) {
    const absl::Time now = absl::Now();
    if (observer_) observer_(phase, now - since_);
    since_ = now;
  }
  // Drops the time since the last call: it belongs to none of the parts.
  void Skip() { since_ = absl::Now(); }

 private:
  const PhaseObserver& observer_;
  absl::Time since_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_START_PHASE_H_
