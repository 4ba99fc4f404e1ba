// The administrator's file that defines classes of block I/O, in the format that users of other
// runtimes have on disk:
//
//   Classes:
//     nothrottle: []
//     slow:
//     - Weight: 50                          # without devices: the default of all disks
//     - Devices: ["/dev/sd*", "/dev/disk/by-id/*SSD*"]
//       ThrottleReadBps: 50M
//       ThrottleWriteIOPS: 10k
//       Weight: 20
//
// Values are Kubernetes quantities. Where several entries of a class name one disk, the last value
// of each field counts; a throttle of 0 is none. An entry with an empty list of devices has no
// effect.
#ifndef PLIMSOLL_QOS_BLOCKIO_CONFIG_H_
#define PLIMSOLL_QOS_BLOCKIO_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::qos {

struct BlockioLimits {
  std::optional<uint64_t> read_bps;  // bytes per second; 0: unlimited
  std::optional<uint64_t> write_bps;
  std::optional<uint64_t> read_iops;  // at most 2^32 - 2: the kernel keeps 32 bits
  std::optional<uint64_t> write_iops;
  std::optional<uint64_t> weight;  // 10 to 1000; the kernel's default for a group is 100
  bool HasThrottle() const { return read_bps || write_bps || read_iops || write_iops; }
  bool operator==(const BlockioLimits&) const = default;
};

struct BlockioEntry {
  std::vector<std::string> devices;  // patterns, which may match nothing; empty: only a weight
  BlockioLimits limits;
  bool operator==(const BlockioEntry&) const = default;
};

struct BlockioClass {
  std::string name;
  std::vector<BlockioEntry> entries;
  bool operator==(const BlockioClass&) const = default;
};

struct BlockioConfig {
  std::vector<BlockioClass> classes;  // in the order of the file
  // Oddities of the file that didn't prevent reading it: a line each, with its place.
  std::vector<std::string> warnings;
  const BlockioClass* Find(absl::string_view name) const;
};

// `v2`: the limits are for cgroup v2, where a throttle of 1 is an error. INVALID_ARGUMENT
// "<file>:<line>:<column>: <field>: <what is wrong and what would be right>", a line for each
// error. A file without classes is valid: a reload of it takes all classes away.
absl::StatusOr<BlockioConfig> ParseBlockioConfig(absl::string_view text, absl::string_view file,
                                                 bool v2);
// Parses like ParseBlockioConfig what LoadClassFile reads.
absl::StatusOr<BlockioConfig> LoadBlockioConfig(const FsRoot& host, const std::string& path,
                                                bool v2);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_BLOCKIO_CONFIG_H_
