// What the engine is made of and how it behaves, as the daemon's configuration has it.
#ifndef PLIMSOLL_RUNTIME_ENGINE_OPTIONS_H_
#define PLIMSOLL_RUNTIME_ENGINE_OPTIONS_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/fs_root.h"
#include "cdi/registry.h"
#include "image/image_service.h"
#include "linux/cgroup/cgroup.h"
#include "qos/registry.h"
#include "runtime/event_log.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/start_phase.h"
#include "runtime/store/store.h"

namespace plimsoll::network {
class Network;  // network/network.h
}

namespace plimsoll::runtime {

struct Handler;  // runtime/handlers/handler.h
using HandlerMap = std::map<std::string, Handler>;

// All pointers must outlive the engine.
struct EngineOptions {
  FsRoot host;                                      // "/"
  FsRoot state;                                     // survives a reboot
  FsRoot run;                                       // does not; a private mount point
  std::string default_cgroup_parent = "/plimsoll";  // for pods that name none
  Store* store = nullptr;
  image::ImageService* images = nullptr;
  linux::CgroupManager* cgroups = nullptr;
  ContainerRuntime* runtime = nullptr;
  std::string pause_program;  // plimsoll-pause; empty: beside this program, else libexec
  EventLog* events = nullptr;
  qos::Registry* classes = nullptr;  // null: there are no QoS classes
  cdi::Registry* devices = nullptr;  // null: there are no CDI devices
  // By name; of those that are in neither, nothing is known. Null: there are none.
  const HandlerMap* handlers = nullptr;
  network::Network* network = nullptr;  // null: pods have loopback alone
  // Whether the network's plugins are told at the start what there is, to let go of all else.
  bool collect_network_garbage = false;
  // Whether hooks and wrappers are shown what a pod needs (gate
  // KubeletContainerResourcesInPodSandbox).
  bool show_pictures = true;
  // Whether new pods and containers get classes; those that have some keep them in any case.
  bool assign_classes = true;
  // How long a start waits until the init executes its program. A quota of CPU, a slow file system
  // or a busy machine may make it late; what comes later still is told by the container's exit.
  absl::Duration program_wait = absl::Seconds(5);
  Clock* clock = &Clock::Real();
  PhaseObserver observe_phase;  // called in any thread; must be quick; may be null
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_OPTIONS_H_
