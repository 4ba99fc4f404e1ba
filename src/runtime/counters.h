// A container's counters for metrics, from every source.
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

// A member is absent if the kernel doesn't tell it, or reading it would take too long.
struct ContainerCounters {
  linux::CgroupStats stats;
  linux::CgroupCounters more;
  linux::CgroupSettings limits;  // what the kernel holds now
  // Names of the disks in `more.io`, as in /dev: "/dev/sda", or "8:0" for an unknown name.
  std::map<linux::DeviceNumber, std::string> devices;
  std::optional<uint64_t> oom_kills;
  std::optional<uint64_t> processes;
  std::optional<linux::TaskStates> tasks;
  std::optional<linux::OpenFiles> open_files;
  std::optional<uint64_t> max_open_files;  // soft limit of its first process
};

// A file system, as statfs(2) has it.
struct FileSystem {
  std::string device;  // the mount's source: "/dev/sda1", "tmpfs"
  uint64_t bytes = 0;
  uint64_t inodes = 0;  // 0: it has no fixed number
  uint64_t inodes_free = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_COUNTERS_H_
