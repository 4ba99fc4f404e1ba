#include "qos/blockio_machine.h"

#include <utility>

#include "base/status.h"

namespace plimsoll::qos {

absl::StatusOr<BlockioMachine> LookAtBlockioMachine(const FsRoot& host,
                                                    const linux::CgroupManager& cgroups) {
  PLIMSOLL_ASSIGN_OR_RETURN(linux::BlockDevices devices, linux::BlockDevices::Scan(host));
  BlockioMachine machine{.v2 = cgroups.layout() == linux::CgroupLayout::kV2,
                         .devices = std::move(devices),
                         .io_cost = {}};
  // io.cost.qos exists in the root group only, and only if the kernel has iocost.
  const auto qos = cgroups.ReadFile("/", "io", "io.cost.qos");
  if (!machine.v2 || !qos.ok()) return machine;
  for (const linux::Disk& disk : machine.devices.disks()) {
    if (linux::HasIoCost(*qos, disk.number)) machine.io_cost.insert(disk.number);
  }
  return machine;
}

}  // namespace plimsoll::qos
