// The machine's disks, and which of them honour weights: the input to compiling blockio classes.
#ifndef PLIMSOLL_QOS_BLOCKIO_MACHINE_H_
#define PLIMSOLL_QOS_BLOCKIO_MACHINE_H_

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "qos/blockio_plan.h"

namespace plimsoll::qos {

// The machine as it is now. `host` holds sys/ and dev/.
absl::StatusOr<BlockioMachine> LookAtBlockioMachine(const FsRoot& host,
                                                    const linux::CgroupManager& cgroups);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_BLOCKIO_MACHINE_H_
