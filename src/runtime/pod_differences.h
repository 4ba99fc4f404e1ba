// Where a container is made with something else than was announced with its sandbox (KEP-4112
// "CreateContainer"). Pure functions.
#ifndef PLIMSOLL_RUNTIME_POD_DIFFERENCES_H_
#define PLIMSOLL_RUNTIME_POD_DIFFERENCES_H_

#include <string>
#include <vector>

#include "runtime/spec/container_spec.h"
#include "runtime/spec/pod_resources.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// Whether an update of this container, or of an attempt before that it was made like, is the latest
// word about its resources. One that an earlier build made may have been updated.
bool IsUpdated(const SandboxSpec& pod, const ContainerSpec& last);

// What the next attempt of a container is to be made with: what the pod announced of it, resources
// by a later update of the container. `last`: the attempt before; null: there is none. A container
// that nobody announced is to have nothing.
AnnouncedContainer ExpectedOf(const SandboxSpec& pod, const std::string& name,
                              const ContainerSpec* last);

// One sentence each, naming what and both values; empty: none. Compared are resources by value,
// where the container has any; mounts by container path, whether they are read-only and whether
// they are images, since clients make some files anew for each attempt; devices by container path,
// host path and permissions, of which the latter two may be left out of `announced`; CDI devices by
// name.
std::vector<std::string> DifferencesOf(const ContainerSpec& made,
                                       const AnnouncedContainer& announced);
// Those of resources among them.
std::vector<std::string> ResourceDifferencesOf(const ContainerSpec& made,
                                               const AnnouncedContainer& announced);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_DIFFERENCES_H_
