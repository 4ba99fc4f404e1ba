// A class of block I/O compiled for one machine: patterns resolved to disks, and the control files
// of cgroup v1 or v2 that express it.
#ifndef PLIMSOLL_QOS_BLOCKIO_PLAN_H_
#define PLIMSOLL_QOS_BLOCKIO_PLAN_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "linux/block_devices.h"
#include "qos/blockio_config.h"
#include "qos/control_files.h"

namespace plimsoll::qos {

// The machine's disks, and which of them honour weights.
struct BlockioMachine {
  bool v2 = false;
  linux::BlockDevices devices;
  std::set<linux::DeviceNumber> io_cost;  // disks on which iocost is turned on (v2)

  bool HeedsWeight(const linux::Disk& disk) const {
    return disk.scheduler == "bfq" || io_cost.contains(disk.number);
  }
};

struct BlockioDisk {
  linux::Disk disk;
  BlockioLimits limits;
};

struct BlockioPlan {
  std::optional<uint64_t> weight;  // of disks without a weight of their own
  std::vector<BlockioDisk> disks;  // by number
  // One line each: patterns that match nothing, weights that no scheduler honours.
  std::vector<std::string> warnings;

  // "default weight 50; sda: read 50000000 B/s, weight 20"; "no limits".
  std::string Meaning() const;
};

BlockioPlan PlanBlockio(const BlockioClass& definition, const BlockioMachine& machine);

// The kernel's files of block I/O, each empty.
std::vector<FileContent> BlockioFiles(bool v2);
// Whether the class sets a value in one of BlockioFiles: then that file is the class's.
bool OwnsFile(const BlockioClass& definition, absl::string_view file);
// The plan's lines in that file. Weights on disks that don't honour them are left out: the kernel
// refuses them.
FileLines LinesOf(const BlockioPlan& plan, const BlockioMachine& machine, absl::string_view file);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_BLOCKIO_PLAN_H_
