// Creation of containers: all or nothing, from a client's spec to state Created.
#ifndef PLIMSOLL_RUNTIME_CONTAINER_CREATION_H_
#define PLIMSOLL_RUNTIME_CONTAINER_CREATION_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/engine_parts.h"

namespace plimsoll::runtime {

// Depends on all parts, which must outlive it. Thread-safe, without state of its own.
class ContainerCreation {
 public:
  ContainerCreation(EngineParts* parts, std::string boot_id)
      : parts_(*parts), boot_id_(std::move(boot_id)) {}

  // See Engine::CreateContainer.
  absl::StatusOr<std::string> Create(const std::shared_ptr<Sandbox>& sandbox,
                                     const ContainerSpec& spec, std::string client_config) const
      ABSL_SHARED_LOCKS_REQUIRED(sandbox->operation);

 private:
  // A container that is being made. `request` points into this struct.
  struct Creation {
    SandboxRecord pod;
    NodeConfinement::ShareNow share;
    Confined confined;  // by `share`
    ContainerRecord record;
    std::shared_ptr<image::LayerLease> layers;
    ContainerSpec given;  // the record's spec, as the OCI runtime gets it
    CreateRequest request;
    std::string difference;  // from what its pod announced; empty: none
    std::vector<PluginChange> changed_by;
    bool has_row = false;  // Undo releases its name
    Created created;
  };
  // Checks a spec's resources, and confines them to the share of this moment.
  absl::Status Confine(const std::string& sandbox_id, const ContainerSpec& spec,
                       Creation* creation) const;
  // Create, once the name is reserved.
  absl::StatusOr<std::shared_ptr<Container>> CreateNamed(const Sandbox& sandbox,
                                                         const image::Image& image,
                                                         PluginMaking* making,
                                                         Creation* creation) const;
  // Refuses what CreateNamed would refuse in the client's own spec, so that plugins aren't asked
  // about it; notes the ids of images that it mounts.
  absl::Status CheckAsked(const image::Image& image, Creation* creation) const;
  // Makes the spec what plugins want it to be, if there are any.
  absl::Status AskPlugins(const Sandbox& sandbox, const image::Image& image, PluginMaking* making,
                          Creation* creation) const;
  // Checks the group that plugins want for the container, and makes it the record's.
  absl::Status TakeGroup(const SandboxRecord& sandbox, ContainerRecord* record) const;
  // Makes the OCI runtime create the container, or refuse its program, records the result, and puts
  // the process into the container's classes.
  absl::Status Make(Creation* creation) const;
  // Watches the container's monitor, writes its row, and adds it to Objects.
  absl::StatusOr<std::shared_ptr<Container>> Add(Creation* creation) const;
  // Reports a container that is made: in the pod's picture, and by an event for each setting that
  // could not be applied as asked.
  void TellCreated(const Creation& creation, Container& container) const;
  absl::StatusOr<CreateRequest> PrepareCreate(const SandboxRecord& sandbox,
                                              const ContainerRecord& record,
                                              const image::Image& image,
                                              const image::LayerLease& layers) const;
  // Finds the layers of the images that `record` mounts. `layers` holds those of the container's
  // own image before, and all of them afterwards.
  absl::Status AddImageMounts(ContainerRecord* record, CreateRequest* request,
                              std::shared_ptr<image::LayerLease>* layers) const;
  // Records the values in force for the init.
  void NoteFirstValues(ContainerRecord* record) const;
  // Undoes a creation that failed. If something can't be removed, the row stays, and the container
  // shows as one that can only be removed; `layers` stay with it.
  void Undo(ContainerRecord record, std::shared_ptr<image::LayerLease> layers) const;

  EngineParts& parts_;
  const std::string boot_id_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CONTAINER_CREATION_H_
