// The device nodes of a pod's CDI devices, as they were when a container or the pod asked for them.
#ifndef PLIMSOLL_RUNTIME_REQUESTS_KEPT_DEVICES_H_
#define PLIMSOLL_RUNTIME_REQUESTS_KEPT_DEVICES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cdi/registry.h"
#include "runtime/spec/pod_resources.h"

namespace plimsoll::runtime {

// A virtual machine has the devices it was made with, whatever becomes of the files that describe
// them: each list of names is looked up once.
class KeptDevices {
 public:
  // Parses the output of ToJson. INVALID_ARGUMENT for other text.
  static absl::StatusOr<KeptDevices> FromJson(absl::string_view json);
  std::string ToJson() const;  // {"vendor.com/gpu=0,vendor.com/gpu=1":["/dev/vfio/42"]}

  // Keeps the nodes of `edits` for the list `cdi_devices`, in place of earlier ones.
  void Set(const std::vector<std::string>& cdi_devices, const cdi::ContainerEdits& edits);

  // The host's device nodes of all containers of the pod. Looks up and keeps the nodes of CDI
  // devices that aren't kept yet. FAILED_PRECONDITION names the container whose devices can't be
  // looked up. Null `registry`: CDI devices have no nodes.
  absl::StatusOr<std::vector<std::string>> NodesOf(const PodResources& pod,
                                                   cdi::Registry* registry);

  bool operator==(const KeptDevices&) const = default;

 private:
  std::map<std::string, std::vector<std::string>> nodes_;  // by the CDI names, joined with commas
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_REQUESTS_KEPT_DEVICES_H_
