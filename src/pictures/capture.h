// A machine in files: what discovery reads of it, so that another machine can be told the same
// (Discover with the directory as root). For reports of faults, and tests.
#ifndef PLIMSOLL_PICTURES_CAPTURE_H_
#define PLIMSOLL_PICTURES_CAPTURE_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "topology/machine.h"

namespace plimsoll::pictures {

// Writes sys/, proc/ and etc/ below `out`. `machine` is what was discovered of `host`: its CPUs and
// memory nodes become the limit of a cpuset. What tells one machine from others (machine-id,
// boot-id, system-uuid, names of mounts and groups) is not taken: ids are zeros. Some thousand
// small files on a large machine. An error leaves what has been written.
absl::Status Capture(const FsRoot& host, const topology::Machine& machine, const FsRoot& out);

}  // namespace plimsoll::pictures

#endif  // PLIMSOLL_PICTURES_CAPTURE_H_
