// Resources as the pod's author wrote them, and the announced requests of all containers of a pod
// (KEP-4112 "CRI API"). Information: none of it changes a limit.
#ifndef PLIMSOLL_RUNTIME_SPEC_POD_RESOURCES_H_
#define PLIMSOLL_RUNTIME_SPEC_POD_RESOURCES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resources/requirements.h"
#include "runtime/spec/mount.h"

namespace plimsoll::runtime {

// Resource name ("cpu", "example.com/gpu") to quantity, byte for byte as it was written.
struct KubernetesResources {
  std::map<std::string, std::string> requests;
  std::map<std::string, std::string> limits;
  bool is_given_empty = false;  // the client's message was present but empty
  bool empty() const { return requests.empty() && limits.empty(); }
  bool is_given() const { return is_given_empty || !empty(); }
  bool operator==(const KubernetesResources&) const = default;
};

struct AnnouncedContainer {
  // In the order of the message's numbers.
  enum class Type { kInit, kSidecar, kContainer };

  std::string name;
  Type type = Type::kInit;
  KubernetesResources kubernetes_resources;
  std::vector<Mount> mounts;  // of any kind, also one that containers can't have here
  std::vector<DeviceMapping> devices;
  std::vector<std::string> cdi_devices;  // "vendor.com/class=name"
  bool operator==(const AnnouncedContainer&) const = default;
};

struct PodResources {
  std::vector<AnnouncedContainer> containers;
  KubernetesResources kubernetes_resources;  // of the pod as a whole (KEP-2837)
  bool empty() const { return containers.empty() && kubernetes_resources.empty(); }
  bool operator==(const PodResources&) const = default;
};

// The order of statements about a container, by a count over all pods; the latest one about a field
// holds. 0: none, or by a build that didn't count.
struct OwnWords {
  uint64_t made = 0;       // mounts and devices, and resources if any came with it
  uint64_t resources = 0;  // resources; above `made`: by an update
  bool operator==(const OwnWords&) const = default;
};
// The order of updates of the pod. Statements that came with the pod precede any container.
struct AnnouncedWords {
  uint64_t resources = 0;
  uint64_t mounts = 0;
  uint64_t devices = 0;
  uint64_t cdi_devices = 0;
  bool operator==(const AnnouncedWords&) const = default;
};

// Parses the quantities. INVALID_ARGUMENT names the member ("limits[cpu]"): no quantity, a negative
// one, a request above its limit, huge pages whose request differs from their limit.
absl::StatusOr<resources::Requirements> ParseResources(const KubernetesResources& written);

// INVALID_ARGUMENT names `field`, the container and the member: an empty or duplicate name, and
// errors of ParseResources.
absl::Status Validate(const PodResources& pod, absl::string_view field);

// Whether the announced types can't be true: all are init containers, which make no pod. Type 0 is
// sent by a client that leaves the type out.
bool TypesAreUnknown(const PodResources& pod);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_POD_RESOURCES_H_
