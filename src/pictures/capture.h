// A machine captured in files: all that discovery reads of it, so that another machine can repeat
// it (Discover with the directory as root). For bug reports, and tests.
#ifndef PLIMSOLL_PICTURES_CAPTURE_H_
#define PLIMSOLL_PICTURES_CAPTURE_H_

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "topology/machine/machine.h"

namespace plimsoll::pictures {

// Writes sys/, proc/ and etc/ below `out`. `machine` comes from discovery of `host`: its CPUs and
// memory nodes become the limit of a cpuset. Identifying data (machine-id, boot-id, system-uuid,
// names of mounts and groups) is not captured: ids are zeros. Some thousand small files on a large
// machine. After an error, files already written stay.
absl::Status Capture(const FsRoot& host, const topology::Machine& machine, const FsRoot& out);

}  // namespace plimsoll::pictures

#endif  // PLIMSOLL_PICTURES_CAPTURE_H_
