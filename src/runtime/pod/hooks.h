// The engine's hooks: the moments in the life of pods and containers at which plugins are asked or
// told. nri/ implements them.
//
// Plugins also follow the event log: kSandboxStarted, kSandboxRemoved, kContainerCreated,
// kContainerStarted, kContainerStopped and kContainerRemoved with their records, in order.
//
// A call waits for its turn: one hook runs at a time on the node, since plugins decide about all
// containers together. Order of locks: Sandbox::operation, the turn, Container::operation. So no
// hook is called with a Container::operation held, and a hook changes other containers by
// Engine::UpdateForPlugin alone, which takes no turn.
#ifndef PLIMSOLL_RUNTIME_POD_HOOKS_H_
#define PLIMSOLL_RUNTIME_POD_HOOKS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "image/image_service.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/requests/pod_picture.h"
#include "runtime/requests/resource_update.h"
#include "runtime/spec/container_spec.h"
#include "runtime/store/records.h"

namespace plimsoll::runtime {

struct HookedPod {
  SandboxRecord record;
  std::vector<std::string> addresses;  // see Engine::Addresses
  SandboxPlace place;                  // see PlaceOf
  PodPicture picture;                  // of the records now
};

struct HookedContainer {
  ContainerRecord record;
  const image::ImageConfig* image = nullptr;  // null: its image is gone
};

// Thread-safe. Errors of a hook fail the client's call, with the plugin's name in them.
class Hooks {
 public:
  virtual ~Hooks() = default;

  // False: there is no plugin, and none is required. The engine then makes no call but Making.
  virtual bool Active() const = 0;

  // Marks the making of a pod or container, from before its hook to its end: visible, or undone.
  // Taken even while there is no plugin, since one may come meanwhile. Cheap.
  virtual std::shared_ptr<void> Making(const std::string& id) = 0;

  // Before a sandbox becomes visible; its network is there.
  virtual absl::Status RunSandbox(const HookedPod& pod) = 0;
  // A creation failed after RunSandbox was called, whatever that returned.
  virtual void UndoSandbox(const std::string& id) = 0;
  // Before an update of the pod. Its records and its picture have the values in force.
  virtual absl::Status UpdateSandbox(const HookedPod& pod, const SandboxUpdate& update) = 0;
  virtual void SandboxUpdated(const HookedPod& pod) = 0;
  // Containers are stopped, network and namespaces are still there. May be called again.
  virtual void StopSandbox(const HookedPod& pod) = 0;

  // Before a container is made; its name is taken, nothing of it exists. Returns the spec as the
  // plugins want it.
  virtual absl::StatusOr<ContainerSpec> CreateContainer(const HookedPod& pod,
                                                        const HookedContainer& container) = 0;
  // A creation failed after CreateContainer was called, whatever that returned.
  virtual void UndoContainer(const std::string& id) = 0;
  virtual absl::Status StartContainer(const HookedPod& pod, const HookedContainer& container) = 0;

  // Called for the update as the plugins want it, within the turn.
  using ApplyFn = absl::FunctionRef<absl::Status(const ResourceUpdate& update)>;
  // An update of a container by a client. Returns the error of a plugin or of `apply`.
  virtual absl::Status UpdateContainer(const HookedPod& pod, const HookedContainer& container,
                                       const ResourceUpdate& update, ApplyFn apply) = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_HOOKS_H_
