// The unchanging part of each sandbox: its client's message, and its entry in lists.
#ifndef PLIMSOLL_CRI_MESSAGES_SANDBOX_CONFIGS_H_
#define PLIMSOLL_CRI_MESSAGES_SANDBOX_CONFIGS_H_

#include <memory>
#include <string>

#include "cri/messages/listed_configs.h"
#include "cri/runtime/v1/api.pb.h"
#include "runtime/store/records.h"

namespace plimsoll::cri {

// A sandbox as ListPodSandbox shows it.
using ListedSandbox = Listed<::runtime::v1::PodSandboxConfig>;

// Adds the sandbox to a serialized ListPodSandboxResponse.
void AddListed(const ListedSandbox& sandbox, ::runtime::v1::PodSandboxState state,
               std::string* response);

// Thread-safe.
class SandboxConfigs : public ListedConfigs<::runtime::v1::PodSandboxConfig> {
 public:
  // Makes the entry on first use. The record must be of a sandbox whose creation is complete: of
  // all that a list shows, only its state changes after that.
  std::shared_ptr<const ListedSandbox> GetListed(const runtime::SandboxRecord& record);
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_SANDBOX_CONFIGS_H_
