// The attribute of a zone's last-level cache.
#ifndef PLIMSOLL_TOPOLOGY_ZONES_CACHE_LEVEL_H_
#define PLIMSOLL_TOPOLOGY_ZONES_CACHE_LEVEL_H_

#include <cstdint>

namespace plimsoll::topology {

inline constexpr char kCacheLevel[] = "cache-level";  // "3"
// The first level of what kubelet calls uncore caches; those below belong to a core (cAdvisor's
// addCacheInfo).
inline constexpr uint32_t kUncoreLevel = 3;

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_ZONES_CACHE_LEVEL_H_
