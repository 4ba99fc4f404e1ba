// The part of a node that is given away: the sum of some pods' grants.
#ifndef PLIMSOLL_AGENT_MANAGERS_HOLDINGS_H_
#define PLIMSOLL_AGENT_MANAGERS_HOLDINGS_H_

#include <map>
#include <string>
#include <vector>

#include "agent/device_manager/device_stock.h"
#include "agent/managers/pod_grant.h"
#include "agent/memory_manager/static_memory_policy.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

struct Holdings {
  resources::CpuSet cpus;
  std::vector<MemoryBlock> memory;
  std::map<std::string, DeviceIds> devices;  // by resource

  void Add(const PodGrant& grant);
};

// The blocks that count for the whole pod. A pod's own (KEP-2837) contain those of its containers.
std::vector<MemoryBlock> MemoryOf(const PodGrant& grant);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_HOLDINGS_H_
