// The file info/<cache>/bit_usage: a letter for each bit of each instance, the highest first.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_BIT_USAGE_H_
#define PLIMSOLL_TESTS_RESCTRLFS_BIT_USAGE_H_

#include <cstddef>
#include <string>

#include "resctrlfs/state.h"

namespace plimsoll::resctrlfs {

// "0=XXSSE000;1=HHSS0000\n": X shareable with hardware and used by a group, H shareable but used by
// no group, S used by groups that share, E by an exclusive one, 0 unused. `schema`: an index into
// Controls::schemas(), of a cache.
std::string ShowBitUsage(const State& state, size_t schema);

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_BIT_USAGE_H_
