// What of the node pods may use, and what that makes of a container's cpuset. Pure functions.
//
// Who brings no cpuset gets the share's CPUs and memory nodes, so that the rest of the node is
// really left to others. What a client asks for outside of the share is taken away or refused; what
// it asked for stays on record, and counts again when the share grows or a CPU comes back.
#ifndef PLIMSOLL_RUNTIME_NODE_SHARE_H_
#define PLIMSOLL_RUNTIME_NODE_SHARE_H_

#include <string>

#include "linux/cgroup/settings.h"
#include "resources/cpu_set.h"

namespace plimsoll::runtime {

struct NodeShare {
  resources::CpuSet cpus;          // all online; never empty, unless nothing is known of the node
  resources::CpuSet memory_nodes;  // as `cpus`
  // All that the node has: nobody is confined, but who asks for CPUs loses those that went.
  bool is_whole = true;
  // Clients may count on it. False: it stands in for another that is to come.
  bool is_told = true;
  bool operator==(const NodeShare&) const = default;
};

enum class OutsideShare { kClip, kRefuse };

struct Confined {
  linux::CgroupSettings settings;  // for the kernel
  // "CPUs 4-7 and memory nodes 1": what is not given of what was asked for. Empty: nothing.
  std::string lost;
};

// For a container that is there already, whatever it was given: what is left of what it asked for;
// where nothing is left, all of the share. Only cpuset_cpus and cpuset_mems are set.
Confined Follow(const linux::CgroupSettings& asked, const NodeShare& share);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_NODE_SHARE_H_
