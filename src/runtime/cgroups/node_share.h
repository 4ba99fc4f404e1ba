// The pods' share of the node's CPUs and memory nodes, and a container's cpuset within it. Pure
// functions.
//
// A container without a cpuset gets the share's CPUs and memory nodes, so that the rest of the node
// is really left to others. CPUs and memory nodes outside of the share are taken away or refused.
// The request stays on record, and counts again when the share grows or a CPU comes back.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_NODE_SHARE_H_
#define PLIMSOLL_RUNTIME_CGROUPS_NODE_SHARE_H_

#include <string>

#include "linux/cgroup/settings.h"
#include "resources/cpu_set.h"

namespace plimsoll::runtime {

struct NodeShare {
  resources::CpuSet cpus;          // all online; never empty, unless nothing is known of the node
  resources::CpuSet memory_nodes;  // as `cpus`
  // The share is the whole node: no pod is confined, but a container that asks for CPUs loses those
  // that went offline.
  bool is_whole = true;
  // Clients may count on this share. False: a stand-in until the real one is known.
  bool is_told = true;
  bool operator==(const NodeShare&) const = default;
};

enum class OutsideShare { kClip, kRefuse };

struct Confined {
  linux::CgroupSettings settings;  // for the kernel
  // The part of the request that was not given: "CPUs 4-7 and memory nodes 1". Empty: none.
  std::string lost;
};

// The cpuset of an existing container, whatever it has now: the part of its request inside the
// share, or the whole share if there is none. Only cpuset_cpus and cpuset_mems are set.
Confined Follow(const linux::CgroupSettings& asked, const NodeShare& share);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_NODE_SHARE_H_
