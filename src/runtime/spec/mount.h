// Host files and devices in a container. See sandbox_spec.h.
#ifndef PLIMSOLL_RUNTIME_SPEC_MOUNT_H_
#define PLIMSOLL_RUNTIME_SPEC_MOUNT_H_

#include <map>
#include <string>
#include <vector>

#include "linux/id_mapping.h"

namespace plimsoll::runtime {

enum class MountPropagation { kPrivate, kHostToContainer, kBidirectional };

using linux::IdMapping;

// What a client says of a mount's image beside its name. Information: nothing is mounted by it.
struct MountedImageSpec {
  std::map<std::string, std::string> annotations;
  std::string user_specified_image;
  std::string runtime_handler;
  std::string image_ref;
  bool operator==(const MountedImageSpec&) const = default;
};

struct Mount {
  std::string container_path;
  std::string host_path;  // empty: `image` is mounted
  bool readonly = false;
  bool recursive_read_only = false;
  bool selinux_relabel = false;
  MountPropagation propagation = MountPropagation::kPrivate;
  // Of an id-mapped mount: what belongs to a container_id on the disk is the host_id's. Both or
  // none.
  std::vector<IdMapping> uid_mappings;
  std::vector<IdMapping> gid_mappings;
  std::string image;           // an image's content, read-only
  std::string image_id;        // of the image that `image` named when it was mounted
  std::string image_sub_path;  // relative: what of it
  MountedImageSpec image_spec;
  std::vector<std::string> mount_options;  // "noexec" and the like
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
