// CPU shares on cgroup v2, where one cpu.weight stands for many of them.
#ifndef PLIMSOLL_RESOURCES_SHARES_H_
#define PLIMSOLL_RESOURCES_SHARES_H_

#include <cstdint>

namespace plimsoll::resources {

// cgroup v2 can't tell these shares apart.
bool AreOneWeight(uint64_t shares, uint64_t other);

}  // namespace plimsoll::resources

#endif  // PLIMSOLL_RESOURCES_SHARES_H_
