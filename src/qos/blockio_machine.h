// The disks of a machine and who acts upon weights on them: what blockio classes are compiled for.
#ifndef PLIMSOLL_QOS_BLOCKIO_MACHINE_H_
#define PLIMSOLL_QOS_BLOCKIO_MACHINE_H_

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "qos/blockio_plan.h"

namespace plimsoll::qos {

// As it is now. `host` holds sys/ and dev/.
absl::StatusOr<BlockioMachine> LookAtBlockioMachine(const FsRoot& host,
                                                    const linux::CgroupManager& cgroups);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_BLOCKIO_MACHINE_H_
