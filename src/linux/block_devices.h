// Block devices: which disks there are, and which of them a path below /dev means.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(const auto devices, BlockDevices::Scan(host));
//   PLIMSOLL_ASSIGN_OR_RETURN(const auto match, devices.Match("/dev/disk/by-id/*SSD*"));
//   for (const Disk& disk : match.disks) ... FormatDeviceNumber(disk.number) ...
//
// Control groups limit whole disks ("8:0"), never partitions (Documentation/admin-guide/cgroup-v1/
// blkio-controller.rst), so whatever names a partition means its disk here.
#ifndef PLIMSOLL_LINUX_BLOCK_DEVICES_H_
#define PLIMSOLL_LINUX_BLOCK_DEVICES_H_

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::linux {

struct DeviceNumber {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const DeviceNumber&) const = default;
};

// "8:0", as the kernel's files spell it.
std::string FormatDeviceNumber(const DeviceNumber& number);
// INVALID_ARGUMENT.
absl::StatusOr<DeviceNumber> ParseDeviceNumber(absl::string_view text);

struct Disk {
  DeviceNumber number;
  std::string name;       // in /sys/block: "sda", "nvme0n1", "dm-0"
  std::string scheduler;  // the active one: "bfq", "mq-deadline", "none"; empty where it has none
  bool operator==(const Disk&) const = default;
};

// What a path or pattern means.
struct DeviceMatch {
  std::vector<Disk> disks;  // each once, by number
  // Why there is none: "nothing matches", "/dev/null is no block device". Empty when there are.
  std::string problem;
};

// The devices as they were when looked at; a value. `host` holds sys/ and dev/.
class BlockDevices {
 public:
  // A machine without block devices has an empty set. A device that goes meanwhile is left out.
  static absl::StatusOr<BlockDevices> Scan(const FsRoot& host);

  // By number.
  const std::vector<Disk>& disks() const { return disks_; }
  // The disk with that number, or on which the partition with that number is; null if unknown.
  const Disk* DiskOf(const DeviceNumber& number) const;

  // A pattern of absolute paths: '*', '?', '[...]' within one component, as glob(7) has them;
  // symbolic links are followed. What it matches beside block devices is passed over.
  // INVALID_ARGUMENT for a path that is not absolute.
  absl::StatusOr<DeviceMatch> Match(absl::string_view pattern) const;

  bool operator==(const BlockDevices& other) const {
    return disks_ == other.disks_ && disk_of_ == other.disk_of_;
  }

 private:
  explicit BlockDevices(FsRoot host) : host_(std::move(host)) {}

  FsRoot host_;
  std::vector<Disk> disks_;
  std::map<DeviceNumber, DeviceNumber> disk_of_;  // partitions, and disks themselves
};

// Absolute paths below `host` that the pattern matches, sorted.
std::vector<std::string> Glob(const FsRoot& host, absl::string_view pattern);

// Whether io.weight has an effect on that disk, by the root group's io.cost.qos ("8:0 enable=1
// ctrl=auto ..."): it is the iocost policy that acts upon it, which is off until somebody turns it
// on. (io.bfq.weight and blkio.bfq.weight have one where the scheduler is "bfq".)
bool HasIoCost(absl::string_view io_cost_qos, const DeviceNumber& disk);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_BLOCK_DEVICES_H_
