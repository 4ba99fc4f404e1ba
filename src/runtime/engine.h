// The engine: pods' sandboxes and containers, from creation to removal. What gRPC services and
// tests drive.
//
// Operations may be asked again (the CRI is idempotent): stopping what is stopped is OK, and so is
// removing what another call removes at the same moment. What is not there (any more) is NOT_FOUND,
// which the CRI's services make OK where it has to be. Ids may be given as an unambiguous prefix.
//
// Thread-safe. Creating, starting, updating and removing a container wait for each other and for
// whatever is done to its sandbox; stopping waits for a start under way, but not for another stop,
// which may have more patience. Reading, exec and logs wait for nothing. What is done to different
// sandboxes and containers runs side by side.
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
#include "runtime/commands.h"
#include "runtime/effective_resources.h"
#include "runtime/engine_options.h"
#include "runtime/event_log.h"
#include "runtime/inspection.h"
#include "runtime/node_share.h"
#include "runtime/oci/attached_container.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/exec/running_command.h"
#include "runtime/pod_picture.h"
#include "runtime/readings.h"
#include "runtime/resource_update.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/sandbox_spec.h"
#include "runtime/start_phase.h"
#include "runtime/store/records.h"
#include "runtime/store/store.h"

namespace plimsoll::runtime {

class Engine {
 public:
  virtual ~Engine() = default;

  // Loads the store and finds every sandbox and container in its true state before it returns. What
  // can't be put in order is no error: see RecoveryTroubles.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(EngineOptions options);

  // --- sandboxes. `client_config`: the client's message, given back in the record as it came.
  // ALREADY_EXISTS when the same pod (name, namespace, uid, attempt) is there. After a failure
  // nothing is left; or what can't be removed at that moment, as a sandbox in state Removing, with
  // a warning in the event log.
  virtual absl::StatusOr<std::string> RunSandbox(const SandboxSpec& spec,
                                                 std::string client_config) = 0;
  // Kills its containers, gives back its network, releases its namespaces.
  virtual absl::Status StopSandbox(absl::string_view id) = 0;
  // Stops it first if need be; removes its containers.
  virtual absl::Status RemoveSandbox(absl::string_view id) = 0;
  virtual absl::StatusOr<SandboxRecord> GetSandbox(absl::string_view id) const = 0;
  virtual std::vector<SandboxRecord> ListSandboxes() const = 0;
  // As VisitContainers.
  virtual void VisitSandboxes(absl::FunctionRef<void(const SandboxRecord& record)> visit) const = 0;
  // The pod's own addresses, the primary one first. None: it has the host's, or loopback alone, or
  // has been stopped.
  virtual std::vector<std::string> Addresses(absl::string_view id) const = 0;

  // --- containers
  // FAILED_PRECONDITION when the sandbox is not ready; NOT_FOUND names a missing image;
  // ALREADY_EXISTS when the sandbox has a container of that name and attempt. After a failure as
  // RunSandbox. OK for a program or working directory that can't be had in the container: it is
  // Created without a process (IsRefused), and its start fails.
  virtual absl::StatusOr<std::string> CreateContainer(absl::string_view sandbox_id,
                                                      const ContainerSpec& spec,
                                                      std::string client_config) = 0;
  // FAILED_PRECONDITION unless it is in state Created, and when its program can't be executed. One
  // that could not be let run has exited, code 128, reason StartError, with the error's message;
  // when it runs and only that could not be saved, it is Running despite the error.
  virtual absl::Status StartContainer(absl::string_view id) = 0;
  // The stop signal, once init would get it; after `grace` SIGKILL to everything in its cgroup.
  // DEADLINE_EXCEEDED when something survives that, or the exit isn't reported: it can be asked
  // again.
  virtual absl::Status StopContainer(absl::string_view id, absl::Duration grace) = 0;
  virtual absl::Status RemoveContainer(absl::string_view id) = 0;  // kills it first if it runs
  virtual absl::StatusOr<ContainerRecord> GetContainer(absl::string_view id) const = 0;
  virtual std::vector<ContainerRecord> ListContainers() const = 0;
  // Shows each record in its place, newest first, without the copies that slow ListContainers where
  // there are a thousand. `visit` must be quick, and ask the engine nothing: the container is
  // locked meanwhile.
  virtual void VisitContainers(
      absl::FunctionRef<void(const ContainerRecord& record)> visit) const = 0;
  // Those of one sandbox, by its whole id, newest first.
  virtual std::vector<ContainerRecord> ListContainersOf(const std::string& sandbox_id) const = 0;

  virtual absl::StatusOr<EffectiveResources> ReadResources(absl::string_view id) = 0;
  // All or nothing, in the kernel and on record: FAILED_PRECONDITION unless Created or Running, and
  // with any other error as before. Where putting back fails too, the error says what and why.
  virtual absl::Status UpdateResources(absl::string_view id, const ResourceUpdate& update) = 0;

  // Of the pod's group, whoever has made it; not live, and without values, when the pod has ended.
  virtual absl::StatusOr<EffectiveResources> ReadSandboxResources(absl::string_view id) const = 0;
  // Of the pod as a whole, all or nothing as UpdateResources: FAILED_PRECONDITION unless it is
  // Ready. `resources` are written to the pod's group where that is Plimsoll's own; the group of a
  // client's making (a cgroup_parent that was there) is for the client to write.
  virtual absl::Status UpdateSandboxResources(absl::string_view id,
                                              const SandboxUpdate& update) = 0;

  // Updates that wait for a runtime handler's command, or would, fail with FAILED_PRECONDITION from
  // now on, and the command is ended: for a daemon that ends. The next start tells the handler what
  // holds.
  virtual void CallOffUpdates() = 0;

  // What the pod needs, by what is on record of it now.
  virtual absl::StatusOr<PodPicture> Picture(absl::string_view id) const = 0;

  // What of the node pods may use, from now on; until the first call nothing is known, and nobody
  // is confined. Those that are there follow, in another thread, with an event for each that loses
  // or gets back CPUs or memory nodes that it asked for.
  virtual void SetNodeShare(const NodeShare& share) = 0;
  // What becomes of a request for more than the share: refused, else clipped, as at first.
  virtual void RefuseOutsideShare(bool refuse) = 0;

  // The effective class of every type, implicit defaults included; of what has ended, those it held
  // last. `look`: ask the kernel whether it agrees, too.
  virtual absl::StatusOr<std::map<std::string, qos::EffectiveClass>> ContainerClasses(
      absl::string_view id, bool look) = 0;
  virtual absl::StatusOr<std::map<std::string, qos::EffectiveClass>> SandboxClasses(
      absl::string_view id, bool look) = 0;
  // See qos::Registry::Change. FAILED_PRECONDITION unless it is ready.
  virtual absl::Status UpdateSandboxClasses(absl::string_view id,
                                            const qos::ClassNames& classes) = 0;

  // What the kernel counts. It lives as long as the engine.
  virtual Readings& readings() = 0;
  // What is run in containers and connected to. It lives as long as the engine.
  virtual Commands& commands() = 0;

  // What recovery would find to do if the daemon were started now; for `plimsoll doctor`. Changes
  // nothing. What operations have under way is left out (it looks twice).
  virtual std::vector<Finding> Inspect() = 0;
  // What recovery could not do when this engine was created, one sentence each.
  virtual std::vector<std::string> RecoveryTroubles() const = 0;

  // Blocks until the container has exited. DEADLINE_EXCEEDED.
  virtual absl::StatusOr<ContainerRecord> WaitContainer(absl::string_view id,
                                                        absl::Time deadline) = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_H_
