// Makes containers: from what a client asks for to a container that is Created, or nothing.
#ifndef PLIMSOLL_RUNTIME_CONTAINER_CREATION_H_
#define PLIMSOLL_RUNTIME_CONTAINER_CREATION_H_

#include <memory>
#include <string>
#include <utility>

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
  // A container that is being made. `request` points into it.
  struct Creation {
    ContainerRecord record;
    std::shared_ptr<image::LayerLease> layers;
    ContainerSpec given;  // of the record's, what the OCI runtime is given
    CreateRequest request;
    std::string difference;  // from what its pod announced; empty: none
    Created created;
  };
  // A record of what is to be made; nothing is yet.
  ContainerRecord New(const SandboxRecord& sandbox, const ContainerSpec& spec,
                      const image::Image& image) const;
  // Reserves its name and its classes, and writes its row: from then on Undo takes it away. On
  // failure nothing is left.
  absl::Status Plan(const SandboxRecord& sandbox, const image::Image& image,
                    const Confined& confined, Creation* creation) const;
  // Has the OCI runtime make it, or refuse its program, and puts on record what came of that.
  absl::Status Make(Creation* creation) const;
  // Watches its monitor, writes its row, and makes it one of those that are there.
  absl::StatusOr<std::shared_ptr<Container>> Add(Creation* creation) const;
  // Events for what could not be made as it was asked for.
  void TellWarnings(const Creation& creation) const;
  absl::StatusOr<CreateRequest> PrepareCreate(const SandboxRecord& sandbox,
                                              const ContainerRecord& record,
                                              const image::Image& image,
                                              const image::LayerLease& layers) const;
  // Finds the layers of images that `record` mounts; `layers`, which held those of its own image,
  // holds all then.
  absl::Status AddImageMounts(ContainerRecord* record, CreateRequest* request,
                              std::shared_ptr<image::LayerLease>* layers) const;
  // Puts what the OCI runtime has made on record, and its init into its classes.
  absl::Status SettleProcess(const Created& created, const CreateRequest& request,
                             ContainerRecord* record) const;
  // After a creation that failed. What can't be taken away keeps its row and its name, and shows as
  // a container that can only be removed. `layers` are kept with what remains.
  void Undo(ContainerRecord record, std::shared_ptr<image::LayerLease> layers) const;

  EngineParts& parts_;
  const std::string boot_id_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CONTAINER_CREATION_H_
