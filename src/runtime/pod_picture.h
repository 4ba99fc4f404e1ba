// One model of what a pod needs, in total and by container (KEP-4112 "Design Details"). Pure
// functions of what is on record.
#ifndef PLIMSOLL_RUNTIME_POD_PICTURE_H_
#define PLIMSOLL_RUNTIME_POD_PICTURE_H_

#include <string>
#include <vector>

#include "resources/requirements.h"
#include "runtime/spec/container_spec.h"
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
  struct Container {
    std::string name;
    resources::ContainerRequirements::Role role =
        resources::ContainerRequirements::Role::kContainer;
    bool announced = false;                // with the sandbox
    resources::Requirements requirements;  // with defaults filled in
  };
  PictureIs is = PictureIs::kAbsent;
  std::vector<Container> containers;  // announced ones first, in the order of the pod
  resources::Requirements total;      // with overhead
};

// From what was announced with the sandbox, with later values of the containers that are there; of
// a pod that announced nothing, from its own resources and overhead, and where it has none from
// those of its containers. `containers`: those that are there, of each name the newest.
PodPicture MakePicture(const SandboxSpec& pod, const std::vector<ContainerSpec>& containers);

// Canonical JSON: {"picture":"complete","requests":{...},"limits":{...},"containers":[...]}, with
// quantities in canonical form and members in a fixed order.
std::string ToJson(const PodPicture& picture);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_PICTURE_H_
