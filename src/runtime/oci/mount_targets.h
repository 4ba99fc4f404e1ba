// Where mounts of a container may be in /proc, /sys and /dev, and whether they are.
//
// A path is asked for, and another may be reached: a symbolic link in the image or in a volume that
// several containers share leads a mount of etc/resolv.conf to /proc/self/attr/exec, past masked
// and read-only paths (CVE-2019-16884). A look at the path beforehand can be overtaken, so what
// counts is where the mounts have arrived before anything of the image has run.
#ifndef PLIMSOLL_RUNTIME_OCI_MOUNT_TARGETS_H_
#define PLIMSOLL_RUNTIME_OCI_MOUNT_TARGETS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "linux/mounts.h"

namespace plimsoll::runtime {

struct MountTargets {
  absl::flat_hash_set<std::string> points;
  absl::flat_hash_set<std::string> masked;     // by an empty tmpfs or by a null device
  absl::flat_hash_set<std::string> read_only;  // bound onto themselves
  std::vector<std::string> trees;              // bound with what is mounted below
};

// Of an OCI spec: mounts, masked and read-only paths, devices, and /proc/driver where it has hooks:
// those of GPUs mount there (NVIDIA's, over /proc/driver/nvidia/params). INVALID_ARGUMENT for a
// mount that is asked for in /proc: but for procfs itself, only files that lxcfs and its like
// replace may be.
absl::StatusOr<MountTargets> TargetsOf(const nlohmann::json& spec);

// `mounts` are those of a container that was created and hasn't been started. FAILED_PRECONDITION
// when one in /proc, /sys or /dev is none of `targets`, what is at /proc isn't procfs, what is at a
// read-only path there isn't what was there before, or what is at a masked path or a device of
// every container (/dev/null) is neither a mask nor that device.
absl::Status CheckArrived(const std::vector<linux::MountInfo>& mounts, const MountTargets& targets);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_MOUNT_TARGETS_H_
