// The parts of the OCI spec that are lists of files: mounts and devices. Used by spec_builder.cc.
#ifndef PLIMSOLL_RUNTIME_OCI_SPEC_MOUNTS_H_
#define PLIMSOLL_RUNTIME_OCI_SPEC_MOUNTS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cdi/edits.h"
#include "runtime/oci/spec_builder.h"

namespace plimsoll::runtime {

// "mounts": the kernel's file systems, the sandbox's files, then the container's own, parents
// before children; a container's mount at a standard place replaces the standard one. `volumes`:
// see BuiltSpec::volumes.
absl::StatusOr<nlohmann::json> BuildMounts(const SpecInput& input,
                                           std::vector<HeldVolume>* volumes);

// The mounts that each container has, in their order, unless one of its own is at the same place:
// the kernel's file systems and the sandbox's files.
std::vector<cdi::CdiMount> StandardMounts(const ContainerSpec& spec, const SandboxPlace& sandbox);

// The options of a container's own mount; of a mounted image, without those of the configuration.
std::vector<std::string> MountOptions(const Mount& mount);

// "rootfsPropagation": as much as the mounts' propagation needs.
std::string RootPropagation(const ContainerSpec& spec);

struct DeviceLists {
  nlohmann::json nodes;  // "linux.devices"
  nlohmann::json rules;  // "linux.resources.devices"
};

// The requested devices (a directory means those in it), all of the host's for a privileged
// container, and the device cgroup's rules.
absl::StatusOr<DeviceLists> BuildDevices(const SpecInput& input);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SPEC_MOUNTS_H_
