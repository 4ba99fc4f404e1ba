// The messages of pods and containers that plugins have been told of.
#ifndef PLIMSOLL_NRI_KEPT_MESSAGES_H_
#define PLIMSOLL_NRI_KEPT_MESSAGES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "nri/v1alpha1/api.pb.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// Kept only while there are plugins: a removed container's last event needs its message. Not
// thread-safe: the turn guards it.
class KeptMessages {
 public:
  // A pod or container in the making; the engine doesn't show it yet.
  void KeepInMaking(const api::PodSandbox& pod) { pods_[pod.id()] = {pod, true}; }
  void KeepInMaking(const api::Container& container) {
    containers_[container.id()] = {container, true};
  }
  // A visible one, with its latest message.
  void Keep(const api::PodSandbox& pod) { pods_[pod.id()] = {pod, false}; }
  void Keep(const api::Container& container) { containers_[container.id()] = {container, false}; }
  void PodIsVisible(const std::string& id);
  // Null: none is kept. Valid until the next change.
  const api::PodSandbox* Pod(const std::string& id) const;
  const api::Container* Container(const std::string& id) const;
  void Forget(const std::string& id);
  void Clear();

  std::vector<api::PodSandbox> PodsInMaking() const;
  std::vector<api::Container> ContainersInMaking() const;
  size_t size() const { return pods_.size() + containers_.size(); }

 private:
  template <typename Message>
  struct Kept {
    Message message;
    bool in_making = false;
  };

  absl::flat_hash_map<std::string, Kept<api::PodSandbox>> pods_;
  absl::flat_hash_map<std::string, Kept<api::Container>> containers_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_KEPT_MESSAGES_H_
