// A pod's runtime handler: its program, the size of its virtual machine, and the resources that are
// fixed when the pod is made.
#ifndef PLIMSOLL_RUNTIME_POD_POD_HANDLERS_H_
#define PLIMSOLL_RUNTIME_POD_POD_HANDLERS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "resources/requirements.h"
#include "runtime/objects/engine_options.h"
#include "runtime/pod/pod_pictures.h"

namespace plimsoll::runtime {

struct PodSize;  // runtime/handlers/pod_size.h

// For a pod without a handler no check applies.
//
// Uses `handlers`, `devices`, `host` and `run` of the options, and PodPictures. Both arguments must
// outlive this object.
//
// Thread-safe. Its lock is held while a sandbox's file of kept devices is read and written; only
// the CDI registry's lock is taken meanwhile.
class PodHandlers {
 public:
  PodHandlers(const EngineOptions& options, const PodPictures* pictures)
      : options_(options), pictures_(pictures) {}

  // The sandbox's handler; null: it names none, or the options have no handlers.
  // FAILED_PRECONDITION, here and in the other methods that need the handler: it isn't configured
  // (any more).
  absl::StatusOr<const Handler*> Find(const SandboxRecord& sandbox) const;

  // Checks that the handler's limits allow the size that the sandbox needs. Called before anything
  // of the sandbox is made.
  absl::Status CheckSize(const SandboxRecord& sandbox) const;
  // Drops kubelet's word about the sandbox if its size can't be had by it (CheckSize): the word
  // must not keep a pod from starting. Returns a warning about that; empty: it was not dropped.
  std::string DropUnusableFacts(SandboxRecord* sandbox) const;
  // Writes the files that later updates need into the sandbox's place: the announced requirements,
  // if the handler has fixed resources, and a virtual machine's devices.
  absl::Status KeepAnnounced(const SandboxRecord& sandbox) const;
  // Adds the handler's program and the sandbox's size to a creation's spec and request.
  absl::Status ApplyTo(const SandboxRecord& sandbox, ContainerSpec* made,
                       CreateRequest* request) const;
  // The amounts that the sandbox's machine must hold, without the overhead
  // (runtime/requests/machine_needs.h).
  resources::Requirements NeedsOf(const SandboxRecord& sandbox) const;
  // The size that the sandbox's virtual machine needs. `also`: see PodPictures::Of. `request`: the
  // creation of `also`, with its CDI devices as they are now.
  absl::StatusOr<PodSize> SizeOf(const Handler& handler, const SandboxRecord& sandbox,
                                 const ContainerSpec* also,
                                 const CreateRequest* request = nullptr) const;

  // FAILED_PRECONDITION if the handler has fixed resources and a container being made differs from
  // its announcement. `difference`: the message; empty: it doesn't differ.
  absl::Status CheckAnnounced(const SandboxRecord& sandbox, const std::string& difference) const;
  // FAILED_PRECONDITION if the handler has fixed resources and an update of a container or pod from
  // `had`, on record, to `wanted` makes any grow; the message names them. Removing a limit is
  // growth. `limits`: the group's limits in the update.
  absl::Status CheckFixed(const SandboxRecord& sandbox, const ContainerSpec& had,
                          const ContainerSpec& wanted, const linux::CgroupSettings& limits) const;
  absl::Status CheckFixed(const SandboxRecord& had, const SandboxRecord& wanted,
                          const linux::CgroupSettings& limits) const;
  // Whether updates of the pod must wait for each other, since each is checked against the result
  // of the one before, or told to the handler.
  absl::StatusOr<bool> TakesTurns(const SandboxRecord& sandbox) const;

 private:
  // The announced requirements, if updates of the pod are checked against them.
  absl::StatusOr<std::optional<resources::Requirements>> HeldTo(const SandboxRecord& sandbox) const;
  // The device nodes of all containers; CDI devices have the nodes of the time they were asked for.
  absl::StatusOr<std::vector<std::string>> NodesOf(const std::string& sandbox_id,
                                                   const PodResources& pod,
                                                   const CreateRequest* request) const;

  const EngineOptions& options_;
  const PodPictures* const pictures_;
  mutable absl::Mutex kept_devices_mutex_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_POD_HANDLERS_H_
