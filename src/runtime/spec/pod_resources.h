// What the pod's author wrote of resources, and what all containers of a pod are going to ask for
// (KEP-4112 "CRI API"). Information: nothing of it changes a limit.
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
  bool is_given_empty = false;  // the client's message was there, with nothing in it
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
  std::vector<Mount> mounts;  // also of a kind that a container could not have here
  std::vector<Device> devices;
  std::vector<std::string> cdi_devices;  // "vendor.com/class=name"
  bool operator==(const AnnouncedContainer&) const = default;
};

struct PodResources {
  std::vector<AnnouncedContainer> containers;
  KubernetesResources kubernetes_resources;  // of the pod as a whole (KEP-2837)
  bool empty() const { return containers.empty() && kubernetes_resources.empty(); }
  bool operator==(const PodResources&) const = default;
};

// When something was said of a container, by a count of what is said of all pods; the latest word
// about a field is the one that holds. 0: never, or by a build that didn't count.
struct OwnWords {
  uint64_t made = 0;       // its mounts and devices, and its resources if it came with any
  uint64_t resources = 0;  // its resources; above `made`: by an update
  bool operator==(const OwnWords&) const = default;
};
// By updates of the pod. What came with the pod is earlier than any container.
struct AnnouncedWords {
  uint64_t resources = 0;
  uint64_t mounts = 0;
  uint64_t devices = 0;
  uint64_t cdi_devices = 0;
  bool operator==(const AnnouncedWords&) const = default;
};

// The numbers that were meant. INVALID_ARGUMENT names the member ("limits[cpu]"): no quantity, a
// negative one, a request above its limit, huge pages whose request is not their limit.
absl::StatusOr<resources::Requirements> ParseResources(const KubernetesResources& written);

// INVALID_ARGUMENT names `field`, the container and the member: a name that is empty or there
// twice, and what ParseResources refuses.
absl::Status Validate(const PodResources& pod, absl::string_view field);

// Whether containers are announced whose types can't be true: all of them init containers, which a
// pod can't be made of. Type 0 is what a client sends that leaves the type out.
bool TypesAreUnknown(const PodResources& pod);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_POD_RESOURCES_H_
