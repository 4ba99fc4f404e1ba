// What a class type has made in the kernel for longer than a daemon lives.
#ifndef PLIMSOLL_QOS_OWNED_OBJECTS_H_
#define PLIMSOLL_QOS_OWNED_OBJECTS_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::qos {

// Names of one kind of object ("resctrl" groups) that are ours. Written down before the object is
// made and struck out after it is gone, so that nothing is ours that is not here. Thread-safe.
class OwnedObjects {
 public:
  virtual ~OwnedObjects() = default;
  virtual absl::StatusOr<std::set<std::string>> ListOwned(const std::string& kind) const = 0;
  virtual absl::Status AddOwned(const std::string& kind, const std::string& name) = 0;
  virtual absl::Status RemoveOwned(const std::string& kind, const std::string& name) = 0;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_OWNED_OBJECTS_H_
