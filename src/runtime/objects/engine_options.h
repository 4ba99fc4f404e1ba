// The engine's dependencies and settings, as the daemon's configuration has them.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_ENGINE_OPTIONS_H_
#define PLIMSOLL_RUNTIME_OBJECTS_ENGINE_OPTIONS_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/fs_root.h"
#include "cdi/registry.h"
#include "image/image_service.h"
#include "linux/cgroup/cgroup.h"
#include "qos/registry.h"
#include "runtime/objects/event_log.h"
#include "runtime/objects/pod_sysctls.h"
#include "runtime/objects/start_phase.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/store/store.h"

namespace plimsoll::network {
class Network;  // network/network.h
}

namespace plimsoll::runtime {

struct Handler;  // runtime/handlers/handler.h
class Hooks;     // runtime/pod/hooks.h

// All pointers must outlive the engine.
struct EngineOptions {
  FsRoot host;                                      // "/"
  FsRoot state;                                     // survives a reboot
  FsRoot run;                                       // lost in a reboot; a private mount point
  std::string default_cgroup_parent = "/plimsoll";  // for pods that name none
  Store* store = nullptr;
  image::ImageService* images = nullptr;
  linux::CgroupManager* cgroups = nullptr;
  ContainerRuntime* runtime = nullptr;
  std::string pause_program;  // plimsoll-pause; empty: beside this program, else libexec
  EventLog* events = nullptr;
  qos::Registry* classes = nullptr;  // null: there are no QoS classes
  cdi::Registry* devices = nullptr;  // null: there are no CDI devices
  // Runtime handlers by name. Null: any name is taken, without settings.
  const std::map<std::string, Handler>* handlers = nullptr;
  network::Network* network = nullptr;  // null: pods have loopback alone
  NetworkRights network_rights;
  Hooks* hooks = nullptr;  // null: nobody is asked or told
  // Whether a start gives the network's plugins the present networks, so that they free all others.
  bool collect_network_garbage = false;
  // Whether hooks and wrappers see a picture of the pod's needs (gate
  // KubeletContainerResourcesInPodSandbox).
  bool show_pictures = true;
  // Whether new pods and containers get classes; existing ones keep theirs in any case.
  bool assign_classes = true;
  // The time that a start waits for the init to execute its program. A CPU quota, a slow file
  // system or a busy machine may delay that. A failure after this time shows in the container's
  // exit.
  absl::Duration program_wait = absl::Seconds(5);
  Clock* clock = &Clock::Real();
  PhaseObserver observe_phase;  // called in any thread; must be quick; may be null
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_ENGINE_OPTIONS_H_
