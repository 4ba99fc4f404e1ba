// A model of a pod's needs, in total and by container (KEP-4112 "Design Details"). Pure functions
// of the records.
#ifndef PLIMSOLL_RUNTIME_POD_PICTURE_H_
#define PLIMSOLL_RUNTIME_POD_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "resources/requirements.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/pod_resources.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// Completeness of a picture.
enum class PictureIs {
  kAbsent,    // nothing
  kPartial,   // only the sandbox's or existing containers' resources, or without true types
  kComplete,  // every container was announced with the sandbox
};
const char* PictureIsName(PictureIs is);  // "complete"

struct PodPicture {
  PictureIs is = PictureIs::kAbsent;
  // The latest word on each field of each container: by its announcement, its creation or an
  // update. Containers that were not announced come last.
  PodResources now;
  resources::Requirements total;  // with overhead
};

// The picture of a pod. If the pod announced nothing, uses its own resources and overhead; without
// those, the containers' resources. `containers`: the existing ones, the newest of each name.
PodPicture MakePicture(const SandboxSpec& pod, const std::vector<ContainerSpec>& containers);

// The latest resources that the pod's author wrote for an existing container: by its creation, an
// update of it, or the pod's announcement.
KubernetesResources WrittenNow(const SandboxSpec& pod, const ContainerSpec& container);

// Records an update of the pod's announcement as word number `word`. Containers that `update`
// doesn't name are no longer announced; members that it leaves empty stay as they were.
void AnnounceAnew(PodResources update, uint64_t word, SandboxSpec* pod);

// JSON text: {"picture":"complete","total":{"requests":{...},"limits":{...}}} and the members of
// `now`, in a fixed order; the total's quantities in canonical form.
std::string ToJson(const PodPicture& picture);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_PICTURE_H_
