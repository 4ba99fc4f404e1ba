// One model of what a pod needs, in total and by container (KEP-4112 "Design Details"). Pure
// functions of what is on record.
#ifndef PLIMSOLL_RUNTIME_POD_PICTURE_H_
#define PLIMSOLL_RUNTIME_POD_PICTURE_H_

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
  // As announced, with later values of the containers that are there; those that were not announced
  // follow.
  PodResources now;
  resources::Requirements total;  // with overhead
};

// Of a pod that announced nothing, from its own resources and overhead, and where it has none from
// those of its containers. `containers`: those that are there, of each name the newest.
PodPicture MakePicture(const SandboxSpec& pod, const std::vector<ContainerSpec>& containers);

// {"picture":"complete","total":{"requests":{...},"limits":{...}}} and the members of `now`, in a
// fixed order; the total's quantities in canonical form.
std::string ToJson(const PodPicture& picture);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_PICTURE_H_
