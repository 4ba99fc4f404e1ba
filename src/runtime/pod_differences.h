// Where a container is made with something else than was announced with its sandbox (KEP-4112
// "CreateContainer"). Pure functions.
#ifndef PLIMSOLL_RUNTIME_POD_DIFFERENCES_H_
#define PLIMSOLL_RUNTIME_POD_DIFFERENCES_H_

#include <string>
#include <vector>

#include "runtime/spec/container_spec.h"
#include "runtime/spec/pod_resources.h"

namespace plimsoll::runtime {

// One sentence each, naming what and both values; empty: none. `now`: what the pod needs at present
// (PodPicture::now), of a pod that announced its containers. Compared are resources by value, where
// the container has any; mounts by container path and whether they are read-only, since clients
// make some files anew for each attempt; devices by container path, CDI devices by name. A
// container that nobody announced differs by what it adds.
std::vector<std::string> DifferencesOf(const ContainerSpec& made, const PodResources& now);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_DIFFERENCES_H_
