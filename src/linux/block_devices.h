// Block devices: the machine's disks, and the disk that a path below /dev stands for.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(const auto devices, BlockDevices::Scan(host));
//   PLIMSOLL_ASSIGN_OR_RETURN(const auto match, devices.Match("/dev/disk/by-id/*SSD*"));
//   for (const Disk& disk : match.disks) ... FormatDeviceNumber(disk.number) ...
//
// Control groups limit whole disks ("8:0"), never partitions (Documentation/admin-guide/cgroup-v1/
// blkio-controller.rst), so a partition's path stands for its disk here.
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
// INVALID_ARGUMENT for anything but "<major>:<minor>".
absl::StatusOr<DeviceNumber> ParseDeviceNumber(absl::string_view text);

struct Disk {
  DeviceNumber number;
  std::string name;       // in /sys/block: "sda", "nvme0n1", "dm-0"
  std::string scheduler;  // the active one: "bfq", "mq-deadline", "none"; empty where it has none
  bool operator==(const Disk&) const = default;
};

// The disks that a path or pattern stands for.
struct DeviceMatch {
  std::vector<Disk> disks;  // each once, by number
  // The reason why `disks` is empty: "nothing matches", "/dev/null is no block device". Empty when
  // it isn't.
  std::string problem;
};

// The devices at the time of the scan; a value. `host` holds sys/ and dev/.
class BlockDevices {
 public:
  // A machine without block devices has an empty set. A device that goes during the scan is left
  // out.
  static absl::StatusOr<BlockDevices> Scan(const FsRoot& host);

  // Sorted by number.
  const std::vector<Disk>& disks() const { return disks_; }
  // The disk with that number or with the partition of that number; null if unknown.
  const Disk* DiskOf(const DeviceNumber& number) const;

  // Matches a pattern of absolute paths: '*', '?', '[...]' within one component (NamePattern);
  // symbolic links are followed. Matches that are not block devices are passed over.
  // INVALID_ARGUMENT for a path that is not absolute, or a malformed pattern.
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

// True when io.weight has an effect on that disk, by the root group's io.cost.qos ("8:0 enable=1
// ctrl=auto ..."): only the iocost policy acts upon io.weight, and it is off by default.
// (io.bfq.weight and blkio.bfq.weight have an effect where the scheduler is "bfq".)
bool HasIoCost(absl::string_view io_cost_qos, const DeviceNumber& disk);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_BLOCK_DEVICES_H_
