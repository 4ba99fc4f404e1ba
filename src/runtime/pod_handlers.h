// What is particular to a pod's runtime handler: its program, how large its virtual machine must
// be, and which resources are fixed when the pod is made.
#ifndef PLIMSOLL_RUNTIME_POD_HANDLERS_H_
#define PLIMSOLL_RUNTIME_POD_HANDLERS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "resources/requirements.h"
#include "runtime/engine_options.h"
#include "runtime/pod_pictures.h"

namespace plimsoll::runtime {

struct PodSize;  // runtime/handlers/pod_size.h

// Pods with no handler, or one that nothing is configured about, are held to nothing.
//
// Uses `handlers`, `devices`, `host` and `run` of the options, and PodPictures. Both arguments must
// outlive it.
//
// Thread-safe. Its lock is held while a sandbox's file of kept devices is read and written; only
// the CDI registry's is taken meanwhile.
class PodHandlers {
 public:
  PodHandlers(const EngineOptions& options, const PodPictures* pictures)
      : options_(options), pictures_(pictures) {}

  // Null: nothing is configured about the sandbox's handler. FAILED_PRECONDITION: it had one that
  // isn't there any more; so do the others that need to know it.
  absl::StatusOr<const Handler*> Find(const SandboxRecord& sandbox) const;

  // Before anything of the sandbox is made: whether it can be as large as it needs to be.
  absl::Status CheckSize(const SandboxRecord& sandbox) const;
  // Writes into the sandbox's place what later updates need to know: what those of a handler with
  // fixed resources are held against, and a virtual machine's devices.
  absl::Status KeepAnnounced(const SandboxRecord& sandbox) const;
  // For the OCI runtime that makes the container: the handler's program, the sandbox's size.
  absl::Status ApplyTo(const SandboxRecord& sandbox, ContainerSpec* made,
                       CreateRequest* request) const;
  // How large the sandbox's virtual machine must be. `also` as with PodPictures::Of; `request`: for
  // that, with its CDI devices as they are now.
  absl::StatusOr<PodSize> SizeOf(const Handler& handler, const SandboxRecord& sandbox,
                                 const ContainerSpec* also,
                                 const CreateRequest* request = nullptr) const;

  // Of fixed resources. FAILED_PRECONDITION with the difference of a container that is being made
  // from what was announced; empty: it has none.
  absl::Status CheckAnnounced(const SandboxRecord& sandbox, const std::string& difference) const;
  // FAILED_PRECONDITION with what would grow by an update of a container or pod from `had`, which
  // is on record, to `wanted`. A limit that goes is growth. `limits`: those of a group that are
  // asked for.
  absl::Status CheckFixed(const SandboxRecord& sandbox, const ContainerSpec& had,
                          const ContainerSpec& wanted, const linux::CgroupSettings& limits) const;
  absl::Status CheckFixed(const SandboxRecord& had, const SandboxRecord& wanted,
                          const linux::CgroupSettings& limits) const;
  // Whether updates of the pod must wait for each other: each is held against what the others have
  // made of it, or told to the handler.
  absl::StatusOr<bool> TakesTurns(const SandboxRecord& sandbox) const;

 private:
  // What the pod announced, if its updates are held to that.
  absl::StatusOr<std::optional<resources::Requirements>> HeldTo(const SandboxRecord& sandbox) const;
  // The device nodes of all containers, those of CDI devices as they were when they were asked for.
  absl::StatusOr<std::vector<std::string>> NodesOf(const std::string& sandbox_id,
                                                   const PodResources& pod,
                                                   const CreateRequest* request) const;

  const EngineOptions& options_;
  const PodPictures* const pictures_;
  mutable absl::Mutex kept_devices_mutex_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_HANDLERS_H_
