// A container's limits: what its row says, what the kernel holds, and updates of them.
#ifndef PLIMSOLL_TESTS_KILL_LIMITS_H_
#define PLIMSOLL_TESTS_KILL_LIMITS_H_

#include <functional>
#include <optional>
#include <string>

#include "harness/node.h"
#include "linux/cgroup/settings.h"

namespace plimsoll::testing {

struct Limits {
  linux::CgroupSettings row;   // what is asked for by now
  linux::CgroupSettings held;  // by the kernel, raw files included
};

// By the daemon's answer and the kernel's files. nullopt: the container is not there, or its group
// has gone. CPUs and memory nodes are left out: of those the node decides.
std::optional<Limits> LimitsOf(Node& node, const std::string& container_id);

// Legal after whatever updates of this kind came before. `random`: a number below its argument.
// Without `memory`, nothing of that is in it.
linux::CgroupSettings RandomUpdate(const std::function<uint64_t(uint64_t)>& random, bool memory);
cri::LinuxContainerResources MessageOf(const linux::CgroupSettings& settings);

// Whether the kernel holds all that `asked` names.
bool Holds(const linux::CgroupSettings& held, const linux::CgroupSettings& asked);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_KILL_LIMITS_H_
