// Differences between a container as made and as announced with its sandbox (KEP-4112
// "CreateContainer"). Pure functions.
#ifndef PLIMSOLL_RUNTIME_REQUESTS_POD_DIFFERENCES_H_
#define PLIMSOLL_RUNTIME_REQUESTS_POD_DIFFERENCES_H_

#include <string>
#include <vector>

#include "runtime/spec/container_spec.h"
#include "runtime/spec/pod_resources.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// Whether the latest word about the container's resources is an update: its own, or one of an
// earlier attempt that it was made like. True also for a container that an earlier build made: it
// may have been updated.
bool IsUpdated(const SandboxSpec& pod, const ContainerSpec& last);

// The expected settings of a container's next attempt: as the pod announced them, but resources by
// a later update of the container. `last`: the attempt before; null: there is none. Nothing is
// expected of a container that wasn't announced.
AnnouncedContainer ExpectedOf(const SandboxSpec& pod, const std::string& name,
                              const ContainerSpec* last);

// The differences, one sentence each, with the member's name and both values. Compares resources by
// value, if the container has any; mounts by container path, read-only flag and whether they are
// images, since clients make some files again for each attempt; devices by container path, host
// path and permissions, of which `announced` may leave out the latter two; CDI devices by name.
std::vector<std::string> DifferencesOf(const ContainerSpec& made,
                                       const AnnouncedContainer& announced);
// The differences of resources alone: a part of DifferencesOf.
std::vector<std::string> ResourceDifferencesOf(const ContainerSpec& made,
                                               const AnnouncedContainer& announced);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_REQUESTS_POD_DIFFERENCES_H_
