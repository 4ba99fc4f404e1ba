// What of each container never changes: its client's message, and its entry in lists.
#ifndef PLIMSOLL_CRI_CONTAINER_CONFIGS_H_
#define PLIMSOLL_CRI_CONTAINER_CONFIGS_H_

#include <algorithm>
#include <memory>
#include <string>

#include "cri/message_cache.h"
#include "cri/runtime/v1/api.pb.h"
#include "runtime/store/records.h"

namespace plimsoll::cri {

// A container as ListContainers shows it.
struct ListedContainer {
  std::shared_ptr<const ::runtime::v1::ContainerConfig> config;
  std::string bytes;  // a serialized Container without its state
};

// Adds the container to a serialized ListContainersResponse. Making the message for a thousand
// containers, and serializing it, takes longer than kubelet should wait for it.
void AddListed(const ListedContainer& container, ::runtime::v1::ContainerState state,
               std::string* response);

// Thread-safe.
class ContainerConfigs {
 public:
  // See MessageCache.
  std::shared_ptr<const ::runtime::v1::ContainerConfig> Get(const std::string& id,
                                                            const std::string& bytes) {
    return configs_.Get(id, bytes);
  }
  // Made when it is asked for the first time. The record is that of a container whose creation is
  // complete: nothing of what a list shows, but its state, changes from then on.
  std::shared_ptr<const ListedContainer> GetListed(const runtime::ContainerRecord& record);
  // The same if it has been made; else null. Quick enough for whoever holds a lock.
  std::shared_ptr<const ListedContainer> FindListed(const std::string& id) const {
    return listed_.Find(id);
  }

  void Forget(absl::string_view id) {
    configs_.Forget(id);
    listed_.Forget(id);
  }
  // Forgets what is not among `ids`: all that exist.
  void Retain(const absl::flat_hash_set<absl::string_view>& ids) {
    configs_.Retain(ids);
    listed_.Retain(ids);
  }
  // How many containers something is kept of, at least.
  size_t size() const { return std::max(configs_.size(), listed_.size()); }

 private:
  MessageCache<::runtime::v1::ContainerConfig> configs_;
  IdCache<ListedContainer> listed_;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CONTAINER_CONFIGS_H_
