// Which QoS classes the pods of a namespace may have, and how many: v1 ResourceQuota objects with
// the fields of KEP-3008 "Access control".
//
//   spec:
//     containerClassResources:
//     - name: rdt
//       classes: [{name: gold, capacity: 2}, {name: silver}]     also "silver" alone
#ifndef PLIMSOLL_AGENT_PODS_CLASSES_CLASS_QUOTA_H_
#define PLIMSOLL_AGENT_PODS_CLASSES_CLASS_QUOTA_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/pods/classes/class_requests.h"
#include "agent/pods/records/pod_key.h"
#include "base/fs_root.h"

namespace plimsoll::agent {

// By type and class, how many may hold it; nullopt: any number.
using AllowedClasses = std::map<std::string, std::map<std::string, std::optional<uint64_t>>>;

struct ClassQuota {
  PodKey key;  // namespace and name of the object
  // Without a list the quota says nothing of that level. With one, a class that isn't in it is not
  // allowed. A type's default is always allowed to those that ask for no other;
  // to ask for it by its name is a matter of the node (WithoutDefaults).
  std::optional<AllowedClasses> pod;
  std::optional<AllowedClasses> container;
};

// The ResourceQuotas of a text; documents of other kinds are passed over. INVALID_ARGUMENT has
// every problem, a line each. A quota by amounts (`hard`) is refused: nothing here would hold it.
absl::StatusOr<std::vector<ClassQuota>> ParseClassQuotas(absl::string_view text,
                                                         const std::string& file);
// The quotas of all files of a directory of objects, in the order of files. Errors of the file
// system, and of ParseClassQuotas; ALREADY_EXISTS: two have one name.
absl::StatusOr<std::vector<ClassQuota>> ReadClassQuotas(const FsRoot& root,
                                                        const std::string& directory);

// PERMISSION_DENIED, in the words of an API server, unless every quota of the pod's namespace has
// room for its requests beside `used`, the classes of the namespace's other pods.
absl::Status CheckClassQuotas(const std::vector<ClassQuota>& quotas, const PodKey& pod,
                              const ClassRequests& requests, const NodeClassUse& used);

// The v1 ResourceQuota. Its status has the enforced classes, and how many hold each; a class that
// isn't allowed but held is in it too, with capacity 0.
nlohmann::json QuotaObject(const ClassQuota& quota, const NodeClassUse& used);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_CLASSES_CLASS_QUOTA_H_
