// One model of what a pod needs, in total and by container (KEP-4112 "Design Details"). Pure
// functions of what is on record.
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

// How much of the pod is known.
enum class PictureIs {
  kAbsent,    // nothing
  kPartial,   // what the sandbox or the containers that are there tell, or without true types
  kComplete,  // every container was announced with the sandbox
};
const char* PictureIsName(PictureIs is);  // "complete"

struct PodPicture {
  PictureIs is = PictureIs::kAbsent;
  // Of each container and field the latest word: what was announced, what the container was made
  // with, what an update said. Containers that were not announced follow.
  PodResources now;
  resources::Requirements total;  // with overhead
};

// Of a pod that announced nothing, from its own resources and overhead, and where it has none from
// those of its containers. `containers`: those that are there, of each name the newest.
PodPicture MakePicture(const SandboxSpec& pod, const std::vector<ContainerSpec>& containers);

// What the pod's author has written last of a container that is there: by its creation, an update
// of it, or what the pod announced of it.
KubernetesResources WrittenNow(const SandboxSpec& pod, const ContainerSpec& container);

// Puts on record what an update of the pod says, as word number `word`. Containers that it doesn't
// name are announced no more; what it leaves empty of one that it names stays as it was.
void AnnounceAnew(PodResources update, uint64_t word, SandboxSpec* pod);

// {"picture":"complete","total":{"requests":{...},"limits":{...}}} and the members of `now`, in a
// fixed order; the total's quantities in canonical form.
std::string ToJson(const PodPicture& picture);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_PICTURE_H_
