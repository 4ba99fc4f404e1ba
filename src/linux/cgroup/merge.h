// One group's settings over many updates. Pure functions.
//
// An update is applied to the kernel by itself, and so each may be legal only after the one before
// it: memory and swap of 64 MiB, then memory alone of 128 MiB. Who has to write all of it at once,
// because a daemon was killed in between, needs one set of settings that is legal as a whole and
// gives what the updates have given one after the other.
#ifndef PLIMSOLL_LINUX_CGROUP_MERGE_H_
#define PLIMSOLL_LINUX_CGROUP_MERGE_H_

#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/settings.h"

namespace plimsoll::linux {

// What is asked for of a group after `update` was applied to it by itself: the members that it
// names, the rest of `settings` as before, but
//   - where memory alone is changed, memory and swap becomes what the kernel makes of it: on v2 the
//     swap stays as it is, on v1 the sum, unless memory goes past it;
//   - on v2 a raw file and the members that are written to the same file are one thing: the later
//     word counts, and the other goes. A value of cpu.max that leaves out the period gets the one
//     before. A file with a line per device keeps the lines of devices that aren't named.
// What no member can say is a raw file then: swap beside memory without a limit, on v2. Where
// limits are in v1, raw files are written by nobody and kept as they come.
void MergeUpdate(const CgroupSettings& update, CgroupLayout layout, CgroupSettings* settings);

// Makes one thing of what is there twice, as after a creation: an OCI runtime writes the raw files
// after the members. Memory and swap below memory, as earlier builds kept it, goes. No change where
// MergeUpdate has been.
void Settle(CgroupLayout layout, CgroupSettings* settings);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_MERGE_H_
