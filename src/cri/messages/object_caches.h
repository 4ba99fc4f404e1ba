// Caches of sandboxes and containers: their clients' messages, their entries in lists, their CPU
// rates. An object's entries go once it is removed.
#ifndef PLIMSOLL_CRI_MESSAGES_OBJECT_CACHES_H_
#define PLIMSOLL_CRI_MESSAGES_OBJECT_CACHES_H_

#include <memory>
#include <string>
#include <vector>

#include "cri/messages/container_configs.h"
#include "cri/messages/cpu_rates.h"
#include "cri/messages/sandbox_configs.h"
#include "cri/runtime/v1/api.pb.h"
#include "runtime/engine.h"

namespace plimsoll::cri {

struct PodIds {
  std::string id;
  std::vector<std::string> containers;
};

// Thread-safe.
class ObjectCaches {
 public:
  // `engine` outlives it.
  explicit ObjectCaches(runtime::Engine* engine) : engine_(engine) {}

  SandboxConfigs& sandboxes() { return sandboxes_; }
  ContainerConfigs& containers() { return containers_; }
  CpuRates& rates() { return rates_; }

  std::shared_ptr<const ::runtime::v1::PodSandboxConfig> ConfigOf(
      const runtime::SandboxRecord& record) {
    return sandboxes_.Get(record.id, record.client_config);
  }
  std::shared_ptr<const ::runtime::v1::ContainerConfig> ConfigOf(
      const runtime::ContainerRecord& record) {
    return containers_.Get(record.id, record.client_config);
  }

  // Ids of all sandboxes, and of all containers. Where a cache holds more than that, the entries of
  // removed objects go: a client of streams never makes the List calls that drop them.
  std::vector<std::string> SandboxIds();
  std::vector<std::string> ContainerIds();
  // Both, with one visit of the containers, however many pods there are.
  std::vector<PodIds> SandboxAndContainerIds();

  // For a List call that has seen fewer objects than are cached.
  void ForgetRemovedSandboxes();
  void ForgetRemovedContainers();
  // Drops stale rates once they outnumber live ones. `containers`: how many there are.
  void ForgetRates(size_t containers);

 private:
  runtime::Engine* const engine_;
  SandboxConfigs sandboxes_;
  ContainerConfigs containers_;
  CpuRates rates_;
};

// True if every label of the selector is there with that value.
template <typename Map>
bool HasLabels(const Map& labels, const Map& selector) {
  for (const auto& [name, value] : selector) {
    const auto found = labels.find(name);
    if (found == labels.end() || found->second != value) return false;
  }
  return true;
}

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_OBJECT_CACHES_H_
