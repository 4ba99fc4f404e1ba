#include "cri/messages/sandbox_configs.h"

#include "cri/messages/translate_sandbox.h"

namespace plimsoll::cri {

namespace v1 = ::runtime::v1;

std::shared_ptr<const ListedSandbox> SandboxConfigs::GetListed(
    const runtime::SandboxRecord& record) {
  return Make(record.id, record.client_config, [&](const v1::PodSandboxConfig& config) {
    v1::PodSandbox message;
    FillSandbox(record, config, &message);
    return message;
  });
}

void AddListed(const ListedSandbox& sandbox, v1::PodSandboxState state, std::string* response) {
  AddToList(v1::ListPodSandboxResponse::kItemsFieldNumber, v1::PodSandbox::kStateFieldNumber,
            sandbox.bytes, state, response);
}

}  // namespace plimsoll::cri
