// Records of kernel objects made by class types, which outlive the daemon.
#ifndef PLIMSOLL_QOS_OWNED_OBJECTS_H_
#define PLIMSOLL_QOS_OWNED_OBJECTS_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::qos {

// Names of one kind of object ("resctrl" groups) that are ours. A name is recorded before the
// object is made and removed after it is gone, so that every object of ours is on record.
// Thread-safe.
class OwnedObjects {
 public:
  virtual ~OwnedObjects() = default;
  virtual absl::StatusOr<std::set<std::string>> ListOwned(const std::string& kind) const = 0;
  virtual absl::Status AddOwned(const std::string& kind, const std::string& name) = 0;
  virtual absl::Status RemoveOwned(const std::string& kind, const std::string& name) = 0;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_OWNED_OBJECTS_H_
