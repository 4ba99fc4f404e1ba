// The engine: pods' sandboxes and containers, from creation to removal. gRPC services and tests
// drive it.
//
// Operations may be repeated (the CRI is idempotent): stopping a stopped container is OK, and so is
// removing one that another call removes at the same moment. An unknown or removed id is NOT_FOUND,
// which the CRI's services turn into OK where they must. An id may be any unambiguous prefix.
//
// Thread-safe. Creating, starting, updating and removing a container wait for each other and for
// operations on its sandbox. Stopping waits for a start under way, but not for another stop, whose
// grace may be longer. Reading, exec and logs wait for nothing. Operations on different sandboxes
// and containers run side by side.
#ifndef PLIMSOLL_RUNTIME_ENGINE_H_
#define PLIMSOLL_RUNTIME_ENGINE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "cdi/registry.h"
#include "image/image_service.h"
#include "linux/cgroup/cgroup.h"
#include "qos/registry.h"
#include "runtime/cgroups/effective_resources.h"
#include "runtime/cgroups/node_share.h"
#include "runtime/commands.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/event_log.h"
#include "runtime/objects/inspection.h"
#include "runtime/objects/start_phase.h"
#include "runtime/oci/attached_container.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/exec/running_command.h"
#include "runtime/readings.h"
#include "runtime/requests/pod_picture.h"
#include "runtime/requests/resource_update.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/sandbox_spec.h"
#include "runtime/store/records.h"
#include "runtime/store/store.h"

namespace plimsoll::runtime {

class Engine {
 public:
  virtual ~Engine() = default;

  // Loads the store and finds the true state of every sandbox and container before it returns. A
  // failed repair is no error: see RecoveryTroubles.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(EngineOptions options);

  // --- sandboxes. `client_config`: the client's message, given back in the record as it came.
  // Makes and starts a sandbox, and returns its id. Plugins may refuse it (EngineOptions::hooks),
  // as they may refuse what clients ask below; the error is theirs then. ALREADY_EXISTS if there is
  // one with the same name, namespace, uid and attempt. After a failure nothing is left; if
  // something can't be removed at that moment, a sandbox in state Removing stays, with a warning in
  // the event log.
  virtual absl::StatusOr<std::string> RunSandbox(const SandboxSpec& spec,
                                                 std::string client_config) = 0;
  // Kills the sandbox's containers, gives back its network, releases its namespaces.
  virtual absl::Status StopSandbox(absl::string_view id) = 0;
  // Removes the sandbox and its containers; stops it first if need be.
  virtual absl::Status RemoveSandbox(absl::string_view id) = 0;
  virtual absl::StatusOr<SandboxRecord> GetSandbox(absl::string_view id) const = 0;
  virtual std::vector<SandboxRecord> ListSandboxes() const = 0;
  // Shows `visit` each sandbox's record, as VisitContainers shows the containers'.
  virtual void VisitSandboxes(absl::FunctionRef<void(const SandboxRecord& record)> visit) const = 0;
  // The pod's own addresses, the primary one first. Empty if the pod uses the host's network, has
  // loopback alone, or has been stopped.
  virtual std::vector<std::string> Addresses(absl::string_view id) const = 0;

  // --- containers
  // Makes a container, and returns its id. FAILED_PRECONDITION when the sandbox is not ready;
  // NOT_FOUND names a missing image; ALREADY_EXISTS when the sandbox has a container of that name
  // and attempt. A failure leaves as much as one of RunSandbox. OK if the program or working
  // directory can't be used in the container: it is then Created without a process (IsRefused), and
  // its start fails. Plugins may change `spec`: errors name them.
  virtual absl::StatusOr<std::string> CreateContainer(absl::string_view sandbox_id,
                                                      const ContainerSpec& spec,
                                                      std::string client_config) = 0;
  // Starts a container. FAILED_PRECONDITION unless it is Created, and when its program can't be
  // executed. A container whose start fails has exited with code 128, reason StartError and the
  // error's message. If the process runs and only saving that failed, the container is Running
  // despite the error. One whose start a plugin refuses stays Created.
  virtual absl::Status StartContainer(absl::string_view id) = 0;
  // Stops a container: sends the stop signal as soon as its init would get it, and after `grace`
  // SIGKILL to everything in its cgroup. DEADLINE_EXCEEDED when a process survives that, or the
  // exit isn't reported: the call can be repeated.
  virtual absl::Status StopContainer(absl::string_view id, absl::Duration grace) = 0;
  virtual absl::Status RemoveContainer(absl::string_view id) = 0;  // kills a running one first
  virtual absl::StatusOr<ContainerRecord> GetContainer(absl::string_view id) const = 0;
  virtual std::vector<ContainerRecord> ListContainers() const = 0;
  // Shows `visit` each container's record in place, newest first, without the copies that slow
  // ListContainers down at a thousand containers. `visit` must be quick and must not call the
  // engine: the container is locked meanwhile.
  virtual void VisitContainers(
      absl::FunctionRef<void(const ContainerRecord& record)> visit) const = 0;
  // The containers of one sandbox, by its whole id, newest first.
  virtual std::vector<ContainerRecord> ListContainersOf(const std::string& sandbox_id) const = 0;

  virtual absl::StatusOr<EffectiveResources> ReadResources(absl::string_view id) = 0;
  // Updates a container's resources in the kernel and on record, all or nothing: after an error
  // both are as before. FAILED_PRECONDITION unless the container is Created or Running. If setting
  // back fails too, the error names the setting and the reason.
  virtual absl::Status UpdateResources(absl::string_view id, const ResourceUpdate& update) = 0;

  // Updates like UpdateResources, for a plugin: no hook is called. So a hook may call it.
  virtual absl::Status UpdateForPlugin(absl::string_view id, const ResourceUpdate& update) = 0;

  // The settings in force for the pod's group, whoever made that. Not live and without values if
  // the pod has ended.
  virtual absl::StatusOr<EffectiveResources> ReadSandboxResources(absl::string_view id) const = 0;
  // Updates the resources of a pod as a whole, all or nothing as UpdateResources.
  // FAILED_PRECONDITION unless the sandbox is Ready. `resources` are written to the pod's group if
  // Plimsoll made that; a group of the client's (an existing cgroup_parent) is the client's to
  // write.
  virtual absl::Status UpdateSandboxResources(absl::string_view id,
                                              const SandboxUpdate& update) = 0;

  // Ends all update commands of runtime handlers, for a daemon that ends. Updates that need such a
  // command fail with FAILED_PRECONDITION from now on. The next start gives the handlers the values
  // in force.
  virtual void CallOffUpdates() = 0;

  // The pod's needs, by its records now.
  virtual absl::StatusOr<PodPicture> Picture(absl::string_view id) const = 0;
  // Takes over kubelet's latest word about a pod that announced nothing (SandboxSpec::facts). OK,
  // with nothing done, for a pod that has announced something since, or isn't Ready.
  // FAILED_PRECONDITION: the pod's runtime handler can't make a virtual machine of that size; the
  // word before stays.
  virtual absl::Status TakeFacts(absl::string_view id, PodFacts facts) = 0;

  // Sets the CPUs and memory nodes that pods may use. Until the first call no pod is confined.
  // Existing pods and containers follow in another thread. Each container that loses or regains
  // CPUs or memory nodes that it asked for gets an event.
  virtual void SetNodeShare(const NodeShare& share) = 0;
  // Whether requests beyond the node share are refused; false, the default, clips them.
  virtual void RefuseOutsideShare(bool refuse) = 0;

  // The effective class of every type, implicit defaults included; after the end of the container
  // or pod, the classes it held last. `look`: also check them against the kernel.
  virtual absl::StatusOr<std::map<std::string, qos::EffectiveClass>> ContainerClasses(
      absl::string_view id, bool look) = 0;
  virtual absl::StatusOr<std::map<std::string, qos::EffectiveClass>> SandboxClasses(
      absl::string_view id, bool look) = 0;
  // Changes a sandbox's classes: see qos::Registry::Change. FAILED_PRECONDITION unless the sandbox
  // is Ready.
  virtual absl::Status UpdateSandboxClasses(absl::string_view id,
                                            const qos::ClassNames& classes) = 0;

  // The kernel's counters of pods and containers. The object lives as long as the engine.
  virtual Readings& readings() = 0;
  // Commands in containers, and connections to them. The object lives as long as the engine.
  virtual Commands& commands() = 0;

  // The differences that recovery would find if the daemon were started now, for `plimsoll doctor`.
  // Changes nothing. Looks twice, to leave out operations under way.
  virtual std::vector<Finding> Inspect() = 0;
  // Repairs that recovery could not make when this engine was created, one sentence each.
  virtual std::vector<std::string> RecoveryTroubles() const = 0;

  // Blocks until the container has exited, and returns its record. DEADLINE_EXCEEDED: it has not.
  virtual absl::StatusOr<ContainerRecord> WaitContainer(absl::string_view id,
                                                        absl::Time deadline) = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_H_
