// What is counted of a container for metrics, from all that counts.
#ifndef PLIMSOLL_RUNTIME_COUNTERS_H_
#define PLIMSOLL_RUNTIME_COUNTERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "linux/block_devices.h"
#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/counters.h"
#include "linux/cgroup/settings.h"
#include "linux/open_files.h"
#include "linux/task_states.h"

namespace plimsoll::runtime {

// Absent: the kernel doesn't tell, or it would take too long.
struct ContainerCounters {
  linux::CgroupStats stats;
  linux::CgroupCounters more;
  linux::CgroupSettings limits;  // what the kernel holds now
  // Of the disks in `more.io`, as /dev has them: "/dev/sda", or "8:0" where the name isn't known.
  std::map<linux::DeviceNumber, std::string> devices;
  std::optional<uint64_t> oom_kills;
  std::optional<uint64_t> processes;
  std::optional<linux::TaskStates> tasks;
  std::optional<linux::OpenFiles> open_files;
  std::optional<uint64_t> max_open_files;  // of its first process, the soft limit
};

// A file system, as statfs(2) has it.
struct FileSystem {
  std::string device;  // what is mounted: "/dev/sda1", "tmpfs"
  uint64_t bytes = 0;
  uint64_t inodes = 0;  // 0: it has no fixed number
  uint64_t inodes_free = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_COUNTERS_H_
