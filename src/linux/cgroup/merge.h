// One group's settings over many updates. Pure functions.
//
// Updates are applied to the kernel one by one, so each may be legal only after the one before it:
// memory and swap of 64 MiB, then memory alone of 128 MiB. A daemon that was killed in between has
// to write all of it at once. It needs one set of settings that is legal as a whole and has the
// same result as the updates in turn.
#ifndef PLIMSOLL_LINUX_CGROUP_MERGE_H_
#define PLIMSOLL_LINUX_CGROUP_MERGE_H_

#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/settings.h"

namespace plimsoll::linux {

// Applies `update` to `settings`: takes the members that it has, keeps the others, but
//   - where memory alone is changed, memory and swap becomes what the kernel makes of it: on v2 the
//     swap stays as it is, on v1 the sum, unless memory goes past it;
//   - on v2 a raw file and the members that are written to the same file are one thing: the later
//     word counts, and the other goes. A value of cpu.max that leaves out the period gets the one
//     before. A file with a line per device keeps the lines of devices that aren't named.
// Values that no member can express become raw files: swap beside unlimited memory, on v2. Where
// limits are in v1, nobody writes raw files, and they are kept as they come.
void MergeUpdate(const CgroupSettings& update, CgroupLayout layout, CgroupSettings* settings);

// Resolves duplicates as a creation does: an OCI runtime writes the raw files after the members.
// Drops a sum of memory and swap that is below memory, which earlier builds stored. Changes nothing
// in MergeUpdate's results.
void Settle(CgroupLayout layout, CgroupSettings* settings);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_MERGE_H_
