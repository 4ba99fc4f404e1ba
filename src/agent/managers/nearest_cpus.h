// CPUs near those that a container has.
#ifndef PLIMSOLL_AGENT_MANAGERS_NEAREST_CPUS_H_
#define PLIMSOLL_AGENT_MANAGERS_NEAREST_CPUS_H_

#include <cstdint>

#include "resources/cpu_set.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

// `count` CPUs of `pool`, or all of it: first those that share a core with `near` or an earlier
// choice, then a cache, a NUMA node, a package; of equals first whole cores, then CPUs of cores
// that are broken anyway, then the lowest. Ignores CPUs without a place in `maps`.
resources::CpuSet NearestCpus(const topology::MachineMaps& maps, const resources::CpuSet& near,
                              const resources::CpuSet& pool, int64_t count);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_NEAREST_CPUS_H_
