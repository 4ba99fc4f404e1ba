// The unchanging part of each container: its client's message, and its entry in lists.
#ifndef PLIMSOLL_CRI_MESSAGES_CONTAINER_CONFIGS_H_
#define PLIMSOLL_CRI_MESSAGES_CONTAINER_CONFIGS_H_

#include <memory>
#include <string>

#include "cri/messages/listed_configs.h"
#include "cri/runtime/v1/api.pb.h"
#include "runtime/store/records.h"

namespace plimsoll::cri {

// A container as ListContainers shows it.
using ListedContainer = Listed<::runtime::v1::ContainerConfig>;

// Adds the container to a serialized ListContainersResponse.
void AddListed(const ListedContainer& container, ::runtime::v1::ContainerState state,
               std::string* response);

// Thread-safe.
class ContainerConfigs : public ListedConfigs<::runtime::v1::ContainerConfig> {
 public:
  // Makes the entry on first use. The record must be of a container whose creation is complete: of
  // all that a list shows, only its state changes after that.
  std::shared_ptr<const ListedContainer> GetListed(const runtime::ContainerRecord& record);
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_CONTAINER_CONFIGS_H_
