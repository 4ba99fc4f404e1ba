// A container's limits, recorded and in the kernel, and updates of them.
#ifndef PLIMSOLL_TESTS_KILL_LIMITS_H_
#define PLIMSOLL_TESTS_KILL_LIMITS_H_

#include <functional>
#include <optional>
#include <string>

#include "harness/node.h"
#include "linux/cgroup/settings.h"

namespace plimsoll::testing {

struct Limits {
  linux::CgroupSettings row;   // the requested limits
  linux::CgroupSettings held;  // the kernel's limits, raw files included
};

// From the daemon's answer and the kernel's files. nullopt: the container doesn't exist, or its
// group is removed. CPUs and memory nodes are left out: the node decides those.
std::optional<Limits> LimitsOf(Node& node, const std::string& container_id);

// Legal after any updates of this kind. `random`: a number below its argument. Without `memory` it
// changes no memory limits.
linux::CgroupSettings RandomUpdate(const std::function<uint64_t(uint64_t)>& random, bool memory);
cri::LinuxContainerResources MessageOf(const linux::CgroupSettings& settings);

// True if the kernel holds everything that `asked` names.
bool Holds(const linux::CgroupSettings& held, const linux::CgroupSettings& asked);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_KILL_LIMITS_H_
