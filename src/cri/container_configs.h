// What of each container never changes: its client's message, and its entry in lists.
#ifndef PLIMSOLL_CRI_CONTAINER_CONFIGS_H_
#define PLIMSOLL_CRI_CONTAINER_CONFIGS_H_

#include <memory>
#include <string>

#include "cri/listed_configs.h"
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
  // Made when it is asked for the first time. The record is that of a container whose creation is
  // complete: nothing of what a list shows, but its state, changes from then on.
  std::shared_ptr<const ListedContainer> GetListed(const runtime::ContainerRecord& record);
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CONTAINER_CONFIGS_H_
