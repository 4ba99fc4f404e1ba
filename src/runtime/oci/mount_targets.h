// Permitted mount points of a container in /proc, /sys and /dev, and the check of the actual ones.
//
// The requested path may lead elsewhere: a symbolic link in the image or in a volume that several
// containers share can redirect a mount of etc/resolv.conf to /proc/self/attr/exec, past masked and
// read-only paths (CVE-2019-16884). A check of the path beforehand can be overtaken, so the actual
// mount points are checked before any program of the image has run.
#ifndef PLIMSOLL_RUNTIME_OCI_MOUNT_TARGETS_H_
#define PLIMSOLL_RUNTIME_OCI_MOUNT_TARGETS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::runtime {

struct MountTargets {
  absl::flat_hash_set<std::string> points;
  absl::flat_hash_set<std::string> masked;     // by an empty tmpfs or by a null device
  absl::flat_hash_set<std::string> read_only;  // bound onto themselves, read-only
  std::vector<std::string> trees;              // bound with all mounts below
};

// The targets of an OCI spec: mounts, masked and read-only paths, devices, and /proc/driver where
// it has hooks: those of GPUs mount there (NVIDIA's, over /proc/driver/nvidia/params).
// INVALID_ARGUMENT for a requested mount in /proc, except procfs itself and the files that lxcfs
// and the like replace.
absl::StatusOr<MountTargets> TargetsOf(const nlohmann::json& spec);

// `mounts` are those of a container that was created and hasn't been started. FAILED_PRECONDITION
// when one in /proc, /sys or /dev is none of `targets`, what is at /proc isn't procfs, what is at a
// read-only path there isn't what was there before, or what is at a masked path or a device of
// every container (/dev/null) is neither a mask nor that device.
absl::Status CheckArrived(const std::vector<linux::MountInfo>& mounts, const MountTargets& targets);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_MOUNT_TARGETS_H_
