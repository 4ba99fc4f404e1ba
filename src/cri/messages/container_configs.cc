#include "cri/messages/container_configs.h"

#include "cri/messages/translate_container.h"

namespace plimsoll::cri {

namespace v1 = ::runtime::v1;

std::shared_ptr<const ListedContainer> ContainerConfigs::GetListed(
    const runtime::ContainerRecord& record) {
  return Make(record.id, record.client_config, [&](const v1::ContainerConfig& config) {
    v1::Container message;
    FillContainer(record, config, &message);
    return message;
  });
}

void AddListed(const ListedContainer& container, v1::ContainerState state, std::string* response) {
  AddToList(v1::ListContainersResponse::kContainersFieldNumber, v1::Container::kStateFieldNumber,
            container.bytes, state, response);
}

}  // namespace plimsoll::cri
