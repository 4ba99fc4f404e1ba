// The Pods service's answer about one pod.
#ifndef PLIMSOLL_KUBELET_READ_POD_H_
#define PLIMSOLL_KUBELET_READ_POD_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/spec/pod_facts.h"

namespace plimsoll::kubelet {

// A v1.Pod has at most 1.5 MiB in the API server's database.
inline constexpr int kMostPodBytes = 2 << 20;

struct ToldPod {
  // Ephemeral containers are among them, as containers without resources.
  runtime::PodResources resources;
  std::vector<std::string> ephemeral;
  // Whose devices PodResources doesn't tell: ordinary init containers that ask for extended
  // resources or use claims.
  std::set<std::string> untold_devices;
  bool has_block_volumes = false;
};

// `answer` is a serialized GetPodResponse, as hostile as can be. INVALID_ARGUMENT: malformed, of
// another pod than `pod`, or with resources that no API server accepts; RESOURCE_EXHAUSTED: too
// large.
absl::StatusOr<ToldPod> ReadPod(absl::string_view answer, const runtime::PodIdentity& pod);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_READ_POD_H_
