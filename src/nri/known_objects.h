// The pods and containers that one plugin has been told of.
#ifndef PLIMSOLL_NRI_KNOWN_OBJECTS_H_
#define PLIMSOLL_NRI_KNOWN_OBJECTS_H_

#include <string>

#include "absl/container/flat_hash_map.h"

namespace plimsoll::nri {

// Stages in the life of an object, in order. A pod has no kRunning.
enum class Stage { kMaking, kCreated, kRunning, kStopped };

// Ids are unique among pods and containers together. Not thread-safe.
class KnownObjects {
 public:
  void Add(const std::string& id, Stage stage) { stages_[id] = stage; }
  bool Has(const std::string& id) const { return stages_.contains(id); }
  // True if the object is known and was before `stage`. It has got there now.
  bool Advance(const std::string& id, Stage stage) {
    const auto found = stages_.find(id);
    if (found == stages_.end() || found->second >= stage) return false;
    found->second = stage;
    return true;
  }
  // True if it was known.
  bool Forget(const std::string& id) { return stages_.erase(id) > 0; }
  size_t size() const { return stages_.size(); }

 private:
  absl::flat_hash_map<std::string, Stage> stages_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_KNOWN_OBJECTS_H_
