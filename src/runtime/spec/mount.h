// Host files and devices in a container. See sandbox_spec.h.
#ifndef PLIMSOLL_RUNTIME_SPEC_MOUNT_H_
#define PLIMSOLL_RUNTIME_SPEC_MOUNT_H_

#include <string>

namespace plimsoll::runtime {

enum class MountPropagation { kPrivate, kHostToContainer, kBidirectional };

struct Mount {
  std::string container_path;
  std::string host_path;
  bool readonly = false;
  bool recursive_read_only = false;
  bool selinux_relabel = false;
  MountPropagation propagation = MountPropagation::kPrivate;
  bool operator==(const Mount&) const = default;
};

struct Device {
  std::string container_path;
  std::string host_path;
  std::string permissions;  // of "rwm"
  bool operator==(const Device&) const = default;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_MOUNT_H_
