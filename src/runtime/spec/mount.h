// Host files and devices in a container. See sandbox_spec.h.
#ifndef PLIMSOLL_RUNTIME_SPEC_MOUNT_H_
#define PLIMSOLL_RUNTIME_SPEC_MOUNT_H_

#include <map>
#include <string>
#include <vector>

#include "linux/namespaces/id_mapping.h"

namespace plimsoll::runtime {

enum class MountPropagation { kPrivate, kHostToContainer, kBidirectional };

using linux::IdMapping;

// A client's information about a mount's image beside its name; not used for mounting.
struct MountedImageSpec {
  std::map<std::string, std::string> annotations;
  std::string user_specified_image;
  std::string runtime_handler;
  std::string image_ref;
  bool operator==(const MountedImageSpec&) const = default;
};

struct Mount {
  std::string container_path;
  std::string host_path;  // empty: mount `image`
  bool readonly = false;
  bool recursive_read_only = false;
  bool selinux_relabel = false;
  MountPropagation propagation = MountPropagation::kPrivate;
  // For an id-mapped mount: files of a container_id on the disk belong to the host_id. Both or
  // none.
  std::vector<IdMapping> uid_mappings;
  std::vector<IdMapping> gid_mappings;
  std::string image;           // an image to mount, read-only
  std::string image_id;        // the image's id when it was mounted
  std::string image_sub_path;  // a relative path in the image to mount
  MountedImageSpec image_spec;
  std::vector<std::string> mount_options;  // "noexec" and the like
  bool operator==(const Mount&) const = default;
};

struct DeviceMapping {
  std::string container_path;
  std::string host_path;
  std::string permissions;  // letters of "rwm"
  bool operator==(const DeviceMapping&) const = default;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_MOUNT_H_
