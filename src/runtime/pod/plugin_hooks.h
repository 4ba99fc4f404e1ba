// The engine's calls of its hooks (hooks.h), and the pods and containers as hooks see them.
#ifndef PLIMSOLL_RUNTIME_POD_PLUGIN_HOOKS_H_
#define PLIMSOLL_RUNTIME_POD_PLUGIN_HOOKS_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/objects.h"
#include "runtime/pod/hooks.h"
#include "runtime/pod/pod_networks.h"
#include "runtime/pod/pod_pictures.h"
#include "runtime/requests/resource_update.h"

namespace plimsoll::runtime {

// Every method is OK and does nothing if the options have no hooks or those aren't active.
//
// Uses `hooks`, `images` and `run` of the options, Objects, PodNetworks and PodPictures. The
// arguments must outlive this object.
//
// Thread-safe, without a lock of its own. A hook may take seconds, and waits for its turn; the
// turn's place among the locks is in runtime/engine_parts.h.
class PluginHooks {
 public:
  PluginHooks(const EngineOptions& options, const Objects* objects, const PodNetworks* networks,
              const PodPictures* pictures)
      : options_(options), objects_(objects), networks_(networks), pictures_(pictures) {}

  // Whether a hook would be called now.
  bool IsActive() const;

  // `record`: the pod as it is on record, before or after the update.
  absl::Status UpdateSandbox(const SandboxRecord& record, const SandboxUpdate& update) const;
  void SandboxUpdated(const SandboxRecord& record) const;
  // For a pod whose containers are stopped. A pod's second stop calls no hook.
  void StopSandbox(Sandbox& sandbox) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(sandbox.operation);

  // Calls no hook unless the container is Created and can be started.
  absl::Status StartContainer(const Container& container) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(container.start);
  // Calls `apply` with the update as plugins want it; with the client's own, if there is no hook.
  absl::Status UpdateContainer(const Container& container, const ResourceUpdate& update,
                               Hooks::ApplyFn apply) const;

 private:
  friend class PluginMaking;

  // `also`: a container of the pod that is being made; may be null.
  HookedPod PodOf(const SandboxRecord& record, const ContainerSpec* also) const;

  const EngineOptions& options_;
  const Objects* const objects_;
  const PodNetworks* const networks_;
  const PodPictures* const pictures_;
};

// The making of one pod or container. Its end notifies the hooks that asked about it, unless Done
// was called, that it was undone: so the undoing must end before.
//
//   PluginMaking making(parts.plugin_hooks);
//   absl::Cleanup undo = ...;
//   PLIMSOLL_RETURN_IF_ERROR(making.RunSandbox(record));
//   ... make it visible ...
//   making.Done();
//
// The hooks know of the making from the call of a hook to the end of this object: a plugin that
// joins waits for makings under way, so the work before isn't part of them.
class PluginMaking {
 public:
  explicit PluginMaking(const PluginHooks& hooks) : hooks_(hooks) {}
  ~PluginMaking();
  PluginMaking(const PluginMaking&) = delete;
  PluginMaking& operator=(const PluginMaking&) = delete;

  // One of these is called, once.
  absl::Status RunSandbox(const SandboxRecord& record);
  // Returns the spec as plugins want it; without a hook, the record's.
  absl::StatusOr<ContainerSpec> CreateContainer(const SandboxRecord& sandbox,
                                                const ContainerRecord& record,
                                                const image::ImageConfig& image);
  // It is visible: it won't be undone.
  void Done() { is_done_ = true; }

 private:
  enum class Asked { kNothing, kSandbox, kContainer };

  // Begins the making. True: a hook is to be called.
  bool Begin(const std::string& id, Asked kind);

  const PluginHooks& hooks_;
  std::string id_;
  Asked asked_ = Asked::kNothing;
  bool is_done_ = false;
  std::shared_ptr<void> making_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_PLUGIN_HOOKS_H_
